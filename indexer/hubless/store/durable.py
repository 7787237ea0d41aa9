"""Durable files and folders, locks, and writes that are whole or not at all; and the clock.

The store renames, links, syncs and reads the time here only, so a test can count, refuse or replace each.
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from hubless.errors import HublessError, StorageError, beside, storage_errors

try:
    import fcntl
except ModuleNotFoundError:
    raise HublessError("hubless runs on Linux and macOS; on Windows use WSL or the Docker image") from None

_UNHELD = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT, errno.ELOOP, errno.ENXIO)


def now() -> datetime:
    """Return the time of the clock on the wall, in UTC. It may jump."""
    return datetime.now(UTC)


def sync(path: Path) -> None:
    """Sync a file's content, or a folder's entries, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def move(path: Path, new: Path) -> None:
    """Rename a file or a folder, durably. A file that has the new name is replaced."""
    path.replace(new)
    for folder in {path.parent, new.parent}:
        sync(folder)


def link(file: Path, path: Path) -> None:
    """Give a file a second name; where the disk has no such thing, copy it. Raises `StorageError`."""
    with storage_errors(path):
        path.unlink(missing_ok=True)  # it may be another name of a file that stays
        try:
            os.link(file, path)
        except OSError:
            shutil.copyfile(file, path)


def make_folder(path: Path) -> None:
    """Make a folder and its parents, so that they survive a power cut. An existing folder is fine."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync(path.parent)


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold a file's lock; the lock of a dead process is free. Without `wait` raise `BlockingIOError` if it is taken."""
    owner = os.getpid()
    lock = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        if os.getpid() == owner:  # a process that was forked meanwhile has the file open, and would keep the lock
            fcntl.flock(lock, fcntl.LOCK_UN)
        os.close(lock)


@contextmanager
def held_still(path: Path) -> Iterator[None]:
    """Hold a file's lock while what it guards is read. Nothing is held where nobody can make the file.

    Nor is it where a link or a pipe is in its place, as somebody else may have put there, nor in a folder that is gone.
    """
    with ExitStack() as held:
        for flags in (os.O_WRONLY | os.O_CREAT, os.O_RDONLY):
            try:
                lock = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
            except OSError as error:
                if error.errno not in _UNHELD:
                    raise
            else:
                fcntl.flock(held.enter_context(os.fdopen(lock)), fcntl.LOCK_EX)
                break
        yield


def is_locked(path: Path) -> bool:
    """Return True if a file's lock is held."""
    with path.open("r+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        fcntl.flock(lock, fcntl.LOCK_UN)
        return False


def replace_text(path: Path, text: str) -> None:
    """Replace a file's content atomically and durably. Do it from one thread at a time."""
    with replaced(path) as temporary:
        temporary.write_text(text, "utf-8")


def put_text(path: Path, text: str) -> None:
    """Replace a file's content as `replace_text` does, also where a folder stands in its place."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    replace_text(path, text)


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Give a file to write. It takes the place of another when the block ends, durably and at once, as above."""
    with beside(path) as temporary:
        yield temporary
        sync(temporary)
        move(temporary, path)


def check_place(path: Path) -> None:
    """Check that a file can be written, before the work whose result it will hold."""
    with storage_errors(path):
        if path.is_dir():
            raise StorageError(path, "a folder is in the place of a file")
        with beside(path) as temporary:
            temporary.touch()
