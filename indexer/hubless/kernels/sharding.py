"""Spreads passes over shared vectors over processes or machines.

Inside `on_executor` each shard of targets is reduced by itself, by one thread, and the parts are joined in order. So
all executors give the same bytes. Vectors do not travel: a shard is a path and two row numbers.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from hubless.errors import StorageError
from hubless.kernels.threads import on_one_core
from hubless.progress import Advance, no_progress
from hubless.vectors.sources import SharedVectors, StackedVectors, VectorSource

SHARD_ROWS = 2**14
"""Vectors of a shard. With 10,000 bank queries of 512 dimensions one takes a core a few seconds."""

_T = TypeVar("_T")
Task = tuple[Any, ...]
"""A shard, and what belongs to its rows."""


class Executor(Protocol):
    """Runs the work of a pass on its shards."""

    def map(self, work: Callable[..., _T], tasks: Iterable[Task]) -> Iterator[_T]:
        """Yield the result of `work(*task)` for each task, in order. What is lost with a machine is done again.

        Work and tasks can be pickled; the work is sent to each place once, and may hold as much as a query bank.
        """


@contextmanager
def on_executor(executor: Executor | None) -> Iterator[None]:
    """Let passes over shared vectors run on an executor, inside the `with` block; None for this process alone."""
    token = _current.set(executor)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Executor | None:
    """The executor of the passes; None if they run in this process alone."""
    return _current.get()


def is_sharded(source: VectorSource) -> bool:
    """Return True if a pass over this source runs on an executor."""
    return current() is not None and _shared(source) is not None


def over_shards(source: VectorSource, work: Callable[..., _T], *along: Any, advance: Advance = no_progress) -> list[_T]:
    """Return the results of `each_shard`, all together."""
    return list(each_shard(source, work, *along, advance=advance))


def each_shard(
    source: VectorSource, work: Callable[..., _T], *along: Any, advance: Advance = no_progress
) -> Iterator[_T]:
    """Yield the result of the work on each shard of a source, and its rows of each of `along` (n, …), in order."""
    executor = current()
    shared = _shared(source)
    if executor is None or shared is None:
        raise TypeError("over_shards needs an executor and shared vectors")
    shards = [shard for part in shared for shard in _cut(part)]
    for shard, part in zip(shards, executor.map(_Alone(work), _tasks(shards, along)), strict=True):
        yield part
        advance(shard.shape[0])


def _shared(source: VectorSource) -> list[SharedVectors] | None:
    if isinstance(source, SharedVectors):
        return [source]
    if not isinstance(source, StackedVectors):
        return None
    parts = [_shared(part) for part in source.parts]
    return None if None in parts else [each for part in parts for each in part or ()]


def _cut(shared: SharedVectors) -> Iterator[SharedVectors]:
    count = shared.shape[0]
    return (shared.rows(start, min(start + SHARD_ROWS, count)) for start in range(0, count, SHARD_ROWS))


def _tasks(shards: list[SharedVectors], along: tuple[Any, ...]) -> Iterator[Task]:
    start = 0
    for shard in shards:
        stop = start + shard.shape[0]
        yield (shard, *(None if each is None else each[start:stop] for each in along))
        start = stop


@dataclass(frozen=True)
class _Alone(Generic[_T]):
    """The work as it is done on one shard, in another process: on one core, as others are busy with other shards."""

    work: Callable[..., _T]

    def __call__(self, shard: SharedVectors, *along: Any) -> _T:
        if not shard.path.exists():
            reason = "not on this machine: the catalog has to be on storage that all machines of the executor share"
            raise StorageError(str(shard.path), reason)
        with on_executor(None), on_one_core():
            return self.work(shard, *along)


_current: ContextVar[Executor | None] = ContextVar("executor", default=None)
