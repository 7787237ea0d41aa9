"""Pools of threads.

A thread that finds no memory while it starts is waited for without end: by whoever starts it, who holds a lock of all
pools of the process. So a server starts its threads while there is memory.
"""

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from threading import Barrier
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
_R = TypeVar("_R")


def start_all(pool: Executor, workers: int) -> None:
    """Start all threads of a pool, which has so many, now."""
    together = Barrier(workers)
    for _ in pool.map(lambda _: together.wait(), range(workers)):
        pass


def kernel_pool(workers: int) -> Executor:
    """Return a pool for the work of a kernel; with one worker it is done where it is submitted."""
    return _Inline() if workers == 1 else ThreadPoolExecutor(workers, "hubless-kernel")


class _Inline(Executor):
    def submit(self, work: Callable[P, _R], /, *arguments: P.args, **more: P.kwargs) -> "Future[_R]":
        done = Future[_R]()
        try:
            done.set_result(work(*arguments, **more))
        except BaseException as error:
            done.set_exception(error)
        return done
