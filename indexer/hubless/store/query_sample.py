"""The query sample on disk: live queries of a collection, a file for each day.

    <sample>/.salt                           makes draws and labels of clients that nobody else can make
    <sample>/<collection>/.lock              held while a file changes
    <sample>/<collection>/20261122.parquet   the queries of that day, in UTC

Columns of a file: `vector`, as it was compared; `draw`; `count`, how often it was asked; `client`. Older files have a
column `text`, too, which is not read. The schema's metadata has `hubless.query_sample`: JSON with the fields of
`_Header`. Every file is a file of vectors, so a folder of them is a query bank as it is.

A file is a reservoir. Each different query has a draw, a number that looks random and depends on its vector alone, and
a file keeps the lowest draws of its day. So it is a uniform sample of the different queries, whichever process saw them
and however often they were asked. The lowest draws of several files are such a sample of all of them.
"""

import json
import logging
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hubless.errors import InputError, StorageError, one_line, storage_errors
from hubless.store.draws import DAY, DAY_FILE, SALT, Salt, check_free, forget_days, lowest_draws
from hubless.store.durable import locked, replaced
from hubless.vectors.arrays import F32, I64, as_float32, matrix_of

SIZE = 4000
"""Most different queries of a day, and of what is read of all days."""
FEWEST_CLIENTS = 10
"""So many clients are needed for a bank of live queries that corrects a collection by itself."""
OF_A_CLIENT = 1000
"""Most queries of one client and day, so that no client decides what the sample is."""

_FORMAT = 2
_HEADER = b"hubless.query_sample"
_LOCK = ".lock"
_ROUNDED_BITS = 13  # of the 23 of a float32, so that queries that differ by rounding mostly have the same draw
_COLUMNS = ["vector", "draw", "count", "client"]

_Row = tuple[F32, int, int, str]

_log = logging.getLogger("hubless.sample")


@dataclass(frozen=True)
class _Header:
    collection: str
    metric: str
    dim: int
    day: str
    seen: int
    format: int = _FORMAT

    @property
    def begins(self) -> datetime:
        return datetime.strptime(self.day, DAY).replace(tzinfo=UTC)


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


def is_sample(file: Path) -> bool:
    """Return whether a Parquet file says that it holds live queries."""
    try:
        return _HEADER in (pq.read_schema(file).metadata or {})
    except (pa.ArrowException, OSError):
        return False


def holds_sample(path: str | Path) -> bool:
    """Return whether a path is a folder of the query sample, or a file of it; also the folder of all collections."""
    place = Path(path)
    if not place.is_dir():
        return is_sample(place)
    with storage_errors(place):
        return any(file.name in (_LOCK, SALT) or DAY_FILE.fullmatch(file.name) for file in place.iterdir())


class CountedQueries(NamedTuple):
    """Live queries that count for a bank, and how many clients asked them, of those that are needed at least."""

    queries: int
    clients: int
    clients_needed: int


def most_of_a_client(size: int) -> int:
    """Return how many live queries of one client count for a bank of `size`: a tenth, so ten clients are needed."""
    return size // FEWEST_CLIENTS


