"""One job a collection: a lease with its owner, which expires when the owner is silent.

    <catalog>/<collection>/.lease.<machine>     who holds it; locked, and touched every minute, while the job lives

The lock of a dead process is free, so on one machine the next job begins at once. Many network file systems do not tell
one machine of the locks of another. There a lease counts until it was not touched for ten minutes.
"""

import fcntl
import json
import os
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from hubless.errors import JobRunning, storage_errors
from hubless.store.durable import is_locked, locked, make_folder
from hubless.store.unfinished import BEAT_SECONDS, machine

SILENT_SECONDS = 600.0
"""The lease of another machine expires after so long without a touch."""
_LEASE, _GATE = ".lease.", ".lease.lock"


@contextmanager
def lease(home: Path, work: str) -> Iterator[None]:
    """Hold the lease of a collection, so that no other job changes it.

    Parameters
    ----------
    home : folder of the collection; made if it is not there
    work : what the job does, for the message that others get

    Raises
    ------
    JobRunning
        if another job holds it; names its owner.
    StorageError
        if the disk refuses.
    """
    stopped = threading.Event()
    with storage_errors(home):
        make_folder(home)
        path = home / f"{_LEASE}{machine()}"
        with locked(home / _GATE):
            _check_free(home, path)
            held = path.open("w+")
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            owner = f"{work}, process {os.getpid()} on {platform.node()}"
            json.dump({"owner": owner, "since": datetime.now(UTC).isoformat(timespec="seconds")}, held)
            held.flush()
    beat = threading.Thread(target=_beat, args=[path, stopped], name="lease-lives", daemon=True)
    beat.start()
    try:
        yield
    finally:
        stopped.set()
        beat.join()
        with suppress(OSError), locked(home / _GATE):
            path.unlink(missing_ok=True)
        held.close()


def _check_free(home: Path, own: Path) -> None:
    """Raise `JobRunning` if a lease is held. Remove those that expired."""
    gate = home / _GATE
    os.utime(gate)  # the file system's clock is the only one that all machines share
    now = gate.stat().st_mtime
    for other in sorted(home.glob(f"{_LEASE}*")):
        if other == gate:
            continue
        with suppress(FileNotFoundError):  # given back just now
            silent = now - other.stat().st_mtime
            if is_locked(other) or (other != own and silent < SILENT_SECONDS):
                raise JobRunning(home, _owner(other), None if other == own else SILENT_SECONDS - silent)
            other.unlink()


def _owner(path: Path) -> str:
    with suppress(OSError, ValueError, TypeError, KeyError):
        told = json.loads(path.read_text("utf-8"))
        return f"{told['owner']}, since {told['since']}"
    return "a job that has just begun"


def _beat(path: Path, stopped: threading.Event) -> None:
    while not stopped.wait(BEAT_SECONDS):
        with suppress(OSError):  # the disk may be out of reach for a moment
            os.utime(path)
