"""Sinkhorn on a matrix of lists × items that is 0 but for the items of each list: heights x ≥ 0 over the list's floor.

Of a list only its entries are known; all other items lie at its floor, which is 0 here. So a sum over a row or a column
is that of a constant and of its entries: a step of Sinkhorn costs one product of a sparse matrix with a vector.
"""

from dataclasses import dataclass

import numpy as np

from hubless.kernels.sparse import Sparse
from hubless.vectors.arrays import F64, I64
from hubless.vectors.sources import sampled_rows

MOST_EXPONENT = 500.0
"""The largest x/τ: potentials then lie within so many nats of each other, and all sums fit float64."""
SAMPLED_ENTRIES = 2**22
"""So many entries tell the perplexity of a temperature."""


def list_potentials(matrix: Sparse, temperature: float, iterations: int, weights: F64 | None = None) -> tuple[F64, F64]:
    """Return log-potentials a (b,) of lists, and τ·LSE_i(x_ij/τ + a_i) of items (n,), by Sinkhorn.

    From c = 0: a_i = log r_i − LSE_j(x_ij/τ + c_j), v_j = LSE_i(x_ij/τ + a_i), c_j = −log n − v_j, so many times. With
    E = exp(x/τ) − 1, which is 0 off the lists, LSE_j is log(Σ_j exp c_j + Σ_j E_ij·exp c_j), and likewise over lists.
    `weights` (b,): how much each list counts, r = w/Σw; None for alike. The temperature is at least max(x)/500.
    """
    excess = matrix.values.astype(np.float64)
    excess /= temperature
    np.expm1(excess, out=excess)
    entries = matrix._replace(values=excess)
    share = np.full(matrix.height, -np.log(matrix.height)) if weights is None else np.log(weights / weights.sum())
    a = share
    v = np.zeros(matrix.width)
    for _ in range(iterations):
        top = -v.min()
        items = np.exp(-v - top)
        a = share - np.log(items.sum() + entries.times(items)) - top + np.log(matrix.width)
        most = a.max()
        of_lists = np.exp(a - most)
        v = np.log(of_lists.sum() + entries.turned_times(of_lists)) + most
    return a, temperature * v


@dataclass(frozen=True)
class ListEntropy:
    """Heights of some items, sorted by item: where each begins, how many lists have it, of b lists."""

    heights: F64
    begins: I64
    counts: I64
    lists: int

    @classmethod
    def of(cls, matrix: Sparse) -> "ListEntropy":
        """Take a sample of the items that some list has."""
        found = matrix.found()
        seen = np.flatnonzero(found)
        most = max(int(SAMPLED_ENTRIES * len(seen) / max(len(matrix.columns), 1)), 1)
        chosen = seen[sampled_rows(len(seen), most)]
        among = np.zeros(matrix.width, np.bool_)
        among[chosen] = True
        taken = among[matrix.columns]
        counts = found[chosen]
        order = np.argsort(matrix.columns[taken], kind="stable")
        sorted_heights = matrix.values[taken][order].astype(np.float64)
        return cls(sorted_heights, np.cumsum(counts) - counts, counts, matrix.height)

    def __call__(self, temperature: float) -> float:
        """Return the mean entropy, in nats, of the softmax over all lists, p_i ∝ exp(x_ij/τ), of each item."""
        exponents = self.heights / temperature
        most = np.maximum.reduceat(exponents, self.begins)
        weights = np.exp(exponents - np.repeat(most, self.counts))
        floors = (self.lists - self.counts) * np.exp(-most)
        total = np.add.reduceat(weights, self.begins) + floors
        expected = np.add.reduceat(weights * exponents, self.begins) / total
        return float((np.log(total) + most - expected).mean())

    def spread(self) -> float:
        """Return the mean over the items of the standard deviation of their heights over all lists."""
        mean = np.add.reduceat(self.heights, self.begins) / self.lists
        squares = np.add.reduceat(self.heights**2, self.begins) / self.lists
        return float(np.sqrt(np.maximum(squares - mean**2, 0)).mean())
