"""Who owns what in a catalog: builds own their folder, and a job the lease of its collection.

    <collection>/.lease                             the job that works on the collection
    <collection>/versions/.staging-<version>        what a build has written
    <collection>/versions/.staging-<version>.lock   the build
    <collection>/versions/.deleted-<version>        a version that is being deleted

An owner holds the lock of its file. The lock of a dead process is free. Machines that share a catalog need a file
system that shares these locks (`flock`). Besides, `durable.locked` holds a lock for a moment.
"""

import os
import platform
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

from hubless.errors import JobRunning, storage_errors
from hubless.store.bundle import FITS, SEGMENTS
from hubless.store.durable import is_locked, locked, make_folder, move, now, replace_text, sync

_LEASE_POLL = 0.1
_LEASE, _STAGING, _LOCK, _DELETED = ".lease", ".staging-", ".lock", ".deleted-"


@contextmanager
def lease(home: Path, work: str, patience: float = 0.0) -> Iterator[None]:
    """Hold the lease of a collection, for `work`. Raises `JobRunning` naming the job that holds it for too long."""
    path = home / _LEASE
    ends = monotonic() + patience
    with ExitStack() as held:
        with storage_errors(home):
            make_folder(home)
            while True:
                try:
                    held.enter_context(locked(path, wait=False))
                    break
                except BlockingIOError:
                    if monotonic() >= ends:
                        owner = path.read_text("utf-8") or "a job that has just begun"
                        raise JobRunning(home, owner) from None
                    sleep(_LEASE_POLL)
            since = now().isoformat(timespec="seconds")
            path.write_text(f"{work}, process {os.getpid()} on {platform.node()}, since {since}", "utf-8")
        yield


def staging_of(versions: Path, version: str) -> Path:
    """Return the folder in which a version is built."""
    return versions / (_STAGING + version)


def building(staging: Path) -> AbstractContextManager[None]:
    """Let the others know that a build lives, until the block ends or the process dies."""
    return locked(_lock_of(staging))


def finish(staging: Path) -> None:
    """Say that a build is complete, durably: its version is one like the others."""
    _lock_of(staging).unlink(missing_ok=True)
    sync(staging.parent)


def unfinished(versions: Path) -> set[str]:
    """Return the versions whose builds may live. One may be in its place, and about to become current."""
    return {_version_of(lock) for lock in versions.glob(f"{_STAGING}*{_LOCK}")}


def remove_dead(versions: Path, current: str | None, sweep: Callable[[], None]) -> None:
    """Remove what dead builds and deletions left, if there is any, and `sweep`. The collection must be locked.

    What tells of them goes last, so that whoever comes after a kill begins again.
    """
    dead = [lock for lock in versions.glob(f"{_STAGING}*{_LOCK}") if not is_locked(lock)]
    for version in map(_version_of, dead):
        remove(staging_of(versions, version))
        # killed between the move of its folder and becoming current: nobody has seen this version
        if version != current:
            delete_folder(versions / version)
    places = [versions.parent / kind for kind in (versions.name, SEGMENTS, FITS)]
    doomed = [folder for place in places for folder in place.glob(f"{_DELETED}*")]
    if dead or doomed:
        sweep()
    for folder in doomed:
        remove(folder)
    for lock in dead:
        lock.unlink()


def delete_folder(folder: Path) -> None:
    """Delete a version, a segment or a fit, if it is there."""
    remove(hide(folder))


def hide(folder: Path) -> Path:
    """Take a version from its place, so that an interrupted deletion leaves no half version. Return where it is."""
    doomed = folder.with_name(_DELETED + folder.name)
    with suppress(FileNotFoundError):
        move(folder, doomed)  # before its files go, also after a power cut
    return doomed


def _lock_of(staging: Path) -> Path:
    return staging.with_name(staging.name + _LOCK)


def _version_of(lock: Path) -> str:
    return lock.stem.removeprefix(_STAGING)


def remove(folder: Path) -> None:
    """Remove a folder that nobody looks for, if it is there."""
    with suppress(FileNotFoundError):
        shutil.rmtree(folder)


_NOTE = ".outside-"


def note_outside(versions: Path, version: str, kept: str) -> None:
    """Note what a version is about to keep outside."""
    replace_text(versions / (_NOTE + version), kept)


def forget_outside(versions: Path, version: str) -> None:
    """Drop the note of a version: nothing of it is left outside, or somebody else looks after it."""
    (versions / (_NOTE + version)).unlink(missing_ok=True)


def noted_outside(versions: Path) -> dict[str, str]:
    """Return the things that each version keeps outside, by its id. Nothing, if the collection is deleted meanwhile."""
    found = {}
    with suppress(FileNotFoundError):
        for path in versions.glob(f"{_NOTE}*"):
            found[path.name.removeprefix(_NOTE)] = path.read_text("utf-8").strip()
    return found


def orphaned_outside(versions: Path) -> dict[str, str]:
    """Return the things kept outside for segments that are not there, nor being built."""
    living = unfinished(versions)
    return {
        version: kept
        for version, kept in noted_outside(versions).items()
        if version not in living and not (versions.parent / SEGMENTS / version).is_dir()
    }
