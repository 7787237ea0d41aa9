"""Several processes that serve one socket, each over the same mapped files; and the one that looks after them.

One of them answers from the start, that it is loading, and the others when it and they have loaded. A worker that dies
is replaced, by one that takes no request before it has loaded. When the process that looks after them dies, they end in
order.
"""

import logging
import multiprocessing
import os
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from time import perf_counter, sleep
from types import FrameType

from prometheus_client.multiprocess import mark_process_dead

from hubless_service.observing.occurrence import METRICS_FOLDER, remove_files_of
from hubless_service.searching.door import Door, close, is_open
from hubless_service.settings import Settings

log = logging.getLogger("hubless.workers")

_MEMORY = "/dev/shm"  # noqa: S108  # a folder of a random name in it
_SHORT_LIFE = 1.0  # seconds; what dies sooner is not replaced sooner
Work = Callable[[Settings, socket.socket, Door], None]
"""Serves a listener in a worker, from when the door lets it."""


def supervise(settings: Settings, listener: socket.socket, work: Work) -> None:
    """Run `settings.workers` processes until a signal ends them. In each of them `work` serves the listener.

    They end in order at the first SIGTERM or SIGINT, and at once at the second, which then ends this process too.
    """
    with tempfile.TemporaryDirectory(prefix="hubless-metrics-", dir=_folder_in_memory()) as folder:
        os.environ[METRICS_FOLDER] = folder
        supervisor = _Supervisor(settings.workers, Path(folder), partial(_begin, settings, listener, work))
        supervisor.run()
    if supervisor.ended_by:
        signal.signal(supervisor.ended_by, signal.SIG_DFL)
        os.kill(os.getpid(), supervisor.ended_by)


def _folder_in_memory() -> str | None:
    """Where the files are kept that workers count in: they are mapped, and a full disk would kill who writes there."""
    return _MEMORY if os.access(_MEMORY, os.W_OK) else None


class _Supervisor:
    def __init__(self, count: int, folder: Path, target: Callable[[Door], None]) -> None:
        self._count = count
        self._folder = folder
        self._target = target
        self._workers: dict[int, SpawnProcess] = {}  # by their sentinels
        self._first: SpawnProcess | None = None  # who answered before anybody had loaded
        self._stopping = False
        self.ended_by: int | None = None  # the signal that did not wait for the workers to end in order

    def run(self) -> None:
        for sig in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sig, self._stop)
        self._start_missing()
        while self._workers:
            started = perf_counter()
            wait(list(self._workers))
            for sentinel in [sentinel for sentinel, worker in self._workers.items() if not worker.is_alive()]:
                self._bury(self._workers.pop(sentinel))
            if not self._stopping and perf_counter() - started < _SHORT_LIFE:
                sleep(_SHORT_LIFE)
            self._start_missing()

    def _start_missing(self) -> None:
        if not self._workers:
            close(self._folder)
        while not self._stopping and len(self._workers) < self._count:
            # where no other answers, also its being about to load is an answer
            self._start(first=self._first not in self._workers.values() and not is_open(self._folder))

    def _start(self, *, first: bool) -> None:
        context = multiprocessing.get_context("spawn")
        door = Door(self._folder, first=first)
        worker = context.Process(target=self._target, args=(door,), name="hubless-worker")
        worker.start()
        self._workers[worker.sentinel] = worker
        if first:
            self._first = worker
        if self._stopping:  # meanwhile: the signal was not passed on to this one
            worker.terminate()

    def _bury(self, worker: SpawnProcess) -> None:
        worker.join()
        mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]
        if worker.pid:
            remove_files_of(self._folder, worker.pid)
        if not self._stopping:
            log.error("worker %d ended with status %s; another takes its place", worker.pid, worker.exitcode)

    def _stop(self, sig: int, frame: FrameType | None) -> None:
        if self._stopping:
            self.ended_by = sig
        for worker in self._workers.values():
            if worker.pid:
                with suppress(ProcessLookupError):
                    os.kill(worker.pid, signal.SIGKILL if self._stopping else sig)
        self._stopping = True


def _begin(settings: Settings, listener: socket.socket, work: Work, door: Door) -> None:
    os.setpgrp()  # a terminal's interrupt goes to the supervisor alone, which passes it on
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    try:
        work(settings, listener, door)
    finally:
        parent = multiprocessing.parent_process()
        if parent and not parent.is_alive():  # nobody else is left to clean up
            shutil.rmtree(os.environ[METRICS_FOLDER], ignore_errors=True)


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
