"""Several processes that serve one socket, each over the same mapped files; and the one that looks after them.

A worker that dies is replaced. When the process that looks after them dies, they end in order.
"""

import logging
import multiprocessing
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from time import perf_counter, sleep
from types import FrameType

from prometheus_client.multiprocess import mark_process_dead

from hubless_service.settings import Settings

log = logging.getLogger("hubless.workers")

METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that makes prometheus_client count in files, which each worker can add up."""
_SHORT_LIFE = 1.0  # seconds; what dies sooner is not replaced sooner
Work = Callable[[Settings, socket.socket], None]


def supervise(settings: Settings, listener: socket.socket, work: Work) -> None:
    """Run `settings.workers` processes until a signal ends them. In each of them `work` serves the listener."""
    with tempfile.TemporaryDirectory(prefix="hubless-metrics-") as folder:
        os.environ[METRICS_FOLDER] = folder
        _Supervisor(settings.workers, partial(_begin, settings, listener, work)).run()


class _Supervisor:
    def __init__(self, count: int, target: Callable[[], None]) -> None:
        self._count = count
        self._target = target
        self._workers: dict[int, SpawnProcess] = {}  # by their sentinels
        self._stopping = False

    def run(self) -> None:
        for sig in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sig, self._stop)
        for _ in range(self._count):
            self._start()
        while self._workers:
            started = perf_counter()
            wait(list(self._workers))
            for sentinel in [sentinel for sentinel, worker in self._workers.items() if not worker.is_alive()]:
                self._bury(self._workers.pop(sentinel))
            if not self._stopping and perf_counter() - started < _SHORT_LIFE:
                sleep(_SHORT_LIFE)
            while not self._stopping and len(self._workers) < self._count:
                self._start()

    def _start(self) -> None:
        worker = multiprocessing.get_context("spawn").Process(target=self._target, name="hubless-worker")
        worker.start()
        self._workers[worker.sentinel] = worker

    def _bury(self, worker: SpawnProcess) -> None:
        worker.join()
        mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]
        if not self._stopping:
            log.error("worker %d ended with status %s; another takes its place", worker.pid, worker.exitcode)

    def _stop(self, sig: int, frame: FrameType | None) -> None:
        for worker in self._workers.values():
            if worker.pid:
                with suppress(ProcessLookupError):
                    os.kill(worker.pid, sig)
        if self._stopping:  # for the second time
            signal.signal(sig, signal.SIG_DFL)
            os.kill(os.getpid(), sig)
        self._stopping = True


def _begin(settings: Settings, listener: socket.socket, work: Work) -> None:
    os.setpgrp()  # a terminal's interrupt goes to the supervisor alone, which passes it on
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    work(settings, listener)


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
