"""Similarities of a model that gives scores and no vectors, such as a cross-encoder, as input of the lab.

In the basis of the targets, a target is a unit vector and a query is its row of similarities. Products of these are the
similarities as they were given, so that all that is written for vectors works on them, unchanged and exactly.
"""

from dataclasses import dataclass

import numpy as np

from hubless.errors import InputError
from hubless.vectors.arrays import F32, F64
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.npy import NpyVectors
from hubless.vectors.sources import ArrayVectors, VectorSource, block_rows, in_memory

QUERIES, BANK, TARGET_BANK, BETWEEN = (
    "similarities",
    "bank similarities",
    "target bank similarities",
    "similarities between targets",
)
"""What errors call the matrices."""
DOUBTFUL = 0.5
"""Targets that queries find similar are those that bank queries find similar. A correlation of this much tells."""


@dataclass(frozen=True)
class SimilarityMatrices:
    """Similarities in place of vectors. Each matrix is a file or an array, as vectors are; `.npy` is memory-mapped.

    Parameters
    ----------
    queries : (m, n) of the labelled queries with the targets
    bank : (b, n) of the bank queries with the targets
    target_bank : (b, g) of the bank queries with the target bank, for `dbsn` and `auto`
    between : (g, n) of the target bank with the targets, for `dual_is` and `dual_dis`; under the strict protocol
        (n, n), of the targets with each other
    """

    queries: Vectors | None = None
    bank: Vectors | None = None
    target_bank: Vectors | None = None
    between: Vectors | None = None

    def open(self) -> "OpenMatrices":
        """Read and check them.

        Raises
        ------
        InputError, NotFinite
            naming the matrix that does not fit the others, is transposed, or holds what is no finite number.
        """
        given = {QUERIES: self.queries, BANK: self.bank, TARGET_BANK: self.target_bank, BETWEEN: self.between}
        sources = {name: as_items(matrix, name).vectors for name, matrix in given.items() if matrix is not None}
        _check_shapes({name: source.shape for name, source in sources.items()})
        held = {name: _held(source) for name, source in sources.items()}
        return OpenMatrices(*(held.get(name) for name in given))


@dataclass(frozen=True)
class OpenMatrices:
    """Similarities that fit each other, of float32; those of a `.npy` of float32 stay in the file."""

    queries: F32 | None
    bank: F32 | None
    target_bank: F32 | None
    between: F32 | None

    @property
    def targets(self) -> int:
        """Number of targets, n."""
        first = self.queries if self.queries is not None else self.bank
        return 0 if first is None else first.shape[1]

    def target_vectors(self) -> F32:
        """The targets as unit vectors: (n, n), or (n, n + g) with a target bank."""
        return unit_basis(self._dim)[: self.targets]

    def bank_vectors(self) -> F32 | None:
        """The bank queries as rows of similarities: (b, n), or (b, n + g) with a target bank."""
        if self.bank is None or self.target_bank is None:
            return self.bank
        return np.concatenate([self.bank, self.target_bank], axis=1)

    def target_bank_vectors(self) -> F32 | None:
        """The target bank as unit vectors, (g, n + g); None without one."""
        return None if self.target_bank is None else unit_basis(self._dim)[self.targets :]

    def doubts(self) -> list[str]:
        """What is likely to be wrong where shapes cannot tell: square similarities that are transposed."""
        if self.queries is None or self.bank is None or self.queries.shape[0] != self.queries.shape[1]:
            return []
        sides = ((self.bank, 0), (self.queries, 0), (self.queries, 1))
        by_bank, by_column, by_row = (matrix.sum(axis, dtype=np.float64) for matrix, axis in sides)
        if _correlation(by_bank, by_row) > DOUBTFUL > 2 * _correlation(by_bank, by_column):
            return [f"{QUERIES} look transposed: rows are queries and columns are targets, as in {BANK}"]
        return []

    @property
    def _dim(self) -> int:
        return self.targets + (0 if self.target_bank is None else self.target_bank.shape[1])


def unit_basis(dim: int) -> F32:
    """The unit vectors of a space, (d, d): a view that takes memory for one row and a bit."""
    line = np.zeros(2 * dim - 1, np.float32)
    line[dim - 1] = 1
    return np.lib.stride_tricks.sliding_window_view(line, dim)[::-1]


def _check_shapes(shapes: dict[str, tuple[int, int]]) -> None:
    reference = QUERIES if QUERIES in shapes else BANK
    if reference not in shapes:
        raise InputError(QUERIES, "a matrix, queries × targets", "none")
    columns = shapes[reference][1]
    for name in (BANK, BETWEEN):
        if name in shapes:
            rows = "bank queries" if name == BANK else "the target bank"
            _check_side(name, shapes[name], 1, columns, f"a column for each of the {columns} targets; rows are {rows}")
    if TARGET_BANK in shapes:
        if BANK not in shapes:
            raise InputError(TARGET_BANK, f"none without {BANK}", "some")
        expected = f"a row for each of the {shapes[BANK][0]} bank queries; columns are the target bank"
        _check_side(TARGET_BANK, shapes[TARGET_BANK], 0, shapes[BANK][0], expected)
    if TARGET_BANK in shapes and BETWEEN in shapes:
        count = shapes[TARGET_BANK][1]
        expected = f"a row for each of the {count} targets of the target bank; columns are the targets"
        _check_side(BETWEEN, shapes[BETWEEN], 0, count, expected)


def _check_side(name: str, shape: tuple[int, int], side: int, wanted: int, expected: str) -> None:
    if shape[side] == wanted:
        return
    hint = ": it looks transposed" if shape[1 - side] == wanted else ""
    raise InputError(name, expected, f"shape {shape}{hint}")


def _held(source: VectorSource) -> F32:
    """All of a matrix; float32 in a file stays there, once all of it was found to be finite."""
    array = _mapped(source)
    if array is None:
        return in_memory(source)
    for _ in source.blocks(block_rows(source.shape[1])):
        pass  # reading a block checks it
    return array


def _mapped(source: VectorSource) -> F32 | None:
    """The matrix in its file, or as it was given; None if it has to be converted."""
    if isinstance(source, NpyVectors) and source.dtype == np.float32:
        return np.memmap(source.path, source.dtype, "r", source.start, source.shape)
    if isinstance(source, ArrayVectors) and source.array.dtype == np.float32 and source.array.flags.c_contiguous:
        return source.array
    return None


def _correlation(first: F64, second: F64) -> float:
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])
