"""Several processes that serve one socket, over the same mapped files, and the supervisor that looks after them."""

import logging
import multiprocessing
import os
import shutil
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from multiprocessing.resource_tracker import ensure_running
from multiprocessing.sharedctypes import RawArray
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

from hubless.errors import HublessError
from hubless.kernels.quota import memory_limit
from hubless.kernels.threads import own_cores
from hubless.store.bundle import read_manifest
from hubless.store.catalog import Catalog
from hubless_service.processes.shared import Shared
from hubless_service.processes.signals import ENDING, Signals
from hubless_service.settings import MIB, Settings

_log = logging.getLogger("hubless.workers")

WORKER_BYTES = 150 * MIB
"""Memory of a worker without collections."""
MOST_THREADS = 256
"""Search threads of all workers."""
_MEMORY = "/dev/shm"  # noqa: S108  the folder is made in it, for us alone
"""Where counts are kept if it is there: nothing is written to a disk, and it may be the only folder to write to."""
_SHORT_LIFE = 1.0  # seconds; what dies sooner is not replaced sooner
_END_SECONDS = 10.0  # that a worker without a supervisor has to end, beside those for its requests
_MOST_FAILURES = 10  # workers in a row that end while none answers
ServeWorker = Callable[[Settings, socket.socket, Signals, Shared, bool], None]
"""Serves a listener in a worker until a signal comes; told whether it is the first, which answers from the start."""


def with_workers(settings: Settings) -> Settings:
    """Return settings that say how many workers there are: if they do not, one a processor, in half of the memory."""
    if settings.workers:
        return settings
    if settings.address is not None:  # what is there is not known yet
        return settings.model_copy(update={"workers": 1})
    catalog = Catalog(settings.catalog)
    held = 0
    for name in catalog.collections():
        with suppress(HublessError):  # what cannot be read is not served
            held += sum(file.size for file in read_manifest(catalog.folder(name)).files.values())
    each = WORKER_BYTES + held
    memory = memory_limit()
    processors = own_cores()
    count = max(1, min(processors, memory // 2 // each if memory else 1))
    _log.info(
        "workers: %d, for %d processors and %d MiB of memory, of which each takes about %d; HUBLESS_WORKERS changes it",
        count,
        processors,
        memory // MIB,
        each // MIB,
    )
    threads = max(1, min(settings.search_threads, MOST_THREADS // count))
    return settings.model_copy(update={"workers": count, "search_threads": threads})


def supervise(settings: Settings, listener: socket.socket, signals: Signals, work: ServeWorker) -> None:
    """Run processes that serve the listener; the first signal ends them in order, the second at once.

    Raises `SystemExit` if none of them could answer.
    """
    with TemporaryDirectory(prefix="hubless-", dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None) as counts:
        supervisor = Supervisor(
            shared_by(settings.workers, counts), partial(_spawn, partial(_begin, settings, listener, work)), signals
        )
        supervisor.run()
    if supervisor.failed:
        raise SystemExit(1)
    if supervisor.ended_by:
        signal.signal(supervisor.ended_by, signal.SIG_DFL)
        os.kill(os.getpid(), supervisor.ended_by)


def shared_by(workers: int, counts: str) -> Shared:
    """Return what so many workers share, to be sent to the first. It counts in a folder."""
    return Shared(RawArray("Q", workers), RawArray("Q", workers), counts=counts)


class Supervisor:
    """Starts a worker for each slot of what they share, replaces those that die, and passes signals on to them."""

    def __init__(self, shared: Shared, spawn: Callable[[Shared, bool], BaseProcess], signals: Signals) -> None:
        self._places: dict[int, BaseProcess] = {}  # by slot
        self.ended_by: int | None = None
        self.failed = False
        self._shared, self._loaded = shared, shared.loaded
        self._spawn = spawn
        self._signals = signals
        self._first: BaseProcess | None = None  # the one that answered before any had loaded
        self._stopping = False

    @property
    def workers(self) -> list[BaseProcess]:
        """The workers that are not known to have ended."""
        return list(self._places.values())

    def run(self) -> None:
        """Look after the workers until the last of them has ended."""
        self.start_missing()
        failures = 0
        while self.workers:
            started = perf_counter()
            wait([self._signals.reader, *(worker.sentinel for worker in self.workers)])
            self._pass_on_signals()
            if self._bury_dead() and not self._stopping:
                failures = 0 if any(self._loaded) else failures + 1
                if failures == _MOST_FAILURES:
                    _log.critical("%d workers ended before one could answer; the log says why", failures)
                    self.failed = True
                    self._signals.note(signal.SIGTERM)
                elif perf_counter() - started < _SHORT_LIFE:
                    wait([self._signals.reader], _SHORT_LIFE)
                self._pass_on_signals()
            self.start_missing()

    def start_missing(self) -> None:
        """Start as many workers as are missing. If no worker answers, the first of them does so while it loads."""
        if not self._places:
            self._loaded[:] = [0] * len(self._loaded)
        for slot in range(len(self._loaded)):
            if slot not in self._places and not self._stopping:
                first = self._first not in self.workers and not any(self._loaded)
                self._places[slot] = self._spawn(self._shared._replace(slot=slot), first)
                if first:
                    self._first = self._places[slot]

    def _bury_dead(self) -> bool:
        """Forget the workers that have ended; whether there were any."""
        dead = [slot for slot, worker in self._places.items() if not worker.is_alive()]
        for slot in dead:
            worker = self.forget(slot)
            worker.join()
            if not self._stopping:
                _log.error("worker %d ended with status %s; another takes its place", worker.pid, worker.exitcode)
        return bool(dead)

    def forget(self, slot: int) -> BaseProcess:
        """Free the slot of a worker that has ended. What it has counted stays there."""
        self._shared.pids[slot] = 0
        return self._places.pop(slot)

    def _pass_on_signals(self) -> None:
        for sig in self._signals.heed():
            for worker in self.workers:
                if worker.pid:
                    with suppress(ProcessLookupError):
                        os.kill(worker.pid, signal.SIGKILL if self._stopping else sig)
            if self._stopping:
                self.ended_by = sig
            self._stopping = True


def _spawn(begin: Callable[[Shared, bool], None], shared: Shared, first: bool) -> BaseProcess:
    """Start one worker. A signal that comes before it can note signals waits for it."""
    worker = multiprocessing.get_context("spawn").Process(target=begin, args=(shared, first), name="hubless-worker")
    ensure_running()  # as its start would let signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        worker.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return worker


def _begin(settings: Settings, listener: socket.socket, work: ServeWorker, shared: Shared, first: bool) -> None:
    os.setpgrp()  # a terminal's interrupt goes to the supervisor alone, which passes it on
    signals = Signals()
    signals.install(once=False)  # a second signal is the supervisor's to give
    threading.Thread(
        target=_end_with_parent, args=[signals, settings.grace_seconds, shared.counts], name="parent", daemon=True
    ).start()
    shared.pids[shared.slot] = os.getpid()
    work(settings, listener, signals, shared, first)


def _end_with_parent(signals: Signals, grace_seconds: float, counts: str) -> None:
    """End once the supervisor has, however it did: the kernel then closes its end of a pipe.

    The port is free at once, as nobody needs to look away first; requests that have begun are still answered.
    """
    if parent := multiprocessing.parent_process():
        wait([parent.sentinel])
        shutil.rmtree(counts, ignore_errors=True)  # which the supervisor does, if it can
        signals.note(signal.SIGINT)
        if signals.watched:
            sleep(grace_seconds + _END_SECONDS)
        os._exit(1)  # no request was taken yet, or the event loop is stuck
