"""Threads that open collections, a few at a time, so that a large one does not hold up the others."""

import threading
from collections import deque
from collections.abc import Callable

MOST = 4
"""Collections that are opened at the same time."""


class Openers:
    """Opens collections by their names, each by one thread at a time. The threads end when there is nothing to open."""

    def __init__(self, open_: Callable[[str], None], prepare: Callable[[], object]) -> None:
        """Begin with nothing to open.

        Parameters
        ----------
        open_ : opens a collection; handles its errors itself
        prepare : called once in each thread
        """
        self._open = open_
        self._prepare = prepare
        self._changed = threading.Condition()
        self._waiting: deque[str] = deque()
        self._pending: set[str] = set()  # these and those that are being opened
        self._running = 0
        self._stopped = False

    def add(self, name: str) -> None:
        """Have a collection opened; nothing changes if it is about to be."""
        with self._changed:
            if name in self._pending:
                return
            self._pending.add(name)
            self._waiting.append(name)
            if self._running == MOST:
                return
            self._running += 1
        try:
            # a daemon, as reading a large file cannot be interrupted and must not hold up the end of the process
            threading.Thread(target=self._run, name="open", daemon=True).start()
        except RuntimeError:  # the system allows no more threads
            self._run()

    def is_pending(self, name: str) -> bool:
        """Whether a collection is being opened, or is about to be."""
        return name in self._pending

    def wait(self) -> None:
        """Wait until all are open, or it is stopped."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or not self._pending)

    def stop(self) -> None:
        """Open nothing more."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _run(self) -> None:
        self._prepare()
        while name := self._next():
            try:
                self._open(name)
            finally:
                with self._changed:
                    self._pending.discard(name)
                    self._changed.notify_all()

    def _next(self) -> str | None:
        with self._changed:
            if self._waiting and not self._stopped:
                return self._waiting.popleft()
            self._running -= 1
            return None
