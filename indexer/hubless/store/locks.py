"""Who owns what in a catalog: builds own their folder, and a job the lease of its collection.

    <collection>/.lease@<machine>                         the job that works on the collection
    <collection>/versions/.staging-<version>              what a build has written
    <collection>/versions/.staging-<version>@<machine>.lock   the build
    <collection>/versions/.deleted-<version>              a version that is being deleted

An owner holds the lock of its file, and touches it every minute. The lock of a dead process is free, which says all on
one machine. Many network file systems do not tell one machine of the locks of another: there an owner counts as dead
when the file was not touched for long, by the clock of the file system. Besides, `durable.locked` holds a lock for a
moment.
"""

import hashlib
import os
import platform
import shutil
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path

from hubless.errors import JobRunning, storage_errors
from hubless.store.durable import is_locked, locked, make_folder, move, now

BEAT_SECONDS = 60.0
SILENT_BUILD, SILENT_JOB = 3600.0, 600.0
"""Seconds until an owner on another machine counts as dead."""
_STAGING, _LOCK, _DELETED = ".staging-", ".lock", ".deleted-"
_LEASE, _GATE = ".lease@", ".lease.lock"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@cache
def machine() -> str:
    """Return a name of the machine since it was started: locks reach all its processes, in containers too."""
    try:
        name = _BOOT_ID.read_text("ascii")
    except OSError:
        name = platform.node()
    return hashlib.sha256(name.encode()).hexdigest()[:12]


@contextmanager
def owned(path: Path, told: str = "") -> Iterator[None]:
    """Own a file until the block ends or the process dies. `told` is what it says to others."""
    stopped = threading.Event()

    def beat() -> None:
        while not stopped.wait(BEAT_SECONDS):
            with suppress(OSError):  # the disk may be out of reach for a moment
                os.utime(path)

    with locked(path):
        path.write_text(told, "utf-8")
        beating = threading.Thread(target=beat, name="owner-lives", daemon=True)
        beating.start()
        try:
            yield
        finally:
            stopped.set()
            beating.join()


def file_time(path: Path) -> float:
    """Touch a file, and return the time: the clock of the file system is the only one that all machines share."""
    os.utime(path)
    return path.stat().st_mtime


def _seconds_left(path: Path, moment: float, silent: float) -> float | None:
    """Return how long an owner counts as alive without another touch: 0 or less if it is dead, None while it holds."""
    if is_locked(path):
        return None
    owner = path.name.partition("@")[2].removesuffix(_LOCK)
    return 0.0 if owner == machine() else path.stat().st_mtime + silent - moment


@contextmanager
def lease(home: Path, work: str) -> Iterator[None]:
    """Hold the lease of a collection, so that no other job changes it.

    On one machine the next job begins at once after a dead one; on another, when that was silent for ten minutes.

    Raises `JobRunning` if another job holds it; names its owner; `StorageError` if the disk refuses.

    Parameters
    ----------
    home : folder of the collection; made if it is not there
    work : what the job does, for the message that others get
    """
    path, gate = home / f"{_LEASE}{machine()}", home / _GATE
    with ExitStack() as held:
        with storage_errors(home):
            make_folder(home)
            with locked(gate):
                _check_free(home, file_time(gate))
                since = now().isoformat(timespec="seconds")
                owner = f"{work}, process {os.getpid()} on {platform.node()}, since {since}"
                held.enter_context(owned(path, owner))
        try:
            yield
        finally:
            with suppress(OSError), locked(gate):
                path.unlink(missing_ok=True)


def _check_free(home: Path, moment: float) -> None:
    """Raise `JobRunning` if a lease is held. Remove those that expired."""
    for other in sorted(home.glob(f"{_LEASE}*")):
        with suppress(FileNotFoundError):  # given back just now
            left = _seconds_left(other, moment, SILENT_JOB)
            if left is None or left > 0:
                mine = other.name == f"{_LEASE}{machine()}"
                raise JobRunning(home, _owner(other), None if mine else left or SILENT_JOB)
            other.unlink()


def _owner(path: Path) -> str:
    with suppress(OSError):
        return path.read_text("utf-8") or "a job that has just begun"
    return "a job that has just begun"


def staging_of(versions: Path, version: str) -> Path:
    """Return the folder in which a version is built."""
    return versions / (_STAGING + version)


def building(staging: Path) -> AbstractContextManager[None]:
    """Let the others know that a build lives, until the block ends or the process dies."""
    return owned(_lock_of(staging))


def finish(staging: Path) -> None:
    """Say that a build is complete: its version is one like the others."""
    _lock_of(staging).unlink(missing_ok=True)


def unfinished(versions: Path) -> set[str]:
    """Return the versions whose builds may live. One may be in its place, and about to become current."""
    return {_version_of(lock) for lock in versions.glob(f"{_STAGING}*{_LOCK}")}


def remove_dead(versions: Path, current: str | None, moment: float) -> None:
    """Remove what dead builds and deletions left. The collection must be locked.

    `moment`: by the clock of the file system.
    """
    for lock in versions.glob(f"{_STAGING}*{_LOCK}"):
        try:
            left = _seconds_left(lock, moment, SILENT_BUILD)
        except FileNotFoundError:  # its build has just ended, on another machine
            continue
        if left is None or left > 0:
            continue
        version = _version_of(lock)
        _remove(staging_of(versions, version))
        # killed between the move of its folder and becoming current: nobody has seen this version
        if version != current:
            delete(versions / version)
        lock.unlink(missing_ok=True)
    for doomed in versions.glob(f"{_DELETED}*"):
        _remove(doomed)


def delete(folder: Path) -> None:
    """Delete a version, if it is there. Hide it first, so that an interrupted deletion leaves no half version."""
    doomed = folder.with_name(_DELETED + folder.name)
    with suppress(FileNotFoundError):
        move(folder, doomed)  # before its files go, also after a power cut
        _remove(doomed)


def _lock_of(staging: Path) -> Path:
    return staging.with_name(f"{staging.name}@{machine()}{_LOCK}")


def _version_of(lock: Path) -> str:
    return lock.stem.removeprefix(_STAGING).partition("@")[0]


def _remove(folder: Path) -> None:
    with suppress(FileNotFoundError):  # another machine may be at it too
        shutil.rmtree(folder)
