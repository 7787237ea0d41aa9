"""The query sample on disk: live queries of a collection, a file for each period of time.

    <sample>/.salt                                 makes draws and clients' labels that nobody else can make
    <sample>/<collection>/.lock                    held while a file changes
    <sample>/<collection>/20261122T000000Z.parquet the queries that were asked in the period that begins then

Columns of a file: `vector`, as it was compared; `draw`; `count`, how often it was asked; `asked`, when first, rounded
down to the hour; `client`; `text`, null unless texts are kept. The schema's metadata has `hubless.query_sample`: JSON
with the fields of `_Header`. Every file is a file of vectors, so a folder of them is a query bank as it is.

Each different query has a draw, a number that looks random and depends on its vector alone. A file keeps the lowest
draws of its period. So it is a uniform sample of the different queries, whichever process saw them and however often
they were asked, and the lowest draws of several files are such a sample of all of them.

Source: Gibbons, "Distinct sampling for highly-accurate answers", VLDB 2001; Cohen and Kaplan, "Summarizing data using
bottom-k sketches", PODC 2007.
"""

import json
import logging
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from hashlib import blake2b
from math import ceil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hubless.errors import InputError, StorageError, one_line, storage_errors
from hubless.store.durable import locked, replaced
from hubless.vectors.arrays import F32, I64, as_float32
from hubless.vectors.lists import is_list, matrix_of

PERIODS = 6
"""So many periods make up the time that queries are kept."""
DRAWS = 2**64
LONGEST_TEXT = 1000
"""Characters; the text of a query that has more is not kept."""
SPARE = 64 * 2**20
"""Bytes that stay free on the disk of a sample."""

_FORMAT = 1
_EXPECTED = "a file of live queries"
_HEADER = b"hubless.query_sample"
_SALT, _LOCK = ".salt", ".lock"
_NAMED = re.compile(r"\d{8}T\d{6}Z\.parquet")
_TIME = "%Y%m%dT%H%M%SZ"
_BITS = 13  # of the 23 of a float32 that a draw does not see
_HALF = np.uint32(2 ** (_BITS - 1))
_HOUR, _DAY = 3600, 86400
_COLUMNS = ("vector", "draw", "count", "asked", "client", "text")

U64 = NDArray[np.uint64]

log = logging.getLogger("hubless.sample")


@dataclass(frozen=True)
class Limits:
    """What a sample may hold.

    Parameters
    ----------
    size : most different queries of a period, and of what is read of all
    share : of all different queries that are looked at, from 0 to 1
    client_share : most of `size` that one client may fill
    days : how long queries are kept
    """

    size: int = 4000
    share: float = 1.0
    client_share: float = 0.25
    days: float = 30.0

    @property
    def seconds(self) -> int:
        """Length of a period."""
        return max(1, round(self.days * _DAY / PERIODS))

    @property
    def of_a_client(self) -> int:
        """Most queries of one client."""
        return max(1, ceil(self.size * self.client_share))


@dataclass(frozen=True)
class LiveQueries:
    """Different live queries, those with the lowest draws first.

    Attributes
    ----------
    vectors : (m, d) as they were compared: of length 1 under metric "cosine"
    draws : (m,)
    counts : (m,) how often each was asked
    asked : (m,) when each was first asked, in seconds since 1970, rounded down to the hour
    clients : (m,) who first asked it: the name of a key, or a label that tells no key and no address
    texts : (m,) None where it was no text, or texts are not kept
    """

    vectors: F32
    draws: U64
    counts: I64
    asked: I64
    clients: tuple[str, ...]
    texts: tuple[str | None, ...]

    def __len__(self) -> int:
        return len(self.draws)

    def take(self, rows: I64) -> "LiveQueries":
        """Some of them, in the order of the rows."""
        picked = rows.tolist()
        return LiveQueries(
            self.vectors[rows],
            self.draws[rows],
            self.counts[rows],
            self.asked[rows],
            tuple(self.clients[row] for row in picked),
            tuple(self.texts[row] for row in picked),
        )


@dataclass(frozen=True)
class _Header:
    """What the metadata of a file says."""

    collection: str
    dim: int
    metric: str
    begins: str
    seconds: int
    size: int
    client_share: float
    seen: int
    format: int = _FORMAT


@dataclass(frozen=True)
class QuerySample:
    """What is read of a folder of live queries.

    Attributes
    ----------
    queries : at most as many as one period may have
    collection, metric : what was asked
    seen : how often queries were asked while they were sampled, repeated ones too
    begins, ends : when the first period began and the last one ends
    files : that were read
    skipped : names of files that were not, and why
    """

    queries: LiveQueries
    collection: str
    metric: str
    seen: int
    begins: datetime
    ends: datetime
    files: tuple[Path, ...]
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def vectors(self) -> F32:
        """Those of the queries, (m, d)."""
        return self.queries.vectors


