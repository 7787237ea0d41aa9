"""The log of a collection: what was written to it since its versions were built. SQLite in WAL mode, one row a write.

    <catalog>/<collection>/log.sqlite        the writes, numbered
    <catalog>/<collection>/log.sqlite.lock   held while somebody appends or cuts
    <catalog>/<collection>/log.sqlite.last   the number of the last durable write, and its checksum
    <catalog>/<collection>/log.sqlite.seen   the same of the last write, durable or not; it is never synced
    <catalog>/.written                       another number after each write to any collection; it is never synced

A write is durable when `commit` returns: SQLite has synced it (`synchronous=FULL`), unless its writer does not want
that. SQLite before 3.51.3 can damage a file in WAL mode if two connections write or make checkpoints at the same time,
so both happen under the lock only. Readers need no lock.

**No number is given twice, and no write is lost without a word.** SQLite ends its WAL at the first damaged frame and
says nothing of those after it, so the last number is noted in a second file, after the commit. `Log._ended` compares:

- The log is older than a version (missing, or restored from an earlier copy): numbers go on above the `log_seq` of
  every version. Versions before that one lack writes; reading on from them raises `LogDamaged`.
- A write was noted that neither the log nor a version has: the log is damaged, and takes no writes.

The second file is synced with each checkpoint and when the log is closed. Until then it survives the process, and a
power cut leaves an older number at worst. If it is missing or damaged, it says nothing.

The third file tells the other processes of the machine of each write before it is answered, and the fourth that they
have to look at the third of each collection. They prove nothing.

A log holds one descriptor, of the collection's folder, and three more while SQLite has its files open.
"""

import os
import sqlite3
import weakref
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock
from typing import NamedTuple

from hubless.errors import CollectionNotFound, LogCut, LogDamaged, StorageError, storage_errors
from hubless.kernels.forks import in_each_process, left_to_parent
from hubless.kernels.quota import most_descriptors
from hubless.store.copies import copy_plain, mode_of
from hubless.store.durable import locked, move, sync
from hubless.store.notes import HeldFile, Note, another, stamped

LOG = "log.sqlite"
LOG_LOCK = f"{LOG}.lock"
LOG_LAST = f"{LOG}.last"
LOG_SEEN = f"{LOG}.seen"
WRITTEN = ".written"
_MOST_WAL = 2**22
"""Bytes beside the file; a write that finds more moves them into it."""
_LEAST_BYTES = 512
"""Of a SQLite file: one page."""
_BUSY_SECONDS = 5
"""Another program that holds SQLite's own locks, such as its shell, may let a write wait for so long."""

LOG_FILES = 3
"""Descriptors of a log that is open: of the file, and of the two beside it."""
_LEAST_OPEN, _SHARE_OPEN = 8, 16
"""So many logs stay open in a process, or one for so many descriptors that it may have."""

_TABLES = """
CREATE TABLE IF NOT EXISTS writes
    (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, body BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS cut (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL);
INSERT OR IGNORE INTO cut VALUES (1, 0);
"""
_RUNNING = """
SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger') OR (type = 'index' AND sql NOT NULL) OR
    (type = 'table' AND rootpage = 0)
UNION ALL SELECT name FROM pragma_table_xinfo('writes') WHERE hidden
UNION ALL SELECT name FROM pragma_table_xinfo('cut') WHERE hidden
"""
"""What of a file runs code of whoever made it when the tables are read or written; a log has none."""
_CUT = "SELECT seq FROM cut"
_END = "SELECT max((SELECT coalesce(max(seq), 0) FROM writes), (SELECT seq FROM cut))"
"""The last write that the log has, or that was cut off."""


class Entry(NamedTuple):
    """One write: its sequence number, what it does, and with what."""

    seq: int
    kind: str
    body: bytes


