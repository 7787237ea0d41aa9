"""Similarities of a model that gives scores and no vectors, such as a cross-encoder, as input of the lab.

In the basis of the targets, a target is a unit vector and a query is its row of similarities. Products of these are the
similarities as they were given, so all code for vectors works on them, unchanged and exactly.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hubless.corrections import CORRECTIONS, Correction, FittedCorrection, Rows
from hubless.corrections.folded.auto import SAMPLE, shrunk
from hubless.corrections.folded.sinkhorn import DualBankSinkhorn, SinkhornNormalisation
from hubless.corrections.prior import TargetPrior
from hubless.corrections.prior import fit as fit_correction
from hubless.errors import InputError, one_line, storage_errors
from hubless.lab.pickles import read_pickle
from hubless.vectors.arrays import F32
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.npy import NpyVectors
from hubless.vectors.sources import (
    ArrayVectors,
    VectorSource,
    as_source,
    block_rows,
    in_memory,
    sample,
    sampled_rows,
)

QUERIES, BANK, TARGET_BANK = "similarities", "bank similarities", "target bank similarities"
"""Names of the matrices in errors."""
AUTO_NOTE = "auto: without vectors it takes no topic of a narrow bank out of the offsets"
COMPARE_TARGETS = ("dual_is", "dual_dis")
"""Corrections that compare the target bank with the targets, and not with the bank queries."""


@dataclass(frozen=True)
class SimilarityMatrices:
    """Similarities in place of vectors. Each matrix is a file or an array; `.npy` is memory-mapped.

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
        held = {name: _held(source) for name, source in sources.items()}
        return OpenMatrices(*(held.get(name) for name in given))


@dataclass(frozen=True)
class OpenMatrices:
    """Similarities that fit each other, of float32. A `.npy` of float32 stays in its file."""

    queries: F32 | None
    bank: F32 | None
    target_bank: F32 | None

    @property
    def targets(self) -> int:
        """Number of targets, n."""
        first = self.queries if self.queries is not None else self.bank
        return 0 if first is None else first.shape[1]

    def target_vectors(self) -> F32:
        """Return the targets as unit vectors: (n, n), or (n, n + g) with a target bank."""
        return unit_basis(self._dim)[: self.targets]

    def bank_vectors(self) -> F32 | None:
        """Return the bank queries as rows of similarities: (b, n), or (b, n + g) with a target bank."""
        if self.bank is None or self.target_bank is None:
            return self.bank
        return np.concatenate([self.bank, self.target_bank], axis=1)

    def target_bank_vectors(self) -> F32 | None:
        """Return the target bank as unit vectors, (g, n + g); None without one."""
        return None if self.target_bank is None else unit_basis(self._dim)[self.targets :]

    def bank_sources(self) -> tuple[VectorSource, VectorSource | None]:
        """Return query bank and target bank as sources; without a bank the queries are the bank."""
        bank, extra = self.bank_vectors(), self.target_bank_vectors()
        bank = self.queries if bank is None else bank
        if bank is None:
            raise InputError(BANK, "a matrix, bank queries × targets", "none")
        return ArrayVectors(bank, BANK), None if extra is None else ArrayVectors(extra, "target bank")

    @property
    def _dim(self) -> int:
        return self.targets + (0 if self.target_bank is None else self.target_bank.shape[1])


@dataclass(frozen=True)
class Vectorless:
    """A correction that is fitted on rows of similarities.

    `auto` then takes no topic of a narrow bank out of the offsets: a topic is a direction among the targets' vectors.
    """

    correction: Correction

    takes_prior = True

    def fit(
        self,
        query_bank: Rows,
        targets: Rows,
        target_bank: Rows | None = None,
        target_prior: TargetPrior | None = None,
    ) -> FittedCorrection:
        """Fit it with how often each target should be found."""
        name = next((name for name, kind in CORRECTIONS.items() if kind is type(self.correction)), "")
        if name == "auto":
            return _fit_auto(query_bank, targets, target_bank, target_prior)
        if name in COMPARE_TARGETS:
            raise InputError("queries", f"vectors, as {name} compares the target bank with the targets", "similarities")
        return fit_correction(self.correction, query_bank, targets, target_bank, target_prior)


def unit_basis(dim: int) -> F32:
    """Return the unit vectors of a space, (d, d): a view that takes memory for two rows."""
    line = np.zeros(2 * dim - 1, np.float32)
    line[dim - 1] = 1
    return np.lib.stride_tricks.sliding_window_view(line, dim)[::-1]


def _fit_auto(
    query_bank: Rows, targets: Rows, target_bank: Rows | None, target_prior: TargetPrior | None
) -> FittedCorrection:
    method = SinkhornNormalisation() if target_bank is None else DualBankSinkhorn()
    fitted = method.fit(query_bank, targets, target_bank, target_prior)
    source = as_source(targets, "targets")
    some = sample(source, SAMPLE)
    offsets = fitted.offsets(some).astype(np.float64) - fitted.level
    if target_prior is not None:
        offsets += fitted.of_prior(target_prior.taken(sampled_rows(source.shape[0], SAMPLE)).values)
    careful = shrunk(fitted, some, offsets)
    why = (
        f"{'no' if target_bank is None else 'a'} target bank was given; temperature {fitted.temperature:.4g}; "
        f"{careful.extra['why']}; without vectors no topic of the bank is taken out"
    )
    return replace(careful, extra=careful.extra | {"chosen": "sn" if target_bank is None else "dbsn", "why": why})


def _check_shapes(shapes: dict[str, tuple[int, int]]) -> None:
    reference = QUERIES if QUERIES in shapes else BANK
    if reference not in shapes:
        raise InputError(QUERIES, "a matrix, queries × targets", "none")
    columns = shapes[reference][1]
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
    """Return a matrix. A `.pkl` may hold a NumPy array, and nothing else."""
    if not isinstance(matrix, str | Path) or Path(matrix).suffix != ".pkl":
        return as_items(matrix, name).vectors
    path = Path(matrix)
    with storage_errors(path):
        try:
            return as_source(read_pickle(path), name)
        except ValueError as error:
            raise InputError(f"{name} ({path.name})", "a pickled NumPy array", one_line(error)) from error


def _held(source: VectorSource) -> F32:
    """Return all of a matrix. Float32 in a file stays there, once all of it was found to be finite."""
    array: F32
    if isinstance(source, NpyVectors) and source.dtype == np.float32:
        array = np.memmap(source.path, source.dtype, "r", source.start, source.shape)
    elif isinstance(source, ArrayVectors) and source.array.dtype == np.float32 and source.array.flags.c_contiguous:
        array = source.array
    else:
        return in_memory(source)
    for _ in source.blocks(block_rows(source.shape[1])):
        pass  # reading a block checks it
    return array
