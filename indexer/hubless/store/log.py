"""The log of a collection: what was written to it since its versions were built. SQLite in WAL mode, one row a write.

    <catalog>/<collection>/log.sqlite        the writes, numbered
    <catalog>/<collection>/log.sqlite.lock   held while somebody appends or cuts

A write is durable when `commit` returns: SQLite has synced it (`synchronous=FULL`), unless its writer does not want
that. SQLite before 3.51.3 can damage a
file in WAL mode if two connections write or make checkpoints at the same time, so both happen under the lock only.
Readers need no lock.
"""

import os
import sqlite3
import weakref
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import NamedTuple

from hubless.errors import CollectionNotFound, LogCut, LogDamaged, StorageError, storage_errors
from hubless.store.durable import locked, sync

LOG = "log.sqlite"
LOG_LOCK = f"{LOG}.lock"
_MOST_WAL = 2**22
"""Bytes beside the file; a write that finds more moves them into it."""

_TABLES = """
CREATE TABLE IF NOT EXISTS writes
    (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, body BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS cut (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL);
INSERT OR IGNORE INTO cut VALUES (1, 0);
"""


class Entry(NamedTuple):
    """One write: its sequence number, what it does, and with what."""

    seq: int
    kind: str
    body: bytes


class Log:
    """The log of one collection. Safe to use from several threads and processes of one machine.

    Parameters
    ----------
    home : folder of the collection
    until : `since` gives no writes after this one; None for all

    Raises
    ------
    StorageError
        from every method, if the disk refuses. Nothing of the write is kept then.
    LogDamaged
        from every method, if the file is not what was written.
    CollectionNotFound
        from `writing`, if the collection was deleted since.
    """

    def __init__(self, home: Path, until: int | None = None) -> None:
        self.path = home / LOG
        self._home = _opened_folder(self, home)
        self._until = until
        self._connection: sqlite3.Connection | None = None
        self._using = RLock()

    @property
    def exists(self) -> bool:
        """Whether anything was ever written."""
        with storage_errors(self.path):
            return self.path.exists()

    @property
    def is_gone(self) -> bool:
        """Whether the collection was deleted since, though there may be another one of its name."""
        if self._home is None:
            return False
        before = os.fstat(self._home)
        try:
            now = self.path.parent.stat()
        except OSError:
            return True
        return (before.st_dev, before.st_ino) != (now.st_dev, now.st_ino)

    def last(self) -> int:
        """The number of the last write; 0 if there was none. Costs about 10 µs.

        Whoever follows the log asks for it. The times and sizes of files would not do: two writes within a tick of the
        clock leave the same.
        """
        if not self.exists:
            return 0
        with self._reading() as connection:
            ((found,),) = connection.execute(
                "SELECT max((SELECT coalesce(max(seq), 0) FROM writes), (SELECT seq FROM cut))"
            )
            return int(found)

    def first(self) -> int:
        """The number of the first write that is still there, or would be: what came before was cut off."""
        if not self.exists:
            return 1
        with self._reading() as connection:
            ((found,),) = connection.execute("SELECT seq FROM cut")
            return int(found) + 1

    def since(self, seq: int, most_bytes: int = 2**26) -> list[Entry]:
        """The writes after a number, in order; about so many bytes at a time. Empty if there are no more.

        Raises
        ------
        LogDamaged
            naming the first write that is damaged, once those before it were given.
        LogCut
            if the writes after `seq` were cut off.
        """
        if not self.exists:
            return []
        found: list[Entry] = []
        with self._reading() as connection:
            ((cut,),) = connection.execute("SELECT seq FROM cut")
            if seq < cut:
                raise LogCut(self.path, f"the writes up to {cut} were cut off, and those after {seq} are needed")
            size = 0
            try:
                rows = connection.execute("SELECT seq, kind, body, crc FROM writes WHERE seq > ? ORDER BY seq", [seq])
                for number, kind, body, crc in rows:
                    if self._until is not None and number > self._until:
                        break
                    if number != seq + len(found) + 1 or crc != _crc(kind, body):
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

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator["Appender"]:
        """Hold the lock, to append or to cut. What was appended and not committed at the end is not kept.

        Parameters
        ----------
        durable : whether `commit` waits for the disk. Without it a crash of the machine may lose the last writes, all
            up to the next commit that does wait; a kill of the process loses none
        """
        home = self.path.parent
        if self.is_gone:  # nothing is to be made in its place
            raise CollectionNotFound(f"collection {home.name!r} was deleted")
        with storage_errors(self.path), locked(home / LOG_LOCK), self._using:
            if self.is_gone:
                raise CollectionNotFound(f"collection {home.name!r} was deleted")
            try:
                if not self.path.exists():
                    _make(self.path)
                connection = self._opened()
                connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
                appender = Appender(connection, self.last())
                try:
                    yield appender
                finally:
                    appender.roll_back()
                if _wal_size(self.path) > _MOST_WAL:
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.Error as error:
                self.close()  # what SQLite holds of a file that failed it may be wrong: read it anew
                raise _refused(self.path, error) from error

    def close(self) -> None:
        """Close the file. The next use opens it again."""
        with self._using:
            if self._connection is not None:
                with suppress(sqlite3.Error):
                    self._connection.close()
            self._connection = None

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._using:
            unchanging = None
            try:
                try:
                    connection = self._opened()
                except sqlite3.OperationalError:
                    # nothing can be made beside it: the folder is read-only, or the disk is full. Then nobody writes
                    if _wal_size(self.path):
                        raise
                    # not kept, as it would never see a write
                    unchanging = connection = _connect(f"{self.path.as_uri()}?immutable=1", "query_only=1")
                yield connection
            except sqlite3.Error as error:
                self.close()
                raise _refused(self.path, error) from error
            finally:
                if unchanging is not None:
                    unchanging.close()

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            uri = self.path.as_uri()
            if os.access(self.path.parent, os.W_OK):
                pragmas = "journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=0"
                self._connection = _connect(uri, *pragmas)
            else:
                self._connection = _connect(f"{uri}?mode=ro", "query_only=1")
        return self._connection