def holds_sample(path: str | Path) -> bool:
    """Whether a path is a folder of the query sample, or a file of it; also the folder of all collections."""
    place = Path(path)
    if not place.is_dir():
        return is_sample(place)
    with storage_errors(place):
        return any(file.name in (_LOCK, _SALT) or _NAMED.fullmatch(file.name) for file in place.iterdir())


def read_sample(path: str | Path) -> QuerySample:
    """Read the live queries of a collection, as the service keeps them.

    A query that several files have is there once, with its counts added up. If there are more than one period may
    have, those with the lowest draws are taken, and of one client no more than its share. Files that are no such
    files, are damaged or of another dimension than the newest one are left out and named in `skipped`.

    Parameters
    ----------
    path : folder of the collection within the sample, or one file of it

    Raises
    ------
    InputError
        if there is no file of live queries.
    StorageError
        if the folder or a file cannot be read.
    """
    folder = Path(path)
    with storage_errors(folder):
        found = [folder] if folder.is_file() else sorted(folder.iterdir())
    read, skipped = _read_all([file for file in found if file.name not in (_LOCK, _SALT)])
    if not read:
        raise InputError("query sample", "a folder of live queries, one of those in HUBLESS_QUERY_SAMPLE", _got(found))
    headers = {file: header for file, (header, _) in read.items()}
    newest = headers[max(headers, key=lambda file: headers[file].begins)]
    starts = [_start(header) for header in headers.values()]
    limits = Limits(newest.size, client_share=newest.client_share)
    return QuerySample(
        _lowest(_united([queries for _, queries in read.values()]), limits),
        newest.collection,
        newest.metric,
        sum(header.seen for header in headers.values()),
        min(starts),
        max(_end(header) for header in headers.values()),
        tuple(headers),
        skipped,
    )


class Summary(NamedTuple):
    """What the files of a collection hold together, from their metadata alone.

    Attributes
    ----------
    queries : rows of all files; a query that was asked in two periods counts twice
    seen : how often queries were asked
    begins : when the first period began
    """

    queries: int
    seen: int
    begins: datetime


def summary_of(home: Path) -> Summary | None:
    """What the folder of a collection holds; None if nothing. Damaged files do not count."""
    found: list[tuple[int, _Header]] = []
    for path in home.glob("*.parquet"):
        with suppress(InputError, StorageError):
            found.append(_metadata(path))
    if not found:
        return None
    headers = [header for _, header in found]
    return Summary(sum(rows for rows, _ in found), sum(each.seen for each in headers), min(map(_start, headers)))


def is_sample(file: Path) -> bool:
    """Whether a Parquet file says that it holds live queries of a service."""
    try:
        return _HEADER in (pq.read_schema(file).metadata or {})
    except (pa.ArrowException, OSError):
        return False


class SampleWriter:
    """Adds live queries to the files of a sample. Processes that share a folder may each have one.

    Raises
    ------
    StorageError
        from every method, if the disk refuses. The files stay as they are then.
    """

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._folder = folder
        self._limits = limits
        self._salt = b""

    def open(self) -> None:
        """Make the folder if it is not there, and read its salt."""
        with storage_errors(self._folder):
            _private(self._folder)
            with locked(self._folder / _LOCK):
                path = self._folder / _SALT
                if not path.exists():
                    with replaced(path) as new:
                        new.touch(mode=0o600)
                        new.write_bytes(os.urandom(32))
                self._salt = path.read_bytes()

    def draw_of(self, vector: F32) -> int:
        """The draw of a query (d,) or (1, d). Two that differ by rounding mostly have the same."""
        rounded = (vector.view(np.uint32) + _HALF) >> _BITS
        return int.from_bytes(blake2b(rounded.tobytes(), digest_size=8, key=self._salt).digest(), "little")

    def label_of(self, client: bytes) -> str:
        """The label of an address or a key."""
        return blake2b(client, digest_size=6, key=self._salt, person=b"client").hexdigest()

    def add(
        self,
        collection: str,
        metric: str,
        fresh: LiveQueries,
        seen: int,
        now: float,
        again: Mapping[int, int] | None = None,
    ) -> LiveQueries:
        """Add queries to the file of the period; all that it has then.

        A file of another dimension or metric, or one that is damaged, is begun anew.

        Parameters
        ----------
        fresh : queries that were asked since, each once
        seen : how often queries were asked since
        now : in seconds since 1970
        again : how often queries of the file were asked since, by draw
        """
        limits = self._limits
        home, start = self._folder / collection, now - now % limits.seconds
        path = home / f"{datetime.fromtimestamp(start, UTC).strftime(_TIME)}.parquet"
        header = _Header(
            *(collection, fresh.vectors.shape[1], metric, path.stem, limits.seconds, limits.size),
            *(limits.client_share, seen),
        )
        with storage_errors(path):
            _private(self._folder)
            _private(home)
            with locked(home / _LOCK):
                kept = fresh
                if before := _before(path, header):
                    kept = _united([before[1], fresh])
                    header = replace(header, seen=before[0].seen + seen)
                kept = _lowest(_counted(kept, again or {}), limits)
                _write(path, header, kept)
        return kept

    def summary(self, collection: str) -> Summary | None:
        """What is kept of a collection; None if nothing."""
        return summary_of(self._folder / collection)

    def forget_old(self, now: float) -> None:
        """Remove the files of periods that ended longer ago than queries are kept."""
        with storage_errors(self._folder):
            for home in self._folder.iterdir() if self._folder.is_dir() else ():
                for path in home.iterdir() if home.is_dir() else ():
                    if _NAMED.fullmatch(path.name):
                        ended = datetime.strptime(path.stem, _TIME).replace(tzinfo=UTC).timestamp()
                        if ended + self._limits.seconds <= now - self._limits.days * _DAY:
                            path.unlink(missing_ok=True)


