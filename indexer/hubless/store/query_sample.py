"""The query sample: live queries of collections, which are the files of days that `hubless.store.draws` explains.

    <sample>/<collection>/20261122.parquet   the queries of that day: `vector`, as it was compared

Every file is a file of vectors, so a folder of them is a query bank as it is. The draw of a query depends on its vector
alone. Older files have a column `text`, too, which is not read.
"""

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from hubless.errors import InputError, StorageError, storage_errors
from hubless.store.clients import FEWEST_CLIENTS, CountedQueries
from hubless.store.draws import (
    CLICKS,
    DAY_FILE,
    LOCK,
    SALT,
    AskedRows,
    Salt,
    add_asked,
    day_of,
    forget_days,
    holds_asked,
    lowest_draws,
    read_day,
    read_days,
    with_draws,
)
from hubless.vectors.arrays import F32, I64, as_float32, matrix_of

SIZE = 4000
"""Most different queries of a day, and of what is read of all days."""
OF_A_CLIENT = 1000
"""Most queries of one client and day, so that no client decides what the sample is."""
_ROUNDED_BITS = 13  # of the 23 of a float32, so that queries that differ by rounding mostly have the same draw
_VECTOR = "vector"


@dataclass(frozen=True)
class QuerySample:
    """Different live queries (m, d) of a folder, how often and by whom they were asked; `seen` counts all."""

    vectors: F32
    counts: I64
    clients: tuple[str, ...]
    collection: str
    metric: str
    seen: int
    begins: datetime
    ends: datetime
    files: tuple[Path, ...]
    skipped: dict[str, str] = field(default_factory=dict)


class SampleSummary(NamedTuple):
    """Rows of all files of a collection, how often queries were asked, and when the first day began."""

    queries: int
    seen: int
    begins: datetime


class SampledQuery(NamedTuple):
    """A query (d,) as it was compared, of which collection, and who asked: a name, a key's digest or an address."""

    collection: str
    metric: str
    vector: F32
    client: str | bytes


def holds_sample(path: str | Path) -> bool:
    """Return whether a path is a folder of the query sample, or a file of it; also the folder of all collections."""
    place = Path(path)
    if not place.is_dir():
        return holds_asked(place)
    with storage_errors(place):
        return any(file.name in (LOCK, SALT, *CLICKS) or DAY_FILE.fullmatch(file.name) for file in place.iterdir())


def most_of_a_client(size: int) -> int:
    """Return how many live queries of one client count for a bank of `size`: a tenth, so ten clients are needed."""
    return size // FEWEST_CLIENTS


