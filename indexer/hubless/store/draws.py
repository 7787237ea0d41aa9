"""Files of what people asked, one a day: uniform samples that many processes add to.

    <folder>/.salt              makes draws and labels of clients that nobody else can make
    <home>/.lock                held while a file changes
    <home>/20261122.parquet     what was asked on that day, in UTC
    <home>/clicks/              the same of what people chose: see `hubless.store.kept_clicks`

The last columns of a file are `draw`; `count`, how often it was asked; `client`. Those before are the row itself: a
vector, the ids and scores of a list, or a click. The schema's metadata has `hubless.query_sample`: JSON that says what
the rows are about, their day, how often was asked on it, and the format.

A file is a reservoir. Each different row has a draw, a number that looks random and depends on what was asked alone,
and a file keeps the lowest draws of its day. So it is a uniform sample of the different rows, whichever process saw
them, and however often they were asked. The lowest draws of several files are such a sample of all of them.

Source: Cohen and Kaplan, "Summarizing data using bottom-k sketches", PODC 2007.
"""

import json
import logging
import os
import re
import shutil
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hubless.errors import InputError, StorageError, one_line, storage_errors
from hubless.store.clients import first_of_each
from hubless.store.durable import locked, replaced

DAY = "%Y%m%d"
DAY_FILE = re.compile(r"\d{8}\.parquet")
SPARE = 64 * 2**20
"""Bytes that stay free on the disk of a sample."""
SALT, LOCK = ".salt", ".lock"
CLICKS, KEY_COLUMN = ("clicks.new", "clicks"), "key"
"""Folders of clicks beside the queries, which pass from the first to the second; and their column of who told them."""
DRAW_COLUMNS = ["draw", "count", "client"]
"""The last columns of a file."""
_SALT_BYTES = 32
_ALL = 2**31
_FORMAT = 2
_HEADER = b"hubless.query_sample"

_log = logging.getLogger("hubless.sample")


