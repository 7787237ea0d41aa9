"""Owners of files who show that they live: they hold the file's lock, and touch the file every minute.

The lock of a dead process is free. That says all on one machine. Many network file systems do not tell one machine of
the locks of another: there an owner counts as dead when the file was not touched for long.
"""

import hashlib
import os
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from hubless.store.durable import is_locked, locked

BEAT_SECONDS = 60.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@cache
def machine() -> str:
    """What names the machine since it was started: locks reach all its processes, in containers too."""
    try:
        name = _BOOT_ID.read_text("ascii")
    except OSError:
        name = platform.node()
    return hashlib.sha256(name.encode()).hexdigest()[:12]


@contextmanager
def alive(path: Path, told: str = "") -> Iterator[None]:
    """Own a file until the block ends or the process dies.

    Parameters
    ----------
    told : what the file says to others
    """
    stopped = threading.Event()
    with locked(path):
        path.write_text(told, "utf-8")
        beat = threading.Thread(target=_beat, args=[path, stopped], name="owner-lives", daemon=True)
        beat.start()
        try:
            yield
        finally:
            stopped.set()
            beat.join()


def seconds_left(path: Path, owner: str, now: float, silent_seconds: float) -> float | None:
    """How long the owner of a file counts as alive without another touch; None for as long as it holds the lock.

    Not above 0 if it is dead.

    Parameters
    ----------
    owner : the machine of the owner
    now : by the clock of the file system
    silent_seconds : how long an owner on another machine may be silent

    Raises
    ------
    FileNotFoundError
    """
    if is_locked(path):
        return None
    return 0.0 if owner == machine() else path.stat().st_mtime + silent_seconds - now


def _beat(path: Path, stopped: threading.Event) -> None:
    while not stopped.wait(BEAT_SECONDS):
        with suppress(OSError):  # the disk may be out of reach for a moment
            os.utime(path)
