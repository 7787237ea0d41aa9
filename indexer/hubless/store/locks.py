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
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

from hubless.errors import JobRunning, storage_errors
from hubless.store.durable import is_locked, locked, make_folder, move, now, replace_text

_LEASE, _STAGING, _LOCK, _DELETED = ".lease", ".staging-", ".lock", ".deleted-"


@contextmanager
def lease(home: Path, work: str) -> Iterator[None]:
    """Hold the lease of a collection, for `work`. Raises `JobRunning` naming the job that holds it."""
    path = home / _LEASE
    with ExitStack() as held:
        with storage_errors(home):
            make_folder(home)
            try:
                held.enter_context(locked(path, wait=False))
            except BlockingIOError:
                owner = path.read_text("utf-8") or "a job that has just begun"
                raise JobRunning(home, owner) from None
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
    """Say that a build is complete: its version is one like the others."""
    _lock_of(staging).unlink(missing_ok=True)


def unfinished(versions: Path) -> set[str]:
    """Return the versions whose builds may live. One may be in its place, and about to become current."""
    return {_version_of(lock) for lock in versions.glob(f"{_STAGING}*{_LOCK}")}


def remove_dead(versions: Path, current: str | None) -> None:
    """Remove what dead builds and deletions left. The collection must be locked."""
    for lock in versions.glob(f"{_STAGING}*{_LOCK}"):
        if is_locked(lock):
            continue
        version = _version_of(lock)
        _remove(staging_of(versions, version))
        # killed between the move of its folder and becoming current: nobody has seen this version
        if version != current:
            delete(versions / version)
        lock.unlink()
    for doomed in versions.glob(f"{_DELETED}*"):
        _remove(doomed)


def delete(folder: Path) -> None:
    """Delete a version, if it is there. Hide it first, so that an interrupted deletion leaves no half version."""
    doomed = folder.with_name(_DELETED + folder.name)
    with suppress(FileNotFoundError):
        move(folder, doomed)  # before its files go, also after a power cut
        _remove(doomed)


def _lock_of(staging: Path) -> Path:
    return staging.with_name(staging.name + _LOCK)


def _version_of(lock: Path) -> str:
    return lock.stem.removeprefix(_STAGING)


def _remove(folder: Path) -> None:
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
    """Return the things kept outside for versions that are not there, nor being built."""
    living = unfinished(versions)
    return {
        version: kept
        for version, kept in noted_outside(versions).items()
        if version not in living and not (versions / version).is_dir()
    }