class Appender:
    """Appends to a log whose lock is held.

    Attributes
    ----------
    last : the number of the last write, those that are not committed yet included
    """

    def __init__(self, connection: sqlite3.Connection, last: int) -> None:
        self._connection = connection
        self._committed = self.last = last

    def add(self, kind: str, body: bytes) -> int:
        """Append a write; its number. It is kept once `commit` returns."""
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute(
            "INSERT INTO writes VALUES (?, ?, ?, ?)", [self.last + 1, kind, body, _crc(kind, body)]
        )
        self.last += 1
        return self.last

    def commit(self) -> None:
        """Bring what was appended to the disk, all of it or nothing."""
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")
        self._committed = self.last

    def roll_back(self) -> None:
        """Forget what was appended and not committed."""
        if self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
        self.last = self._committed

    def cut(self, seq: int) -> None:
        """Remove the writes up to a number, as versions have them."""
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute("DELETE FROM writes WHERE seq <= ?", [seq])
        self._connection.execute("UPDATE cut SET seq = max(seq, ?)", [seq])
        self._connection.execute("COMMIT")
        self._connection.execute("VACUUM")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _opened_folder(log: Log, home: Path) -> int | None:
    """The folder, held open for as long as the log is used: while it is, no other folder gets its number."""
    try:
        folder = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    weakref.finalize(log, os.close, folder)
    return folder


def _make(path: Path) -> None:
    """Make an empty log. It appears as a whole, as others may open it at any moment."""
    new = path.with_name(f".{LOG}.new")
    for left in path.parent.glob(f"{new.name}*"):  # by a process that was killed here
        left.unlink(missing_ok=True)
    connection = _connect(new.as_uri(), "journal_mode=WAL", "synchronous=FULL")
    with closing(connection):
        connection.executescript(_TABLES)
    sync(new)
    new.rename(path)
    sync(path.parent)


def _connect(uri: str, *pragmas: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=30, isolation_level=None, check_same_thread=False)
    try:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("SELECT count(*) FROM sqlite_master")
    except BaseException:
        connection.close()
        raise
    return connection


def _crc(kind: str, body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(kind.encode()))


def _wal_size(path: Path) -> int:
    with suppress(OSError):
        return path.with_name(f"{LOG}-wal").stat().st_size
    return 0


def _refused(path: Path, error: sqlite3.Error) -> StorageError | LogDamaged:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return LogDamaged(path, f"the file is damaged ({error})")
    if name in ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE"):
        return StorageError(path, "the disk is full")
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return StorageError(path, f"it cannot be written ({error})")
    return StorageError(path, str(error))