def counted(folder: Path, size: int, trusted: Container[str] = ()) -> CountedQueries:
    """Count the live queries of a folder for a bank of `size`: a tenth at most of a client that is not trusted."""
    most = most_of_a_client(size)
    read = list[tuple[_Header, pa.Table]]()
    for path in sorted(folder.glob("*.parquet"), reverse=True):
        with suppress(InputError, StorageError):  # without those that are damaged
            read.append(_read(path, ["draw", "client"]))
    whose = dict[int, str]()
    for header, table in read:  # the newest first: those unlike it are not read for a bank
        if (header.dim, header.metric) == (read[0][0].dim, read[0][0].metric):
            whose.update(zip(table["draw"].to_pylist(), table["client"].to_pylist(), strict=True))
    of_client = Counter(whose.values())
    count = sum(asked if name in trusted else min(asked, most) for name, asked in of_client.items())
    needed = 1 if any(name in trusted for name in of_client) else -(-size // most)
    return CountedQueries(min(count, SIZE), len(of_client), needed)


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
    read: dict[Path, tuple[_Header, pa.Table]] = {}
    skipped: dict[str, str] = {}
    for file in found:
        if file.is_file() and not file.name.startswith("."):
            try:
                read[file] = _read(file)
            except InputError as error:
                skipped[file.name] = error.received
    if not read:
        raise InputError("query sample", "a folder of live queries, one of those in HUBLESS_QUERY_SAMPLE", _got(found))
    newest = max((header for header, _ in read.values()), key=lambda header: header.day)
    for file, (header, _) in list(read.items()):
        if (header.dim, header.metric) != (newest.dim, newest.metric):
            skipped[file.name] = f"{header.dim} dimensions and metric {header.metric}, unlike the newest file"
            del read[file]
    headers = [header for header, _ in read.values()]
    table = _lowest([_with_people(queries, trusted) for _, queries in read.values()], of_a_client)
    vectors = matrix_of(table["vector"].combine_chunks(), str(path), newest.dim)
    return QuerySample(
        as_float32(vectors, str(path)),
        table["count"].to_numpy(),
        tuple(table["client"].to_pylist()),
        newest.collection,
        newest.metric,
        sum(header.seen for header in headers),
        min(header.begins for header in headers),
        newest.begins + timedelta(days=1),
        tuple(read),
        skipped,
    )


def summary_of(folder: Path) -> SampleSummary | None:
    """Sum up what is kept of a collection, from the metadata of its files; None if nothing."""
    queries = 0
    headers = list[_Header]()
    for path in folder.glob("*.parquet"):
        with suppress(InputError, StorageError), _reading(path):  # without those that are damaged
            file = pq.ParquetFile(path)
            headers.append(_header(path, file.schema_arrow))
            queries += file.metadata.num_rows
    if not headers:
        return None
    return SampleSummary(queries, sum(each.seen for each in headers), min(each.begins for each in headers))


def forget(path: str | Path, client: str | None = None) -> int:
    """Delete live queries of a collection, and return how many. It is safe while a service runs."""
    home = Path(path)
    gone = 0
    with storage_errors(home), locked(home / _LOCK):
        for file in sorted(home.iterdir()):
            if not DAY_FILE.fullmatch(file.name):
                continue
            if client is None:
                with suppress(InputError):  # a damaged file is deleted all the same
                    gone += len(_read(file)[1])
                file.unlink()
                continue
            header, table = _read(file)
            others = [row for row, name in enumerate(table["client"].to_pylist()) if name != client]
            if len(others) < len(table):
                gone += len(table) - len(others)
                _write(file, header, table.take(pa.array(others, pa.int64())))
    return gone


@dataclass
class _Draws:
    """Queries of one collection and day that are not in the file yet, the lowest draws of them."""

    lowest: pa.Table
    rows: list[_Row] = field(default_factory=list)
    seen: int = 0

    def thinned(self) -> pa.Table:
        dim = self.lowest.schema.field("vector").type.list_size
        self.lowest, self.rows = _lowest([self.lowest, _table(dim, self.rows)], OF_A_CLIENT), []
        return self.lowest


class SampleWriter:
    """Adds live queries to the files of a sample. Processes that share a folder may each have one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._drawn: dict[tuple[str, str, int, str], _Draws] = {}  # by collection, metric, dimensions and day
        self._salt = Salt(folder, _LOCK)

    def record(self, collection: str, metric: str, vector: F32, client: str | bytes, now: float) -> None:
        """Draw for a query (d,) that was asked at `now`, in seconds since 1970. `flush` writes it."""
        rounded = (vector.view(np.uint32) + np.uint32(2 ** (_ROUNDED_BITS - 1))) >> _ROUNDED_BITS
        draw = self._salt.draw(rounded.tobytes())
        day = datetime.fromtimestamp(now, UTC).strftime(DAY)
        key = (collection, metric, len(vector), day)
        if key not in self._drawn:
            self._drawn[key] = _Draws(_table(len(vector), []))
        drawn = self._drawn[key]
        drawn.seen += 1
        drawn.rows.append((vector, draw, 1, self._salt.label(client)))
        if len(drawn.rows) > SIZE:
            drawn.thinned()

    def flush(self) -> dict[str, StorageError | None]:
        """Add the recorded queries to their files. Return by collection why they are lost; None if not."""
        outcomes: dict[str, StorageError | None] = {}
        drawn, self._drawn = self._drawn, {}
        for (collection, metric, dim, day), fresh in drawn.items():
            home = self._folder / collection
            path = home / f"{day}.parquet"
            outcomes.setdefault(collection, None)
            try:
                with storage_errors(path):
                    home.mkdir(mode=0o700, parents=True, exist_ok=True)
                    with locked(home / _LOCK):
                        tables = [fresh.thinned()]
                        seen = fresh.seen
                        if before := _before(path, metric, dim):
                            tables, seen = [before[1], *tables], seen + before[0].seen
                        _write(path, _Header(collection, metric, dim, day, seen), _lowest(tables, OF_A_CLIENT))
            except StorageError as error:
                outcomes[collection] = error
        return outcomes

    def forget_old(self, now: float, days: float) -> None:
        forget_days(self._folder, "*/*.parquet", now, days)


def _lowest(tables: Sequence[pa.Table], of_a_client: int = SIZE) -> pa.Table:
    return lowest_draws(tables, SIZE, of_a_client)


def _with_people(queries: pa.Table, trusted: Container[str]) -> pa.Table:
    """Return queries with a client of its own for each that a trusted client asked."""
    pairs = zip(queries["client"].to_pylist(), queries["draw"].to_pylist(), strict=True)
    clients = [f"{client} {draw}" if client in trusted else client for client, draw in pairs]
    return queries.set_column(_COLUMNS.index("client"), "client", pa.array(clients, pa.string()))


def _table(dim: int, rows: Sequence[_Row]) -> pa.Table:
    vectors, draws, counts, clients = zip(*rows, strict=True) if rows else ((),) * 4
    flat = np.concatenate(vectors) if rows else np.empty(0, np.float32)
    columns = [
        pa.FixedSizeListArray.from_arrays(pa.array(flat), dim),
        pa.array(draws, pa.uint64()),
        pa.array(counts, pa.int64()),
        pa.array(clients, pa.string()),
    ]
    return pa.table(columns, _COLUMNS)


def _before(path: Path, metric: str, dim: int) -> tuple[_Header, pa.Table] | None:
    if not path.exists():
        return None
    try:
        header, table = _read(path)
    except InputError as error:
        _log.warning("the query sample %s is begun anew: it is %s", path, error.received)
        return None
    if (header.dim, header.metric) != (dim, metric):
        _log.warning("the query sample %s is begun anew: its queries have %d dimensions", path, header.dim)
        return None
    return header, table


def _read(path: Path, columns: Sequence[str] = _COLUMNS) -> tuple[_Header, pa.Table]:
    with _reading(path):
        file = pq.ParquetFile(path)
        return _header(path, file.schema_arrow), file.read(columns).replace_schema_metadata(None)


def _header(path: Path, schema: pa.Schema) -> _Header:
    metadata = schema.metadata or {}
    if _HEADER not in metadata or schema.names not in (_COLUMNS, [*_COLUMNS, "text"]):
        raise InputError(str(path), "a file of live queries", "a file of something else")
    told = json.loads(metadata[_HEADER])
    if told.get("format") != _FORMAT:
        expected = f"a file of live queries of format {_FORMAT}"
        raise InputError(str(path), expected, f"one of format {told.get('format')}, which is not known here")
    return _Header(**told)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # without a number, Arrow's own
            with storage_errors(path):
                raise
        raise InputError(str(path), "a file of live queries", f"damaged: {one_line(error)}") from error


def _write(path: Path, header: _Header, table: pa.Table) -> None:
    check_free(path, table.nbytes)
    with replaced(path) as new:
        new.touch(mode=0o600)
        pq.write_table(
            table.replace_schema_metadata({_HEADER: json.dumps(asdict(header))}),
            new,
            compression="none",
            use_dictionary=["client"],
        )


def _got(found: Sequence[Path]) -> str:
    folders = [path.name for path in found if path.is_dir()]
    if folders:
        return f"a folder of folders: {', '.join(folders[:5])}"
    return "an empty folder" if not [path for path in found if not path.name.startswith(".")] else "other files"