class Log:
    """The log of one collection. Safe to use from several threads and processes of one machine.

    `until` is the last write that `since` gives, and `merged` returns the last write that any version has. Every method
    raises `StorageError` if the disk refuses, and `LogDamaged` if the file is not what was written.
    """

    def __init__(self, home: Path, until: int | None = None, merged: Callable[[], int] = lambda: 0) -> None:
        self.path = home / LOG
        self._merged = merged
        self._until = until
        self._durable, self._seen, self._written = (
            Note(path) for path in (home / LOG_LAST, home / LOG_SEEN, home.parent / WRITTEN)
        )
        self._paths = self.path, home / f"{LOG}-wal"
        self._names = list(map(str, self._paths))  # to look at a path takes half as long again
        with storage_errors(self.path):
            self._home = None
            with suppress(FileNotFoundError, NotADirectoryError):
                self._home = HeldFile(home, os.O_DIRECTORY)
            self._files = self._found_files()
        in_each_process(self)

    def renew(self) -> None:
        """Begin without a connection. SQLite takes none over a fork, and to close the parent's would end its locks."""
        left_to_parent(self.__dict__.get("_connection"))
        self._connection: sqlite3.Connection | None = None
        self._using = RLock()

    @property
    def is_gone(self) -> bool:
        """Return True if the collection was deleted since, though there may be another one of its name."""
        try:
            now = self.path.parent.stat()
        except OSError:
            return self._home is not None
        return self._home is None or self._home.place != (now.st_dev, now.st_ino)  # or made since

    def last(self) -> int:
        """Return the number of the last write; 0 if there was none. Costs about 60 µs."""
        with self._reading() as (connection, witness):
            return self._ended(connection, witness)

    def noted(self) -> int:
        """Return the number of the last answered write as noted beside the log; 0 if nobody can tell. Costs 4 µs."""
        try:
            return self._seen.number()
        except OSError:
            return 0

    def _witness(self) -> tuple[int, int]:
        """Return the last write that was noted, and the last that a version has: to be read before the log is."""
        return self._durable.number(), self._merged()

    def _ended(self, connection: sqlite3.Connection | None, witness: tuple[int, int]) -> int:
        noted, merged = witness
        last = max(merged, 0 if connection is None else self._number(connection, _END))
        if noted > last and not self.is_gone:
            problem = f"writes after {last} cannot be read, and {noted} were answered; those before are served"
            raise LogDamaged(self.path, problem)
        return last

    def first(self) -> int:
        """Return the number of the first write that was not cut off, whether or not it is there yet."""
        with self._reading() as (connection, _):
            return 1 if connection is None else self._number(connection, _CUT) + 1

    def since(self, seq: int, most_bytes: int = 2**26) -> list[Entry]:
        """Return the writes after a number, in order; about so many bytes at a time. Empty if there are no more."""
        with self._reading() as (connection, witness):
            found = [] if connection is None else self._entries(connection, seq, most_bytes)
            if not found:
                self._check_end(seq, self._ended(connection, witness))
        return found

    def _entries(self, connection: sqlite3.Connection, seq: int, most_bytes: int) -> list[Entry]:
        """Return the writes after a number, up to some bytes. Raises `LogCut`, and `LogDamaged` if none can be read."""
        cut = self._number(connection, _CUT)
        if seq < cut:
            raise LogCut(self.path, f"the writes up to {cut} were cut off, and those after {seq} are needed")
        found: list[Entry] = []
        size = 0
        try:
            rows = connection.execute("SELECT seq, kind, body, crc FROM writes WHERE seq > ? ORDER BY seq", [seq])
            for number, kind, body, crc in rows:
                if self._until is not None and number > self._until:
                    break
                if number != seq + len(found) + 1:
                    raise sqlite3.DatabaseError("it is not there")
                if crc != _crc(kind, body):
                    raise sqlite3.DatabaseError("its checksum is wrong")
                found.append(Entry(number, kind, body))
                size += len(body)
                if size > most_bytes:
                    break
        except (sqlite3.DatabaseError, TypeError, UnicodeError) as error:
            if not found or isinstance(error, sqlite3.OperationalError):
                problem = f"write {seq + len(found) + 1} cannot be read ({error}); those before it are served"
                raise LogDamaged(self.path, problem) from error
        return found

    def _check_end(self, seq: int, last: int) -> None:
        if seq > last and not self.is_gone:
            raise LogDamaged(self.path, f"it ends with write {last}, and {seq} were read from it before")
        if seq < min(last, last if self._until is None else self._until):
            problem = f"write {seq + 1} cannot be read (it is not there); those before it are served"
            raise LogDamaged(self.path, problem)

    @contextmanager
    def writing(
        self, *, durable: bool = True, inside: AbstractContextManager[object] | None = None
    ) -> Iterator["Appender"]:
        """Hold the lock, to append or to cut. What was appended and not committed at the end is not kept.

        `inside` is entered once the lock is held. Unless `durable`, a crash of the machine may lose the last commits.
        """
        self._check_home()  # nothing is to be made in its place
        with storage_errors(self.path), ExitStack() as held:
            try:
                held.enter_context(locked(self.path.with_name(LOG_LOCK)))
            except FileNotFoundError:
                self._check_home()
                raise
            for each in (inside or nullcontext(), self._using):
                held.enter_context(each)
            self._check_home()
            try:
                if (connection := self._opened()) is None:
                    self._ended(None, self._witness())  # or writes would be lost without a word
                    _make(self.path)
                    if (connection := self._opened()) is None:
                        raise StorageError(self.path, "it was deleted while it was made")
                connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
                connection.execute("BEGIN IMMEDIATE")
                with ExitStack() as opened:
                    opened.enter_context(_rolled_back(connection))
                    files = list[int]()
                    for note in (self._durable, self._seen, self._written):
                        files.append(note.open())
                        opened.callback(os.close, files[-1])
                    last = self._ended(connection, self._witness())
                    appender = Appender(connection, last, self._check_files, files[not durable :])
                    yield appender
                    appender.roll_back()
                    if _size(self._names[1]) > _MOST_WAL and _checkpoint(connection):
                        with suppress(OSError):
                            os.pwrite(files[0], stamped(appender.last), 0)
                        sync(self._durable.path)
            except sqlite3.Error as error:
                self.close()  # what SQLite holds of a file that failed it may be wrong: read it anew
                raise _refused(self.path, error) from error

    def _check_files(self) -> None:
        if self._found_files() != self._files:
            raise LogDamaged(self.path, "it was deleted or replaced while it was written to")

    def _check_home(self) -> None:
        if self._home is None or self.is_gone:
            raise CollectionNotFound(f"collection {self.path.parent.name!r} was deleted")

    def close(self) -> None:
        """Close the file. The next use opens it again."""
        with self._using:
            if self._connection is not None:
                written = self._connection.total_changes
                with suppress(sqlite3.Error):
                    self._connection.close()  # the last connection of all makes a checkpoint
                with suppress(OSError):
                    if written:  # here: others do it for what they wrote
                        sync(self._durable.path)
            self._connection = None

    def rest(self) -> None:
        """Close the file unless it is used just now."""
        if self._using.acquire(blocking=False):
            self.close()
            self._using.release()

    def copy(self, home: Path) -> "Log":
        """Copy the log, as it is at one moment, into another folder, with its mode. Return the copy."""
        copy = Log(home)
        for path in (*copy._paths, copy._durable.path, copy._seen.path):
            path.unlink(missing_ok=True)
        with self._reading() as (connection, witness):
            self._ended(connection, witness)
            if connection is not None:
                last = self._number(connection, _END)
                with _written(copy.path), closing(sqlite3.connect(copy.path)) as made:
                    connection.backup(made)
                with storage_errors(home):
                    copy.path.chmod(mode_of(self.path))
                    sync(copy.path)
                    copy._durable.put(last)
                    copy._durable.path.chmod(mode_of(self.path))
                    sync(copy._durable.path)
        with storage_errors(home):
            sync(home)
        return copy

    def _number(self, connection: sqlite3.Connection, query: str) -> int:
        rows = connection.execute(query).fetchall()
        if len(rows) != 1 or not isinstance(rows[0][0], int):
            raise LogDamaged(self.path, "it does not say which writes were cut off")
        return int(rows[0][0])

    @contextmanager
    def _reading(self) -> Iterator[tuple[sqlite3.Connection | None, tuple[int, int]]]:
        """Give the log as it is at one moment, None if there is no file, and its witness."""
        with storage_errors(self.path), self._using, ExitStack() as held:
            witness = self._witness()
            try:
                try:
                    connection = self._opened()
                except sqlite3.OperationalError:
                    # nothing can be made beside it: the folder is read-only, or the disk is full. Then nobody writes.
                    # What is opened is not kept, as it would never see a write
                    connection = held.enter_context(_unchanging(self.path))
                if connection is None or connection.in_transaction:
                    yield connection, witness
                else:
                    connection.execute("BEGIN")
                    with _rolled_back(connection):
                        yield connection, witness
            except sqlite3.Error as error:
                self.close()
                raise _refused(self.path, error) from error

    def _opened(self) -> sqlite3.Connection | None:
        """Return the connection to the log that stands at the path now, None without one. Raises `LogDamaged`."""
        files = self._found_files()
        if self._connection is not None and files != self._files:
            self.close()  # it was deleted or replaced: what stands there now counts
        if files[0] is None:
            return None
        if self._connection is None:
            if (size := self.path.stat().st_size) < _LEAST_BYTES:
                # SQLite would take it for a new database, and delete the WAL beside it
                raise LogDamaged(self.path, f"the file was cut to {size} bytes")
            uri = self.path.as_uri()
            if os.access(self.path.parent, os.W_OK):
                pragmas = "journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=0"
                self._connection = _connect(f"{uri}?mode=rw", *pragmas)
            else:
                self._connection = _connect(f"{uri}?mode=ro", "query_only=1")
            self._files = self._found_files()
        _use(self)
        return self._connection

    def _found_files(self) -> list[tuple[int, int] | None]:
        """Name the files that stand at the paths of the log and of its WAL now, by device and inode."""
        found: list[tuple[int, int] | None] = []
        for name in self._names:
            try:
                stat = os.stat(name)  # noqa: PTH116
                found.append((stat.st_dev, stat.st_ino))
            except (FileNotFoundError, NotADirectoryError):
                found.append(None)
        return found


