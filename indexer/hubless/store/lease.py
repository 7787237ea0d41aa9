"""One job a collection: a lease with its owner, which expires when the owner is silent.

    <catalog>/<collection>/.lease.<machine>     who holds it; owned as `hubless.store.liveness` says

On one machine the next job begins at once after a dead one; on another, when that was silent for ten minutes.
"""

import json
import os
import platform
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from hubless.errors import JobRunning, storage_errors
from hubless.store.durable import locked, make_folder, now
from hubless.store.liveness import alive, machine, seconds_left

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
    path = home / f"{_LEASE}{machine()}"
    with ExitStack() as held:
        with storage_errors(home):
            make_folder(home)
            with locked(home / _GATE):
                _check_free(home)
                owner = f"{work}, process {os.getpid()} on {platform.node()}"
                told = {"owner": owner, "since": now().isoformat(timespec="seconds")}
                held.enter_context(alive(path, json.dumps(told)))
        try:
            yield
        finally:
            with suppress(OSError), locked(home / _GATE):
                path.unlink(missing_ok=True)


def _check_free(home: Path) -> None:
    """Raise `JobRunning` if a lease is held. Remove those that expired."""
    gate = home / _GATE
    os.utime(gate)  # the file system's clock is the only one that all machines share
    now = gate.stat().st_mtime
    for other in sorted(home.glob(f"{_LEASE}*")):
        if other == gate:
            continue
        with suppress(FileNotFoundError):  # given back just now
            owner = other.name.removeprefix(_LEASE)
            left = seconds_left(other, owner, now, SILENT_SECONDS)
            if left is None or left > 0:
                raise JobRunning(home, _owner(other), None if owner == machine() else left or SILENT_SECONDS)
            other.unlink()


def _owner(path: Path) -> str:
    with suppress(OSError, ValueError, TypeError, KeyError):
        told = json.loads(path.read_text("utf-8"))
        return f"{told['owner']}, since {told['since']}"
    return "a job that has just begun"