def counted(folder: Path, size: int, trusted: Container[str] = ()) -> CountedQueries:
    """Count the live queries of a folder for a bank of `size`: a tenth at most of a client that is not trusted."""
    read = read_days(folder, ["draw", "client"])[::-1]
    whose = dict[int, str]()
    for day in read:  # the newest first: those unlike it are not read for a bank
        if _like(day, read[0]):
            whose.update(zip(day.rows["draw"].to_pylist(), day.rows["client"].to_pylist(), strict=True))
    most = most_of_a_client(size)
    found = CountedQueries.of(Counter(whose.values()), most, trusted, -(-size // most))
    return found._replace(queries=min(found.queries, SIZE))


def read_sample(
    path: str | Path | Sequence[Path], of_a_client: int = SIZE, trusted: Container[str] = ()
) -> QuerySample:
    """Read the live queries of a folder or of files, at most so many of a client.

    A trusted client asks for many people: each of its queries counts as that of another client. Files that are damaged
    or unlike the newest are `skipped`.
    """
    if isinstance(path, str | Path):
        folder = Path(path)
        with storage_errors(folder):
            found = [folder] if folder.is_file() else sorted(folder.iterdir())
    else:
        found = list(path)
    read: dict[Path, AskedRows] = {}
    skipped: dict[str, str] = {}
    for file in found:
        if file.is_file() and not file.name.startswith("."):
            try:
                read[file] = _day(file)
            except InputError as error:
                skipped[file.name] = error.received
    if not read:
        raise InputError("query sample", "a folder of live queries, one of those in HUBLESS_QUERY_SAMPLE", _got(found))
    newest = max(read.values(), key=lambda each: each.day)
    for file, each in list(read.items()):
        if not _like(each, newest):
            about = each.about
            skipped[file.name] = f"{about['dim']} dimensions and metric {about['metric']}, unlike the newest file"
            del read[file]
    days = [*read.values()]
    table = lowest_draws([_with_people(each.rows, trusted) for each in days], SIZE, of_a_client)
    vectors = matrix_of(table[_VECTOR].combine_chunks(), str(path), newest.about["dim"])
    return QuerySample(
        as_float32(vectors, str(path)),
        table["count"].to_numpy(),
        tuple(table["client"].to_pylist()),
        newest.about["collection"],
        newest.about["metric"],
        sum(each.seen for each in days),
        min(each.begins for each in days),
        newest.begins + timedelta(days=1),
        tuple(read),
        skipped,
    )


def summary_of(folder: Path) -> SampleSummary | None:
    """Sum up what is kept of a collection, from the metadata of its files; None if nothing."""
    found = read_days(folder, ["draw"])
    if not found:
        return None
    rows = sum(len(day.rows) for day in found)
    return SampleSummary(rows, sum(day.seen for day in found), min(day.begins for day in found))


class SampleWriter:
    """Adds live queries to the files of a sample. Processes that share a folder may each have one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._salt = Salt(folder)

    def add(self, queries: Iterable[SampledQuery], now: float) -> dict[str, StorageError | None]:
        """Draw for queries that were asked at `now`, in seconds since 1970. Return by collection why they are lost."""
        rows: dict[tuple[str, str, int], list[SampledQuery]] = {}
        for each in queries:
            rows.setdefault((each.collection, each.metric, len(each.vector)), []).append(each)
        outcomes: dict[str, StorageError | None] = {}
        for (collection, metric, dim), some in rows.items():
            about = {"collection": collection, "metric": metric, "dim": dim}
            outcomes.setdefault(collection, None)
            try:
                fresh = AskedRows(about, day_of(now), len(some), self._table(some))
                add_asked(self._folder / collection, fresh, SIZE, OF_A_CLIENT)
            except StorageError as error:
                outcomes[collection] = error
        return outcomes

    def forget_old(self, now: float, days: float) -> None:
        """Delete the files of older days, of clicks, too."""
        for pattern in ("*.parquet", *(f"{each}/*.parquet" for each in CLICKS)):
            forget_days(self._folder, f"*/{pattern}", now, days)

    def _table(self, queries: Sequence[SampledQuery]) -> pa.Table:
        vectors = np.stack([each.vector for each in queries])
        rows = pa.table([vector_column(vectors)], [_VECTOR])
        return with_draws(rows, rounded(vectors), [each.client for each in queries], self._salt)


def vector_column(vectors: F32) -> pa.Array:
    """Return vectors (m, d) as they are stored."""
    return pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])


def rounded(vectors: F32) -> list[bytes]:
    """Return what makes the draws of queries (m, d), alike for those that differ by rounding, mostly."""
    return [row.tobytes() for row in (vectors.view(np.uint32) + np.uint32(2 ** (_ROUNDED_BITS - 1))) >> _ROUNDED_BITS]


def _day(path: Path) -> AskedRows:
    """Read the live queries of a file. Raises as `read_day`."""
    found = read_day(path)
    if found.rows.column_names[0] != _VECTOR:
        raise InputError(str(path), "a file of live queries", "a file of lists or clicks")
    return found


def _like(one: AskedRows, other: AskedRows) -> bool:
    return all(one.about.get(name) == other.about.get(name) for name in ("dim", "metric"))


def _with_people(queries: pa.Table, trusted: Container[str]) -> pa.Table:
    """Return queries with a client of its own for each that a trusted client asked."""
    pairs = zip(queries["client"].to_pylist(), queries["draw"].to_pylist(), strict=True)
    clients = [f"{client} {draw}" if client in trusted else client for client, draw in pairs]
    return queries.set_column(queries.column_names.index("client"), "client", pa.array(clients, pa.string()))


def _got(found: Sequence[Path]) -> str:
    others = [path for path in found if path.name not in CLICKS and not path.name.startswith(".")]
    folders = [path.name for path in others if path.is_dir()]
    if folders:
        return f"a folder of folders: {', '.join(folders[:5])}"
    return "other files" if others else "one without queries"
