"""Sources of vectors: anything with rows that can be read in blocks, again and again.

An array, a file that is mapped into memory and a file that can only be streamed are sources. Views on a source (unit
length, a choice of rows, several in a row) are sources too, so that nothing downstream ever needs all rows at once.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubless.errors import InputError
from hubless.vectors.arrays import F32, F64, I64, as_array, as_float32, check_dim, short_rows
from hubless.vectors.comparing import OF_QUERIES, ComparedSide, comparison

BLOCK_BYTES = 16 * 2**20

Chunks = Iterator[NDArray[Any]]


class VectorSource(Protocol):
    """Rows of vectors that can be read in blocks, as often as needed."""

    @property
    def name(self) -> str:
        """The name of the source in messages."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of dimensions."""

    def blocks(self, rows: int) -> Iterator[F32]:
        """All rows in order, at most `rows` at a time."""

    def take(self, rows: I64) -> F32:
        """The rows of these numbers, in the order of the numbers."""


def held(array: NDArray[Any], name: str) -> "HeldVectors":
    """Return rows (n, d) in memory, checked once. Raises `InputError` as `as_float32`."""
    return HeldVectors(as_float32(array, name), name)


def block_rows(dim: int, block_bytes: int = BLOCK_BYTES) -> int:
    """Return the number of float32 rows of `dim` dimensions that fill a block."""
    return max(1, block_bytes // (4 * dim))


class ArrayRows:
    """A source over the rows of an array, in memory or mapped, which `_checked` looks at as they are read."""

    array: NDArray[Any]

    @property
    def shape(self) -> tuple[int, int]:
        return self.array.shape[0], self.array.shape[1]

    def blocks(self, rows: int) -> Iterator[F32]:
        array = self.array
        for start in range(0, len(array), rows):
            yield self._checked(array[start : start + rows], start)

    def take(self, rows: I64) -> F32:
        return self._checked(self.array[rows], rows)

    def _checked(self, rows: NDArray[Any], numbers: int | I64) -> F32:
        return rows


@dataclass(frozen=True)
class ArrayVectors(ArrayRows):
    """An array in memory, or a memory-mapped `.npy`; float32 arrays in memory are read without a copy."""

    array: NDArray[Any] = field(repr=False)
    name: str

    @property
    def in_memory(self) -> bool:
        """True if reading it again costs nothing: float32, and not in a file."""
        return self.array.dtype == np.float32 and not isinstance(self.array, np.memmap)

    def _checked(self, rows: NDArray[Any], numbers: int | I64) -> F32:
        return as_float32(rows, self.name, numbers)


@dataclass(frozen=True)
class HeldVectors(ArrayRows):
    """Rows (n, d) that were checked already, in memory or mapped from a file: they are read without a copy."""

    array: F32 = field(repr=False)
    name: str


@dataclass(frozen=True)
class SharedVectors(ArrayRows):
    """Checked float32 rows `start` to `stop` of a file without a header. They are pickled as a path, and mapped."""

    path: Path
    dim: int
    start: int
    stop: int
    name: str

    @property
    def shape(self) -> tuple[int, int]:
        return self.stop - self.start, self.dim

    @property
    def array(self) -> F32:  # type: ignore[override]
        return np.asarray(np.memmap(self.path, np.float32, "r", 4 * self.dim * self.start, self.shape))

    def rows(self, start: int, stop: int) -> "SharedVectors":
        return replace(self, start=self.start + start, stop=self.start + stop)


@dataclass(frozen=True)
class StreamedVectors:
    """A file that can only be read from its beginning: `.npz` members and Parquet columns."""

    open_chunks: Callable[[], Chunks]
    shape: tuple[int, int]
    name: str

    def blocks(self, rows: int) -> Iterator[F32]:
        pending: list[F32] = []
        held = 0
        for _, chunk in self._checked_chunks():
            while held + len(chunk) >= rows:
                cut = rows - held
                yield np.concatenate([*pending, chunk[:cut]]) if pending else chunk[:cut]
                pending, held, chunk = [], 0, chunk[cut:]
            if len(chunk):
                pending.append(chunk)
                held += len(chunk)
        if held:
            yield np.concatenate(pending)

    def take(self, rows: I64) -> F32:
        taken = np.empty((len(rows), self.shape[1]), np.float32)
        for start, chunk in self._checked_chunks():
            inside = np.flatnonzero((rows >= start) & (rows < start + len(chunk)))
            taken[inside] = chunk[rows[inside] - start]
        return taken

    def _checked_chunks(self) -> Iterator[tuple[int, F32]]:
        start = 0
        for chunk in self.open_chunks():
            yield start, as_float32(chunk, self.name, start)
            start += len(chunk)


@dataclass(frozen=True)
class StackedVectors:
    """Several sources of one dimension, one after the other: shards, or [targets; target bank]."""

    parts: Sequence[VectorSource]
    name: str

    def __post_init__(self) -> None:
        first = self.parts[0]
        for part in self.parts[1:]:
            check_dim(part.shape[1], first.shape[1], part.name, first.name)

    @property
    def shape(self) -> tuple[int, int]:
        return sum(part.shape[0] for part in self.parts), self.parts[0].shape[1]

    def blocks(self, rows: int) -> Iterator[F32]:
        for part in self.parts:
            yield from part.blocks(rows)

    def take(self, rows: I64) -> F32:
        taken = np.empty((len(rows), self.shape[1]), np.float32)
        start = 0
        for part in self.parts:
            inside = np.flatnonzero((rows >= start) & (rows < start + part.shape[0]))
            if len(inside):  # a shard that is streamed would be read from end to end, for nothing
                taken[inside] = part.take(rows[inside] - start)
            start += part.shape[0]
        return taken


@dataclass(frozen=True)
class TakenVectors:
    """Some rows of a source that finds any row at once."""

    source: VectorSource
    rows: I64
    name: str

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), self.source.shape[1]

    def blocks(self, rows: int) -> Iterator[F32]:
        for start in range(0, len(self.rows), rows):
            yield self.source.take(self.rows[start : start + rows])

    def take(self, rows: I64) -> F32:
        return self.source.take(self.rows[rows])


