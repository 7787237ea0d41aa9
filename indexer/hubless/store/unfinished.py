"""Unfinished builds and deletions: how the others tell whether they live, and what removes the dead ones.

    versions/.staging-<version>                    what a build has written
    versions/.staging-<version>@<machine>.lock     held, and touched every minute, while the build lives
    versions/.deleted-<version>                    a version that is being deleted

A free lock says that a build of this machine is dead. It says nothing of a build on another machine: many network file
systems do not tell one machine of the locks of another. There the build counts as dead after an hour without a touch.
"""

import hashlib
import os
import platform
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from hubless.store.durable import is_locked, locked

BEAT_SECONDS = 60.0
SILENT_SECONDS = 3600.0
"""A build on another machine is dead if its lock is free and was not touched for so long."""

_STAGING = ".staging-"
_LOCK = ".lock"
_DELETED = ".deleted-"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@cache
def machine() -> str:
    """What names the machine since it was started: locks reach all its processes, in containers too."""
    try:
        name = _BOOT_ID.read_text("ascii")
    except OSError:
        name = platform.node()
    return hashlib.sha256(name.encode()).hexdigest()[:12]


def staging_of(versions: Path, version: str) -> Path:
    """The folder in which a version is built."""
    return versions / (_STAGING + version)


@contextmanager
def living(staging: Path) -> Iterator[None]:
    """Let the others know that a build lives, until the block ends or the process dies."""
    stopped = threading.Event()
    lock = _lock_of(staging)
    with locked(lock):
        beat = threading.Thread(target=_beat, args=[lock, stopped], name="build-lives", daemon=True)
        beat.start()
        try:
            yield
        finally:
            stopped.set()
            beat.join()


def finish(staging: Path) -> None:
    """Say that a build is complete: its version is one like the others."""
    _lock_of(staging).unlink(missing_ok=True)


def unfinished(versions: Path) -> set[str]:
    """The versions whose builds may live. One may have its place among the others, and be about to become current."""
    return {_version_of(lock) for lock in _locks(versions)}


def remove_dead(versions: Path, current: str | None, now: float) -> None:
    """Remove what dead builds and deletions left. The collection must be locked.

    Parameters
    ----------
    now : by the clock of the file system, in seconds
    """
    for lock in _locks(versions):
        if _may_live(lock, now):
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
        folder.rename(doomed)
        _remove(doomed)


def _beat(lock: Path, stopped: threading.Event) -> None:
    while not stopped.wait(BEAT_SECONDS):
        with suppress(OSError):  # the disk may be out of reach for a moment
            os.utime(lock)


def _may_live(lock: Path, now: float) -> bool:
    try:
        if is_locked(lock):
            return True
        touched = lock.stat().st_mtime
    except FileNotFoundError:  # its build has just ended, on another machine
        return True
    return _machine_of(lock) != machine() and now - touched < SILENT_SECONDS


def _locks(versions: Path) -> list[Path]:
    return sorted(versions.glob(f"{_STAGING}*{_LOCK}"))


def _lock_of(staging: Path) -> Path:
    return staging.with_name(f"{staging.name}@{machine()}{_LOCK}")


def _version_of(lock: Path) -> str:
    return lock.stem.removeprefix(_STAGING).partition("@")[0]


def _machine_of(lock: Path) -> str:
    """The machine of a build; nothing for a build of an earlier release, whose machine is not known."""
    return lock.stem.partition("@")[2]


def _remove(folder: Path) -> None:
    with suppress(FileNotFoundError):  # another machine may be at it too
        shutil.rmtree(folder)
