"""Similarities of a model that gives scores and no vectors, such as a cross-encoder, as input of the lab.

A target is a unit vector and a query its row of similarities: their products are the similarities, exactly.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hubless.corrections import Correction
from hubless.corrections.folded.auto import Auto
from hubless.corrections.folded.bank_index import FLAT
from hubless.corrections.folded.dual_softmax import DualInvertedSoftmax
from hubless.corrections.gated.dual_dis import DualDynamicInvertedSoftmax
from hubless.errors import InputError, one_line, storage_errors
from hubless.vectors.arrays import F32
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.readers.pickles import read_pickle
from hubless.vectors.sources import VectorSource, as_source, in_memory

QUERIES, BANK, TARGET_BANK = "similarities", "bank similarities", "target bank similarities"
AUTO_NOTE = "auto: without vectors it takes no topic of a narrow bank out of the offsets"


@dataclass(frozen=True)
class SimilarityMatrices:
    """Similarities in place of vectors. Each matrix is a file or an array.

    Parameters
    ----------
    queries : (m, n) of the labelled queries with the targets
    bank : (b, n) of the bank queries with the targets
    target_bank : (b, g) of the bank queries with the target bank, for `dbsn` and `auto`
    """

    queries: Vectors | None = None
    bank: Vectors | None = None
    target_bank: Vectors | None = None

    def open(self) -> "OpenMatrices":
        """Read and check them."""
        given = {QUERIES: self.queries, BANK: self.bank, TARGET_BANK: self.target_bank}
        sources = {name: _opened(matrix, name) for name, matrix in given.items() if matrix is not None}
        _check_shapes({name: source.shape for name, source in sources.items()})
        held = {name: in_memory(source) for name, source in sources.items()}
        return OpenMatrices(held[QUERIES], held.get(BANK), held.get(TARGET_BANK))


@dataclass(frozen=True)
class OpenMatrices:
    """Similarities that fit each other, of float32. In `own` bank queries a target is kept from standing for itself."""

    queries: F32
    bank: F32 | None
    target_bank: F32 | None
    own: int = 0

    def vectors(self) -> tuple[F32, F32 | None, F32 | None]:
        """Return targets and target bank as unit vectors, and the bank queries as rows of similarities, (·, n + g)."""
        count = self.queries.shape[1]
        bank = self.bank
        if bank is None or self.target_bank is None:
            return unit_basis(count), bank, None
        basis = unit_basis(count + self.target_bank.shape[1])
        return basis[:count], np.concatenate([bank, self.target_bank], axis=1), basis[count:]


class _AutoWithoutVectors(Auto):
    sees_vectors = False


def vectorless(correction: Correction) -> Correction:
    """Return a correction as it is fitted on similarities: `auto` without a topic, which is a direction of vectors.

    Raises `InputError` for one that needs vectors.
    """
    if isinstance(correction, DualInvertedSoftmax | DualDynamicInvertedSoftmax):
        raise InputError(
            "queries", "vectors, as this correction compares the target bank with the targets", "similarities"
        )
    if getattr(correction, "bank_index", FLAT) != FLAT:
        raise InputError("bank_index", f"{FLAT} with similarities, as the others are indexes over vectors", "another")
    return _AutoWithoutVectors() if isinstance(correction, Auto) else correction


def unit_basis(dim: int) -> F32:
    """Return the unit vectors of a space, (d, d): a view that takes memory for two rows."""
    line = np.zeros(2 * dim - 1, np.float32)
    line[dim - 1] = 1
    return np.lib.stride_tricks.sliding_window_view(line, dim)[::-1]


def _check_shapes(shapes: dict[str, tuple[int, int]]) -> None:
    if QUERIES not in shapes:
        raise InputError(QUERIES, "a matrix, queries × targets", "none")
    columns = shapes[QUERIES][1]
    _check_side(shapes, BANK, 1, columns, f"a column for each of the {columns} targets; rows are bank queries")
    if TARGET_BANK not in shapes:
        return
    if BANK not in shapes:
        raise InputError(TARGET_BANK, f"none without {BANK}", "some")
    queries = shapes[BANK][0]
    _check_side(
        shapes, TARGET_BANK, 0, queries, f"a row for each of the {queries} bank queries; columns are the target bank"
    )


def _check_side(shapes: dict[str, tuple[int, int]], name: str, side: int, wanted: int, expected: str) -> None:
    shape = shapes.get(name)
    if shape is not None and shape[side] != wanted:
        hint = ": it looks transposed" if shape[1 - side] == wanted else ""
        raise InputError(name, expected, f"shape {shape}{hint}")


def _opened(matrix: Vectors, name: str) -> VectorSource:
    if not isinstance(matrix, str | Path) or Path(matrix).suffix != ".pkl":
        return as_items(matrix, name).vectors
    path = Path(matrix)
    with storage_errors(path):
        try:
            return as_source(read_pickle(path), name)
        except ValueError as error:
            raise InputError(f"{name} ({path.name})", "a pickled NumPy array", one_line(error)) from error
