"""Tells the watchers of all workers to look at the catalog now, without waiting for their next turn."""

import os
import threading
from contextlib import suppress
from time import monotonic

from hubless_service.processes.folder import shared_folder

_FILE = "catalog-changed"
_LOOK_SECONDS = 0.05


class Bell:
    """Rung by one process, heard by all that serve the same port: by a file in the folder that they share."""

    def __init__(self) -> None:
        folder = shared_folder()
        self._file = folder / _FILE if folder else None
        self._rung = threading.Event()
        self._heard = self._stamp()

    def ring(self) -> None:
        """Wake all that wait, in all processes."""
        if self._file:
            with suppress(OSError):  # then the others hear of it at their next turn
                self._file.write_bytes(os.urandom(8))
        self.wake()

    def wake(self) -> None:
        """Wake those of this process only."""
        self._rung.set()

    def wait(self, seconds: float) -> None:
        """Wait until it is rung, or the time is over."""
        end = monotonic() + seconds
        while (left := end - monotonic()) > 0:
            if self._rung.wait(min(left, _LOOK_SECONDS) if self._file else left):
                break
            if (stamp := self._stamp()) != self._heard:
                self._heard = stamp
                break
        self._rung.clear()

    def _stamp(self) -> bytes:
        if self._file:
            with suppress(OSError):
                return self._file.read_bytes()
        return b""