def forget(path: str | Path, client: str | None = None) -> int:
    """Delete live queries of a collection, and how many that were.

    It is safe while a service runs.

    Parameters
    ----------
    path : folder of the collection within the sample
    client : whose queries to delete; None deletes all

    Raises
    ------
    StorageError, InputError
        if there is no such folder, or a file cannot be read or written.
    """
    home = Path(path)
    gone = 0
    with storage_errors(home), locked(home / _LOCK):
        for file in sorted(home.iterdir()):
            if not _NAMED.fullmatch(file.name):
                continue
            if client is None:
                gone += _rows(file)
                file.unlink()
                continue
            header, queries = _read(file)
            others = np.array([row for row, name in enumerate(queries.clients) if name != client], np.int64)
            if len(others) < len(queries):
                gone += len(queries) - len(others)
                _write(file, header, queries.take(others))
    return gone


def no_queries(dim: int) -> LiveQueries:
    """No queries of d dimensions."""
    empty = np.empty(0, np.int64)
    return LiveQueries(np.empty((0, dim), np.float32), np.empty(0, np.uint64), empty, empty, (), ())


def _united(parts: Sequence[LiveQueries]) -> LiveQueries:
    """All of them by their draws, each once, counted as often as it was asked."""
    draws = np.concatenate([part.draws for part in parts])
    counts = np.concatenate([part.counts for part in parts])
    _, first, place = np.unique(draws, return_index=True, return_inverse=True)
    together = LiveQueries(
        np.concatenate([part.vectors for part in parts]),
        draws,
        counts,
        np.concatenate([part.asked for part in parts]),
        tuple(client for part in parts for client in part.clients),
        tuple(text for part in parts for text in part.texts),
    ).take(first)
    added = np.bincount(place, counts, len(first)).astype(np.int64)
    return replace(together, counts=added)


def _counted(queries: LiveQueries, again: Mapping[int, int]) -> LiveQueries:
    """The queries, each counted as often as it was asked again."""
    more = [again.get(draw, 0) for draw in queries.draws.tolist()]
    return replace(queries, counts=queries.counts + np.array(more, np.int64))


def _lowest(queries: LiveQueries, limits: Limits) -> LiveQueries:
    """Those with the lowest draws, at most so many of one client, and of all."""
    most, of_client = limits.of_a_client, dict[str, int]()
    kept = []
    for row in np.argsort(queries.draws, kind="stable").tolist():
        client = queries.clients[row]
        if of_client.setdefault(client, 0) < most:
            of_client[client] += 1
            kept.append(row)
    return queries.take(np.array(kept[: limits.size], np.int64))


def _read_all(
    files: Sequence[Path],
) -> tuple[dict[Path, tuple[_Header, LiveQueries]], dict[str, str]]:
    """What can be read, all of one dimension and metric, and why the rest cannot."""
    read: dict[Path, tuple[_Header, LiveQueries]] = {}
    skipped: dict[str, str] = {}
    for file in files:
        if file.is_dir() or file.name.startswith("."):
            continue
        try:
            read[file] = _read(file)
        except InputError as error:
            skipped[file.name] = error.received
    if read:
        newest = max((header for header, _ in read.values()), key=lambda header: header.begins)
        for file, (header, _) in list(read.items()):
            if (header.dim, header.metric) != (newest.dim, newest.metric):
                skipped[file.name] = f"{header.dim} dimensions and metric {header.metric}, unlike the newest file"
                del read[file]
    return read, skipped


