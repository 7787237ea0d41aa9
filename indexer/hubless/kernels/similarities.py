"""Similarities of bank and targets for repeated log-sum-exps over both sides, as Sinkhorn needs them.

A small matrix is kept as exponentials if float32 holds them: then a log-sum-exp is a matrix-vector product. Any other
matrix is computed anew in each pass.
"""

from dataclasses import dataclass

import numpy as np

from hubless.kernels.coupling import coupled_sums
from hubless.kernels.reductions import MOST_SPREAD
from hubless.kernels.streaming import BANK_ROWS, STRIP_SIZE
from hubless.kernels.threads import cores, in_parallel, slices
from hubless.vectors.arrays import F32, F64
from hubless.vectors.sources import VectorSource, in_memory

KEEP_BYTES = 512 * 2**20
"""The largest matrix that is kept."""
FACTORS_SIZE = 2**20
"""Factors that a core reduces at once. Each is little work, so the pieces are larger."""
STEP_SIZE = 2**17
"""Factors that are read for one sum and then, still in the cache, for the other."""


def similarities(bank: VectorSource, targets: VectorSource, temperature: float) -> "Factors | Recomputed":
    """Return the similarities of bank (b, d) and targets (n, d), divided by τ, in the form that fits.

    Each form has `step`: r_i = LSE_j(q_i·t_j/τ + c_j) for each bank query, and then LSE_i(q_i·t_j/τ + log u_i − r_i)
    for each target, with weights u (b,) or without.
    """
    if 4 * bank.shape[0] * targets.shape[0] > KEEP_BYTES:
        return Recomputed(bank, targets, temperature)
    matrix = products(bank, targets)
    of_bank = matrix.max(axis=1)
    of_targets = _most_above(matrix, of_bank)
    recomputed = Recomputed(bank, targets, temperature)
    if np.ptp(of_targets) > MOST_SPREAD * temperature:
        return recomputed
    _exponentiate(matrix, of_bank, of_targets, temperature)
    return Factors(
        matrix,
        of_bank.astype(np.float64) / temperature,
        of_targets.astype(np.float64) / temperature,
        recomputed,
    )


def rows_kept(targets: int) -> int:
    """Return the most bank queries for which the matrix with this number of targets is kept."""
    return max(2, KEEP_BYTES // (4 * targets))


@dataclass(frozen=True)
class Factors:
    """exp(S_ij/τ − u_i − v_j), (b, n): each row and column has a 1 and nothing larger.

    u and v are added to the potentials, whose sums spread little in Sinkhorn. If they spread too far, `exact` answers.
    """

    factors: F32
    of_bank: F64
    of_targets: F64
    exact: "Recomputed"

    def step(self, potentials: F64, query_weights: F64 | None = None) -> tuple[F64, F64]:
        """Return the log-sums over the targets (b,), and from them those over the bank (n,): one step of Sinkhorn."""
        exponents = potentials + self.of_targets
        if np.ptp(exponents) > MOST_SPREAD:
            return self.exact.step(potentials, query_weights)
        shift = float(exponents.max())
        weights = np.exp(exponents - shift).astype(np.float32)
        count, columns = self.factors.shape
        total = np.empty(count, np.float32)
        counted = np.ones(count, np.float32) if query_weights is None else query_weights.astype(np.float32)
        rows_each = max(1, FACTORS_SIZE // columns)
        parts = np.zeros((-(-count // rows_each), columns), np.float32)

        def sum_up(rows: slice) -> None:
            part = parts[rows.start // rows_each]
            for some in slices(rows.stop - rows.start, max(1, STEP_SIZE // columns)):
                here = slice(rows.start + some.start, rows.start + some.stop)
                total[here] = self.factors[here] @ weights
                # each row has a 1, so no total is below exp(−MOST_SPREAD)
                part += (counted[here] / total[here]) @ self.factors[here]

        in_parallel(sum_up, count, rows_each)
        over_bank: F64 = np.log(parts.sum(axis=0, dtype=np.float64)) - shift + self.of_targets
        return np.log(total.astype(np.float64)) + shift + self.of_bank, over_bank


def _most_above(matrix: F32, of_bank: F32) -> F32:
    """Return max_i(S_ij − u_i) of each column j."""
    strip_rows = _strip_rows(matrix)
    parts = np.empty((-(-len(matrix) // strip_rows), matrix.shape[1]), np.float32)

    def reduce(rows: slice) -> None:
        (matrix[rows] - of_bank[rows, np.newaxis]).max(axis=0, out=parts[rows.start // strip_rows])

    in_parallel(reduce, len(matrix), strip_rows)
    most: F32 = parts.max(axis=0)
    return most


def _exponentiate(matrix: F32, of_bank: F32, of_targets: F32, temperature: float) -> None:
    """Replace the similarities by exp((S_ij − u_i − v_j)/τ)."""
    scale = np.float32(1 / temperature)

    def exponentiate(rows: slice) -> None:
        strip = matrix[rows]
        strip -= of_bank[rows, np.newaxis]
        strip -= of_targets
        strip *= scale
        np.exp(strip, out=strip)

    in_parallel(exponentiate, len(matrix), _strip_rows(matrix))


@dataclass(frozen=True)
class Recomputed:
    """Similarities S_ij, computed from the vectors in each pass."""

    bank: VectorSource
    targets: VectorSource
    temperature: float

    def step(self, potentials: F64, query_weights: F64 | None = None) -> tuple[F64, F64]:
        return coupled_sums(self.targets, self.bank, self.temperature, potentials, query_weights)


def products(bank: VectorSource, targets: VectorSource) -> F32:
    """Return the products (b, n) of all of a bank (b, d) and of targets (n, d)."""
    matrix = np.empty((bank.shape[0], targets.shape[0]), np.float32)
    columns = in_memory(targets).T
    done = 0
    for block in bank.blocks(BANK_ROWS):

        def multiply(rows: slice, block: F32 = block, done: int = done) -> None:
            np.matmul(block[rows], columns, out=matrix[done + rows.start : done + rows.stop])

        in_parallel(multiply, len(block), -(-len(block) // cores()))
        done += len(block)
    return matrix


def _strip_rows(matrix: F32) -> int:
    return max(1, STRIP_SIZE // int(matrix.shape[1]))
