"""Threads of which the one that worked last works next: what it needs is in the caches of a processor still."""

import logging
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeAlias

_log = logging.getLogger("hubless.queue")

ThreadWork: TypeAlias = Callable[[], object] | None
"""What a thread does, which raises nothing; None ends it."""


class WarmThreads:
    """So many threads for work. If they took turns, as those of an executor do, a write would cost a fifth more."""

    def __init__(self, count: int, name: str, prepare: Callable[[], object]) -> None:
        """`prepare` is called in each thread."""
        self._prepare = prepare
        self._lock = threading.Lock()
        self._idle = list[SimpleQueue[ThreadWork]]()  # of each thread that waits
        self._due = deque[ThreadWork]()
        # daemons, as neither a search nor a disk that hangs can be interrupted, or may hold up the end of the process
        self._threads = [threading.Thread(target=self._serve, name=f"{name}-{i}", daemon=True) for i in range(count)]

    def start(self) -> None:
        """Let the threads begin."""
        try:
            for thread in self._threads:
                thread.start()
        except RuntimeError:
            self.stop()
            raise

    def stop(self) -> list[threading.Thread]:
        """Return the threads, which end when all that was submitted is done."""
        for _ in self._threads:
            self.submit(None)
        return [thread for thread in self._threads if thread.ident]

    def submit(self, work: ThreadWork) -> None:
        """Have a thread do some work."""
        with self._lock:
            if self._idle:
                self._idle.pop().put(work)
            else:
                self._due.append(work)

    def _serve(self) -> None:
        try:
            self._prepare()
        except Exception:
            _log.exception("a thread runs with the settings of the process")
        handed = SimpleQueue[ThreadWork]()
        while True:
            with self._lock:
                if self._due:
                    handed.put(self._due.popleft())
                else:
                    self._idle.append(handed)
            if (work := handed.get()) is None:
                return
            work()
            del work  # while the thread waits, nothing of an old version is held