def _before(path: Path, header: _Header) -> tuple[_Header, LiveQueries] | None:
    """What a file has, if it can be added to."""
    if not path.exists():
        return None
    try:
        before, queries = _read(path)
    except InputError as error:
        log.warning("the query sample %s is begun anew: it is %s", path, error.received)
        return None
    if (before.dim, before.metric) != (header.dim, header.metric):
        log.warning("the query sample %s is begun anew: its queries have %d dimensions", path, before.dim)
        return None
    return before, queries


def _read(path: Path) -> tuple[_Header, LiveQueries]:
    """A file of live queries.

    Raises
    ------
    InputError
        if it is none.
    StorageError
        if the disk refuses.
    """
    with _reading(path):
        file = pq.ParquetFile(path)
        header = _header(path, file)
        return header, _queries(file.read(), header.dim, str(path))


def _metadata(path: Path) -> tuple[int, _Header]:
    """How many rows a file has, and its header. Raises as `_read`."""
    with _reading(path):
        file = pq.ParquetFile(path)
        return file.metadata.num_rows, _header(path, file)


def _header(path: Path, file: pq.ParquetFile) -> _Header:
    metadata = file.schema_arrow.metadata or {}
    if _HEADER not in metadata or file.schema_arrow.names != list(_COLUMNS):
        raise InputError(str(path), _EXPECTED, "a file of something else")
    told = json.loads(metadata[_HEADER])
    if told.get("format") != _FORMAT:
        raise InputError(str(path), _EXPECTED, f"one of format {told.get('format')}, which is not known here")
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
        raise InputError(str(path), _EXPECTED, f"damaged: {one_line(error)}") from error


def _queries(table: pa.Table, dim: int, name: str) -> LiveQueries:
    vector = table["vector"]
    if not is_list(vector.type):
        raise InputError(name, "a column of vectors", str(vector.type))
    vectors = vector.combine_chunks()
    draws, counts, asked = (table[column].to_numpy() for column in ("draw", "count", "asked"))
    return LiveQueries(
        as_float32(matrix_of(vectors, name, dim), name),
        draws.astype(np.uint64),
        counts.astype(np.int64),
        asked.astype("datetime64[s]").astype(np.int64),
        tuple(table["client"].to_pylist()),
        tuple(table["text"].to_pylist()),
    )


def _write(path: Path, header: _Header, queries: LiveQueries) -> None:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(queries.vectors.ravel()), header.dim)
    asked = pa.array((queries.asked - queries.asked % _HOUR).astype("datetime64[s]"))
    columns = [
        vectors,
        pa.array(queries.draws),
        pa.array(queries.counts),
        asked,
        pa.array(queries.clients, pa.string()),
        pa.array(queries.texts, pa.string()),
    ]
    table = pa.table(columns, list(_COLUMNS)).replace_schema_metadata({_HEADER: json.dumps(asdict(header))})
    if shutil.disk_usage(path.parent).free < table.nbytes + SPARE:
        raise StorageError(path, f"less than {SPARE // 2**20} MiB would stay free on the disk")
    with replaced(path) as new:
        new.touch(mode=0o600)
        pq.write_table(table, new, compression="none", use_dictionary=["client"])


def _rows(path: Path) -> int:
    try:
        return _metadata(path)[0]
    except InputError:  # it is deleted all the same
        return 0


def _private(folder: Path) -> None:
    """Make a folder that only its owner may read."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _start(header: _Header) -> datetime:
    return datetime.strptime(header.begins, _TIME).replace(tzinfo=UTC)


def _end(header: _Header) -> datetime:
    return datetime.fromtimestamp(_start(header).timestamp() + header.seconds, UTC)


def _got(found: Sequence[Path]) -> str:
    folders = [path.name for path in found if path.is_dir()]
    if folders:
        return f"a folder of folders: {', '.join(folders[:5])}"
    return "an empty folder" if not [path for path in found if not path.name.startswith(".")] else "other files"


def collections_of(folder: Path) -> Iterator[str]:
    """The collections of which a sample has files."""
    with storage_errors(folder):
        for home in sorted(folder.iterdir()):
            if home.is_dir() and any(_NAMED.fullmatch(path.name) for path in home.iterdir()):
                yield home.name
