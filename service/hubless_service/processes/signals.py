"""The signals that end a process. Their handler only notes them; everything else happens where the process waits.

A handler runs between any two steps of the program, as in the middle of a write to the log. Whatever takes a lock
there can fail or wait for ever.
"""

import os
import signal
from contextlib import suppress
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGINT)


class Signals:
    """Notes SIGTERM and SIGINT, and makes the descriptor `reader` readable until `heed` is called."""

    _once = False

    def __init__(self) -> None:
        self.reader, self._writer = os.pipe()
        for descriptor in (self.reader, self._writer):
            os.set_blocking(descriptor, False)
        self._come: list[int] = []
        self.watched = False
        """Whether an event loop heeds them."""

    def install(self, *, once: bool) -> None:
        """Begin to note signals. In the main thread."""
        self._once = once
        for sig in ENDING:
            signal.signal(sig, self.note)
        # of a process that was started with them held back, so that none was lost until now
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)

    def note(self, sig: int, frame: FrameType | None = None) -> None:
        """Note one signal, as its handler."""
        if self._once:
            for each in ENDING:
                signal.signal(each, signal.SIG_DFL)
        self._come.append(sig)
        with suppress(BlockingIOError):  # it is readable already
            os.write(self._writer, b"\0")

    def heed(self) -> list[int]:
        """Return the signals that have come since the last call."""
        with suppress(BlockingIOError):
            os.read(self.reader, 1024)
        come, self._come = self._come, []
        return come