_used: dict[int, "weakref.ref[Log]"] = {}
"""The logs of this process that may have their files open, the one that was used last at the end."""


def _use(log: Log) -> None:
    """Note that a log is used now. Of too many, close those that were used longest ago."""
    _used.pop(id(log), None)
    _used[id(log)] = weakref.ref(log)
    for key in list(_used)[: -most_open()]:
        if (found := _used.pop(key, None)) and (resting := found()):
            resting.rest()


def most_open() -> int:
    """Return how many logs stay open in this process at most, but for those that are used just now."""
    return max(_LEAST_OPEN, most_descriptors() // _SHARE_OPEN)


class Appender:
    """Appends to a log whose lock is held. `last` is the last write, also one that is not committed yet."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        last: int,
        check: Callable[[], None],
        notes: Sequence[int],
    ) -> None:
        """Begin after a write. `check` is called after each commit, whose number goes to the files `notes`.

        The last of these gets another number instead.
        """
        self._connection = connection
        self._check = check
        *self._notes, self._written = notes
        self._committed = self.last = last

    def add(self, kind: str, body: bytes) -> int:
        self._begin()
        row = [self.last + 1, kind, body, _crc(kind, body)]
        self._connection.execute("INSERT INTO writes VALUES (?, ?, ?, ?)", row)
        self.last += 1
        return self.last

    def commit(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")
            if self.last > self._committed:
                self._check()
                told = {**dict.fromkeys(self._notes, stamped(self.last)), self._written: another()}
                for file, content in told.items():
                    with suppress(OSError):  # the write is in the log all the same
                        os.pwrite(file, content, 0)
        self._committed = self.last

    def roll_back(self) -> None:
        if self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
        self.last = self._committed

    def cut(self, seq: int) -> None:
        self._begin()
        self._connection.execute("DELETE FROM writes WHERE seq <= ?", [seq])
        self._connection.execute("UPDATE cut SET seq = max(seq, ?)", [seq])
        self._connection.execute("COMMIT")
        sizes = [self._connection.execute(f"PRAGMA {each}").fetchone()[0] for each in ("freelist_count", "page_count")]
        if sizes[0] > sizes[1] / 2:  # else it would write more than it frees
            self._connection.execute("VACUUM")
        _checkpoint(self._connection)

    def _begin(self) -> None:
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")


def _make(path: Path) -> None:
    """Make an empty log. It appears as a whole, as others may open it at any moment."""
    new = path.with_name(f".{LOG}.new")
    for left in path.parent.glob(f"{new.name}*"):  # by a process that was killed here
        left.unlink(missing_ok=True)
    connection = _connect(new.as_uri(), "journal_mode=WAL", "synchronous=FULL")
    with closing(connection):
        connection.executescript(_TABLES)
    sync(new)
    move(new, path)


def _connect(uri: str, *pragmas: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")
        _check_plain(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_plain(connection: sqlite3.Connection) -> None:
    """Raise `sqlite3.DatabaseError` for a view, a trigger and their like: it could be endless."""
    if found := connection.execute(_RUNNING).fetchone():
        raise sqlite3.DatabaseError(f"{found[0]} is more than a table")


def _checkpoint(connection: sqlite3.Connection) -> bool:
    """Move the WAL into the file, unless a reader still needs it; that does not wait for the reader."""
    connection.execute("PRAGMA busy_timeout=0")
    ((busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute(f"PRAGMA busy_timeout={1000 * _BUSY_SECONDS}")
    return not busy


@contextmanager
def _unchanging(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a log beside which nothing can be made. SQLite reads a WAL there only from a copy of both files."""
    with TemporaryDirectory() as folder:
        if _size(f"{path}-wal"):
            for each in (path, path.with_name(f"{LOG}-wal")):
                copy_plain(each, Path(folder) / each.name)
            path = Path(folder) / LOG
            uri = f"{path.as_uri()}?mode=rw"
        else:
            uri = f"{path.as_uri()}?immutable=1"
        with closing(_connect(uri, "query_only=1")) as connection:
            yield connection


@contextmanager
def _written(path: Path) -> Iterator[None]:
    """Name the file that is written where SQLite does not say which of two refused, unless the other is damaged."""
    try:
        yield
    except sqlite3.Error as error:
        refused = _refused(path, error)
        if isinstance(refused, LogDamaged):
            raise
        raise refused from error


@contextmanager
def _rolled_back(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    finally:
        with suppress(sqlite3.Error):
            connection.rollback()


def _crc(kind: str, body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(kind.encode()))


def _size(name: str) -> int:
    with suppress(OSError):
        return os.stat(name).st_size  # noqa: PTH116
    return 0


def _refused(path: Path, error: sqlite3.Error) -> StorageError | LogDamaged:
    name = getattr(error, "sqlite_errorname", "") or ""
    if type(error) is sqlite3.DatabaseError or name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return LogDamaged(path, f"the file is damaged ({error})")
    if name == "SQLITE_ERROR":  # no such table
        return LogDamaged(path, f"the file is no log ({error})")
    if name in ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE"):
        return StorageError(path, "the disk is full")
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return StorageError(path, f"it cannot be written ({error})")
    return StorageError(path, str(error))