class Salt:
    """Makes draws and labels of clients that nobody else can make. A folder has one file of it, for all processes."""

    def __init__(self, folder: Path) -> None:
        with storage_errors(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with locked(folder / LOCK):
                path = folder / SALT
                if not path.exists():
                    with replaced(path) as new:
                        new.touch(mode=0o600)
                        new.write_bytes(os.urandom(_SALT_BYTES))
                self._key = path.read_bytes()

    def draw(self, asked: bytes) -> int:
        """Return the draw of what was asked, 64 bits."""
        return int.from_bytes(blake2b(asked, digest_size=8, key=self._key).digest(), "little")

    def label(self, client: str | bytes) -> str:
        """Return the name of a client, or a label of 12 characters for a key's digest or an address."""
        if isinstance(client, str):
            return client
        return blake2b(client, digest_size=6, key=self._key, person=b"client").hexdigest()


@dataclass(frozen=True)
class AskedRows:
    """Rows of a day with the columns of `DRAW_COLUMNS`: how often was asked (`seen`), and what the rows are `about`."""

    about: Mapping[str, Any]
    day: str
    seen: int
    rows: pa.Table

    @property
    def begins(self) -> datetime:
        return datetime.strptime(self.day, DAY).replace(tzinfo=UTC)

    def is_like(self, other: "AskedRows") -> bool:
        """Return whether both are about the same, in columns of the same types."""
        return self.about == other.about and bool(self.rows.schema.equals(other.rows.schema))


def add_asked(home: Path, fresh: AskedRows, size: int, of_a_client: int, trusted: Container[str | None] = ()) -> None:
    """Add rows to those of their day: `size` at most, and so many of one client that is not trusted.

    A file that is damaged, or about something else, is begun anew. Raises `StorageError`.
    """
    path = home / f"{fresh.day}.parquet"
    with storage_errors(path):
        for folder in (home.parent, home):  # those that mkdir makes as parents are open to all
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(home / LOCK):
            before = _before(path, fresh)
            rows = [each.rows for each in (before, fresh) if each]
            seen = fresh.seen + (before.seen if before else 0)
            _write(path, AskedRows(fresh.about, fresh.day, seen, lowest_draws(rows, size, of_a_client, trusted)))


def _before(path: Path, fresh: AskedRows) -> AskedRows | None:
    if not path.exists():
        return None
    try:
        before = read_day(path)
        if before.is_like(fresh):
            return before
        why = f"about something else: {dict(before.about)}"
    except InputError as error:
        why = error.received
    _log.warning("what was asked is begun anew in %s: it is %s", path, why)
    return None


def days_of(home: Path) -> list[Path]:
    """Return the files of a folder, the oldest first."""
    return sorted(path for path in home.glob("*.parquet") if DAY_FILE.fullmatch(path.name))


def read_days(home: Path, columns: Sequence[str] | None = None, level: int = logging.DEBUG) -> list[AskedRows]:
    """Read the files of a folder, the oldest first. The log says at a level which cannot be read, and are left out."""
    read = list[AskedRows]()
    for path in days_of(home):
        try:
            read.append(read_day(path, columns))
        except (InputError, StorageError) as error:
            _log.log(level, "what was asked is left out: %s cannot be read: %s", path.name, error)
    return read


def read_day(path: Path, columns: Sequence[str] | None = None) -> AskedRows:
    """Read a file, or some columns of it. Raises `InputError` for a file of something else, or one that is damaged."""
    with _reading(path):
        file = pq.ParquetFile(path)
        header = _header(path, file.schema_arrow)
        names = [name for name in file.schema_arrow.names if name != "text"]  # older files have it
        rows = file.read(names if columns is None else columns).replace_schema_metadata(None)
        return AskedRows(header, header.pop("day"), header.pop("seen"), rows)


def holds_asked(file: Path) -> bool:
    """Return whether a Parquet file says that it holds what people asked."""
    try:
        return _HEADER in (pq.read_schema(file).metadata or {})
    except (pa.ArrowException, OSError):
        return False


def forget(path: str | Path, client: str | None = None) -> int:
    """Delete what was asked and clicked, all or by a client, and return how many rows. It is safe while a service runs.

    A client is given by its label, or by what that was made of: the name of a key, an address, or whom a click names.
    """
    home = Path(path)
    names = None
    if client is not None:
        names = {client}
        if (home.parent / SALT).exists():
            names.add(Salt(home.parent).label(client.encode()))
    places = [home, *(home / each for each in CLICKS)]  # clicks that pass on meanwhile may make the last
    return sum(_forget(each, names) for each in places if each == home or each.is_dir())


def _forget(home: Path, names: set[str] | None) -> int:
    gone = 0
    with storage_errors(home), locked(home / LOCK):
        for file in days_of(home):
            if names is None:
                with suppress(InputError):  # a damaged file is deleted all the same
                    gone += len(read_day(file, ["draw"]).rows)
                file.unlink()
                continue
            found = read_day(file)
            whose = [found.rows[name].to_pylist() for name in ("client", KEY_COLUMN) if name in found.rows.column_names]
            others = [row for row, each in enumerate(zip(*whose, strict=True)) if names.isdisjoint(each)]
            if len(others) < len(found.rows):
                gone += len(found.rows) - len(others)
                _write(
                    file, AskedRows(found.about, found.day, found.seen, found.rows.take(pa.array(others, pa.int64())))
                )
    return gone


def with_draws(rows: pa.Table, asked: Sequence[bytes], clients: Sequence[str | bytes | None], salt: Salt) -> pa.Table:
    """Return rows with the last columns of a file: what was asked makes the draw of each. Who is not named is null."""
    beside = [
        pa.array([salt.draw(each) for each in asked], pa.uint64()),
        pa.array(np.ones(len(asked), np.int64)),
        pa.array([None if each is None else salt.label(each) for each in clients], pa.string()),
    ]
    return pa.table([*rows.columns, *beside], [*rows.column_names, *DRAW_COLUMNS])


def lowest_draws(
    tables: Sequence[pa.Table], size: int = _ALL, of_a_client: int = _ALL, trusted: Container[str | None] = ()
) -> pa.Table:
    """Return the rows with the lowest draws of some tables, each once, counted as often as it was asked.

    The tables have the columns `draw`, `count`, how often it was asked, and `client`, who asked it first. At most
    `size` rows, and so many of one client that is not trusted.
    """
    table = pa.concat_tables(tables)
    _, first, place = np.unique(table["draw"].to_numpy(), return_index=True, return_inverse=True)
    counts = np.bincount(place, table["count"].to_numpy(), len(first)).astype(np.int64)
    table = table.take(first).set_column(table.column_names.index("count"), "count", pa.array(counts))
    kept = first_of_each(table["client"].to_pylist(), of_a_client, trusted)
    return table.take(pa.array(kept[:size], pa.int64()))


def forget_days(folder: Path, pattern: str, now: float, days: float) -> None:
    """Delete files of days that ended so many days ago, of the paths in a folder that a pattern says."""
    oldest = datetime.fromtimestamp(now, UTC) - timedelta(days=days + 1)
    with storage_errors(folder):
        for path in folder.glob(pattern):
            if DAY_FILE.fullmatch(path.name) and datetime.strptime(path.stem, DAY).replace(tzinfo=UTC) <= oldest:
                path.unlink(missing_ok=True)


def day_of(now: float) -> str:
    """Return the day of a time, in seconds since 1970, as files are called."""
    return datetime.fromtimestamp(now, UTC).strftime(DAY)


def _header(path: Path, schema: pa.Schema) -> dict[str, Any]:
    metadata = schema.metadata or {}
    if _HEADER not in metadata or not {*DRAW_COLUMNS} < {*schema.names}:
        raise InputError(str(path), "a file of what people asked", "a file of something else")
    told: dict[str, Any] = json.loads(metadata[_HEADER])
    if (found := told.pop("format")) != _FORMAT:
        expected = f"a file of what people asked, of format {_FORMAT}"
        raise InputError(str(path), expected, f"one of format {found}, which is not known here")
    return told


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # without a number, Arrow's own
            with storage_errors(path):
                raise
        raise InputError(str(path), "a file of what people asked", f"damaged: {one_line(error)}") from error


def write_private(path: Path, table: pa.Table) -> None:
    """Write a file for its owner alone. Raises `StorageError` if less than 64 MiB would stay free beside it."""
    if shutil.disk_usage(path.parent).free < table.nbytes + SPARE:
        raise StorageError(path, f"less than {SPARE // 2**20} MiB would stay free on the disk")
    with replaced(path) as new:
        new.touch(mode=0o600)
        pq.write_table(table, new, compression="none", use_dictionary=["client"])


def _write(path: Path, asked: AskedRows) -> None:
    header = {**asked.about, "day": asked.day, "seen": asked.seen, "format": _FORMAT}
    write_private(path, asked.rows.replace_schema_metadata({_HEADER: json.dumps(header)}))
