"""Lists that are alike: paraphrases of a query, and queries that want one item, told by what both find."""

import numpy as np

from hubless.corrections.folded.counted_once import BLOCK, OTHER, SAME
from hubless.corrections.folded.crowding import FEWEST_TARGETS, HALF, NEIGHBOURS
from hubless.corrections.folded.rising import rise
from hubless.kernels.sparse import Sparse
from hubless.kernels.threads import slices
from hubless.vectors.arrays import F64, I64


def weights_of_lists(matrix: Sparse, sample: Sparse, chosen: I64, offsets: F64, temperature: float, count: int) -> F64:
    """Return w_i = 1/Σ_k f(Σ_j √(p_ij·p_kj)), (b,): one over the lists that are like i, by a sample of all lists.

    p_ij ∝ exp((x_ij − h_j)/τ) over list i, with offsets h (n,), so that a hub does not make answers alike. The overlap
    of two is their Bhattacharyya coefficient; f rises from 0 at 0.2 to 1 at 0.5. `chosen` are the rows of this matrix
    that are in the sample; `count` is b of the whole log.
    """
    known = _answers(sample, offsets, temperature)
    alike = np.empty(matrix.height)
    for rows in slices(matrix.height, BLOCK):
        block = matrix.taken(np.arange(matrix.height)[rows])
        alike[rows] = rise(_answers(block, offsets, temperature).overlaps(known), OTHER, SAME).sum(axis=1)
    alike[chosen] -= 1  # itself
    weights: F64 = 1 / (1 + (count - 1) / max(sample.height - 1, 1) * np.maximum(alike, 0))
    return weights


def crowding_of_lists(sample: Sparse, offsets: F64) -> float:
    """Return how many of the 4 lists most like a list have the same first item, beyond what chance explains.

    Lists are alike by the other items that both have, so a list that shares the first item only is not. Else it is
    `hubless.corrections.folded.crowding`; 0 for fewer than 500 items.
    """
    count = sample.height
    if sample.width < FEWEST_TARGETS or count < 2:
        return 0.0
    lengths = sample.counts
    halves = sample.values - HALF * offsets[sample.columns]
    leading = np.flatnonzero(halves == np.repeat(np.maximum.reduceat(halves, sample.starts[:-1]), lengths))[::-1]
    first = np.empty(count, np.int64)
    first[sample.rows[leading]] = sample.columns[leading]  # backwards, so of equals the first stays
    others = np.where(sample.columns == np.repeat(first, lengths), 0.0, 1.0)
    flat = _of_length_one(sample, others)
    overlaps = flat.overlaps(flat)
    np.fill_diagonal(overlaps, -1)
    near = min(NEIGHBOURS, count - 1)
    nearest = np.argpartition(-overlaps, near - 1, axis=1)[:, :near]
    return float((first[nearest] == first[:, np.newaxis]).sum(axis=1).mean()) - (count - 1) / sample.width


def _answers(matrix: Sparse, offsets: F64, temperature: float) -> Sparse:
    """Return √p (b, n), sparse."""
    exponents = (matrix.values - offsets[matrix.columns]) / (2 * temperature)
    exponents -= np.repeat(np.maximum.reduceat(exponents, matrix.starts[:-1]), matrix.counts)
    return _of_length_one(matrix, np.exp(exponents))


def _of_length_one(matrix: Sparse, values: F64) -> Sparse:
    """Return values of the entries (e,) as a sparse matrix, each row scaled to length 1."""
    norms = np.sqrt(np.add.reduceat(values**2, matrix.starts[:-1]))
    return matrix._replace(values=values / np.repeat(np.where(norms > 0, norms, 1), matrix.counts))
