"""Worker threads of the kernels. BLAS has one thread in each."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any

from threadpoolctl import ThreadpoolController

from hubless.kernels.forks import in_each_process
from hubless.kernels.pools import each_in_order
from hubless.kernels.quota import core_limit


def slices(count: int, step: int) -> Iterator[slice]:
    """Return slices of `step` out of `count`. The last one may be shorter."""
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


def in_parallel(work: Callable[[slice], None], count: int, step: int) -> None:
    """Do the work on slices of `step` out of `count`, on all cores."""
    with one_blas_thread:
        list(each_in_order(cores(), work, slices(count, step)))


@contextmanager
def on_one_core() -> Iterator[None]:
    """Let kernels use one core, inside the `with` block."""
    token = _most.set(1)
    try:
        yield
    finally:
        _most.reset(token)


def cores() -> int:
    """Return how many cores the kernels may use here. A container often has fewer than the machine."""
    return _most.get() or own_cores()


def own_cores() -> int:
    """Return how many cores this process may use: those that it may run on, or fewer if its container has a limit."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(there, _limit_at_start() or there)


@cache
def _limit_at_start() -> int | None:
    """The container's limit. It is read once, as queries ask for the number of cores."""
    return core_limit()


@cache
def blas_has_avx512() -> bool:
    """Return whether NumPy's products use AVX-512. False if its BLAS is another than OpenBLAS."""
    kinds = {library.get("architecture") for library in _libraries().info() if "numpy" in library["filepath"]}
    return bool(kinds & {"SkylakeX", "Cooperlake", "SapphireRapids"})


class _OneBlasThread:
    """Holds BLAS to one thread, as the workers are the threads. One thread does, as only it can undo the setting."""

    _limits: Any = None  # while they are held

    def __init__(self) -> None:
        in_each_process(self)

    def renew(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._release = Event()
        self._holder: Thread | None = None
        if self._limits is not None:  # the thread that would undo them is gone
            self._limits.restore_original_limits()
            self._limits = None

    def __enter__(self) -> None:
        with self._lock:
            if self._holder is None:
                held = Event()
                self._release = Event()
                self._holder = Thread(target=self._hold, args=(held, self._release), name="hubless-blas", daemon=True)
                self._holder.start()
                held.wait()
            self._inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._inside -= 1
            if self._holder is not None and not self._inside:
                self._release.set()
                self._holder.join()
                self._holder = None

    def _hold(self, held: Event, release: Event) -> None:
        try:
            with _libraries().limit(limits=1, user_api="blas") as self._limits:
                held.set()
                release.wait()
        finally:
            self._limits = None
            held.set()  # also if the setting fails: products are right with any number of threads


@cache
def _libraries() -> ThreadpoolController:
    """Return the BLAS libraries of this process. To find them takes a millisecond, as long as a small search."""
    return ThreadpoolController()


one_blas_thread = _OneBlasThread()

_most: ContextVar[int | None] = ContextVar("cores", default=None)
