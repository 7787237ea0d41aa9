"""Pools of threads.

A thread that finds no memory while it starts is waited for without end: by whoever starts it, who holds a lock of all
pools of the process. So a server starts its threads while there is memory.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

T = TypeVar("T")
_R = TypeVar("_R")


def start_all(pool: Executor, workers: int) -> None:
    """Start all threads of a pool, which has so many, now."""
    together = Barrier(workers)
    for _ in pool.map(lambda _: together.wait(), range(workers)):
        pass


def each_in_order(workers: int, work: Callable[[T], _R], items: Iterable[T]) -> Iterator[_R]:
    """Yield what the work of a kernel makes of each item, in their order; one worker is whoever asks for it."""
    if workers == 1:
        yield from map(work, items)
        return
    pending = deque[Future[_R]]()
    with ThreadPoolExecutor(workers, "hubless-kernel") as pool:
        try:
            for item in items:
                pending.append(pool.submit(work, item))
                if len(pending) > workers:  # so that blocks do not accumulate
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # do not wait for items that have not begun
            raise