def column_of(source: VectorSource, name: str) -> Any:
    """Return what a source has besides its rows (n, d), or some of them, such as `groups` (n,); None if it has not."""
    found = getattr(source, name, None)
    if found is None and isinstance(source, TakenVectors) and (known := column_of(source.source, name)) is not None:
        return known[source.rows]
    return found


class SelectedVectors(TakenVectors):
    """Some rows of any source, in ascending order of their numbers: it is read from end to end."""

    def blocks(self, rows: int) -> Iterator[F32]:
        start = 0
        for block in self.source.blocks(rows):
            low, high = np.searchsorted(self.rows, (start, start + len(block)))
            if high - low == len(block):
                yield block
            elif high > low:
                yield block[self.rows[low:high] - start]
            start += len(block)


@dataclass(frozen=True)
class ChangedVectors:
    """A source with its rows changed, each by itself, by a function of rows, the name, and the numbers of the rows."""

    source: VectorSource
    change: Callable[[F32, str, int | I64], F32]
    dim: int | None = None

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def shape(self) -> tuple[int, int]:
        count, dim = self.source.shape
        return count, self.dim or dim

    def blocks(self, rows: int) -> Iterator[F32]:
        start = 0
        for block in self.source.blocks(rows):
            yield self.change(block, self.name, start)
            start += len(block)

    def take(self, rows: I64) -> F32:
        return self.change(self.source.take(rows), self.name, rows)


def under_metric(source: VectorSource, metric: str, side: ComparedSide) -> VectorSource:
    """Return a source with its rows as they are compared under a metric, as targets or as queries."""
    made = comparison(metric)
    if made.ready or not made.lifted:
        return ChangedVectors(source, made.check)
    return ChangedVectors(source, partial(made.compared, side=side), made.width(source.shape[1]))


def plain_vectors(source: VectorSource, metric: str) -> VectorSource:
    """Return a source of compared vectors as they were before they were lifted."""
    made = comparison(metric)
    if not made.lifted:
        return source
    return ChangedVectors(source, lambda rows, *_: made.plain(rows), source.shape[1] - made.lifted)


def turned_vectors(source: VectorSource, metric: str, side: ComparedSide = OF_QUERIES) -> VectorSource:
    """Return a source of compared vectors as the other side is compared: targets as queries, or queries as targets."""
    made = comparison(metric)
    return ChangedVectors(source, lambda rows, *_: made.turned(rows, side)) if made.lifted else source


def rows_of(source: VectorSource, start: int, stop: int) -> VectorSource:
    """Return the rows of a source from one number up to another."""
    if stop - start == source.shape[0]:
        return source
    if isinstance(source, HeldVectors):
        return HeldVectors(source.array[start:stop], source.name)
    if isinstance(source, SharedVectors):
        return source.rows(start, stop)
    return TakenVectors(source, np.arange(start, stop), source.name)


def as_source(vectors: "VectorSource | ArrayLike", name: str) -> VectorSource:
    """Return the source itself, or an array (n, d) as one: anything that `hubless.vectors.arrays.as_array` takes."""
    if hasattr(vectors, "blocks") and not hasattr(vectors, "__array__"):  # arrays of dask and zarr have other blocks
        return cast(VectorSource, vectors)
    array = as_array(vectors, name)
    if array.ndim == 0 and not isinstance(vectors, np.ndarray):
        raise InputError(name, "an array or a source of vectors", type(vectors).__name__)
    if array.size == 0 or array.ndim != 2:
        raise InputError(name, "a matrix with at least one row", f"an array of shape {array.shape}")
    held_in_memory = not isinstance(array, np.memmap)
    return ArrayVectors(as_float32(array, name) if held_in_memory else array, name)


def in_memory(source: VectorSource) -> F32:
    """Return all rows of a source as one (n, d) array."""
    if isinstance(source, HeldVectors | SharedVectors):
        return source.array
    if isinstance(source, ArrayVectors) and source.array.dtype == np.float32:
        return as_float32(source.array, source.name)
    if isinstance(source, ChangedVectors) and source.change is short_rows:  # without a copy
        return short_rows(in_memory(source.source), source.name)
    return np.concatenate(list(source.blocks(block_rows(source.shape[1]))))


def mean_row(source: VectorSource) -> F64:
    """Return the mean (d,) of all rows."""
    total: F64 = np.zeros(source.shape[1])
    for block in source.blocks(block_rows(source.shape[1])):
        total += block.sum(axis=0, dtype=np.float64)
    return total / source.shape[0]


def sample(source: VectorSource, count: int, seed: int = 0) -> VectorSource:
    """Return the source itself if it has at most `count` rows, and else that many rows chosen at random, in memory."""
    if source.shape[0] <= count:
        return source
    return ArrayVectors(source.take(sampled_rows(source.shape[0], count, seed)), f"sample of {source.name}")


def sampled_rows(total: int, count: int, seed: int | list[int] = 0) -> I64:
    """Return the rows that `sample` takes of a source of `total` rows, ascending."""
    if total <= count:
        return np.arange(total)
    return np.sort(np.random.default_rng(seed).choice(total, count, replace=False))
