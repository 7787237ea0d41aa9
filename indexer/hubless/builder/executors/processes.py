"""Processes of this machine, one shard each at a time."""

import pickle
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache, lru_cache
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any, TypeVar

from hubless.errors import ExecutorFailed
from hubless.kernels.sharding import Task
from hubless.kernels.threads import cores

MOST_LOSSES = 3
"""Shards are done again when a process is lost, but not for ever: one of them may be what kills it."""
T = TypeVar("T")


@contextmanager
def in_processes(name: str) -> Iterator["Processes"]:
    """As many processes as the name says, such as "processes:4"; by default one a core."""
    number = name.partition(":")[2]
    executor = Processes(int(number) if number else cores())
    try:
        yield executor
    finally:
        executor.close()


class Processes:
    """An executor of processes that live as long as it."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool: ProcessPoolExecutor | None = None

    def map(self, work: Callable[..., T], tasks: Iterable[Task]) -> Iterator[T]:
        """See `hubless.kernels.sharding.Executor`.

        Raises
        ------
        ExecutorFailed
            if processes are lost again and again without any result.
        """
        with tempfile.NamedTemporaryFile() as file:  # the work is the same for all, and each process reads it once
            pickle.dump(work, file)
            file.flush()
            coming, pending, losses = iter(tasks), deque[tuple[Task, Future[T]]](), 0
            while True:
                while len(pending) < 2 * self.count and (task := next(coming, None)) is not None:
                    pending.append((task, self._submit(file.name, task)))
                if not pending:
                    return
                try:
                    result = pending[0][1].result()
                except BrokenProcessPool as error:
                    losses += 1
                    if losses > MOST_LOSSES:
                        reason = f"{losses} times in a row processes were lost; did they run out of memory?"
                        raise ExecutorFailed(f"executor processes:{self.count}: {reason}") from error
                    self.close()
                    pending = deque((task, self._submit(file.name, task)) for task, _ in pending)
                    continue
                losses = 0
                pending.popleft()
                yield result

    def _submit(self, work: str, task: Task) -> "Future[Any]":
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.count, _context())
        try:
            return self._pool.submit(_do, work, task)
        except BrokenProcessPool as error:  # found out here, told where results are awaited
            lost: Future[Any] = Future()
            lost.set_exception(error)
            return lost

    def close(self) -> None:
        """Stop the processes. Work begins new ones."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


@cache
def _context() -> ForkServerContext:
    """Processes are forked from one that has imported what they need, and that has no threads."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["hubless.kernels.coupling"])
    return context


def _do(work: str, task: Task) -> Any:
    return _read(work)(*task)


@lru_cache(1)
def _read(path: str) -> Callable[..., Any]:
    work: Callable[..., Any] = pickle.loads(Path(path).read_bytes())  # noqa: S301 - written by the process above
    return work
