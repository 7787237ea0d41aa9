"""Unfinished builds and deletions: how the others tell whether they live, and what removes the dead ones.

    versions/.staging-<version>                    what a build has written
    versions/.staging-<version>@<machine>.lock     owned by the build, as `hubless.store.liveness` says
    versions/.deleted-<version>                    a version that is being deleted

A build on another machine counts as dead when it was silent for an hour.
"""

import shutil
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from hubless.store.durable import move
from hubless.store.liveness import alive, machine, seconds_left

SILENT_SECONDS = 3600.0
"""A build on another machine is dead if its lock is free and was not touched for so long."""

_STAGING = ".staging-"
_LOCK = ".lock"
_DELETED = ".deleted-"


def staging_of(versions: Path, version: str) -> Path:
    """The folder in which a version is built."""
    return versions / (_STAGING + version)


def living(staging: Path) -> AbstractContextManager[None]:
    """Let the others know that a build lives, until the block ends or the process dies."""
    return alive(_lock_of(staging))


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
        move(folder, doomed)  # before its files go, also after a power cut
        _remove(doomed)


def _may_live(lock: Path, now: float) -> bool:
    try:
        left = seconds_left(lock, _machine_of(lock), now, SILENT_SECONDS)
    except FileNotFoundError:  # its build has just ended, on another machine
        return True
    return left is None or left > 0


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
