"""`dissimlocal`: how near a target is to the mean of the bank queries around it."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from hubless.corrections.base import BankKept, Rows, SeesVectors, check_banks, targets_beside
from hubless.kernels.reductions import top_k
from hubless.kernels.sharding import is_sharded, over_shards
from hubless.kernels.threads import slices
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, check_at_least
from hubless.vectors.comparing import COSINE, comparison
from hubless.vectors.sources import ArrayVectors, VectorSource, block_rows, in_memory

CENTRES_HELD = 256
"""Targets whose neighbours are in memory at once."""


@dataclass(frozen=True, repr=False)
class FittedLocalCentres(BankKept):
    """h(t) = t·c − ½|c|², c the mean of the k bank queries that are most similar to t; −½|t − c|² by distance."""

    k: int
    metric: str = COSINE

    def offsets(self, targets: Rows, advance: Advance = no_progress) -> F32:
        source = targets_beside(self.bank, targets)
        work = partial(_nearness, in_memory(self.bank), self.k, self.metric)
        if is_sharded(source):
            return np.concatenate(over_shards(source, work, advance=advance))
        return work(source, advance)


def _nearness(bank: F32, k: int, metric: str, targets: VectorSource, advance: Advance = no_progress) -> F32:
    """Return ½|t|² − ½|t − c|² of each target (n,): the distance from its centre, less what s does not have of it."""
    found = np.empty(targets.shape[0], np.float32)
    done = 0
    made = comparison(metric)
    for block in targets.blocks(block_rows(targets.shape[1])):
        _, rows = top_k(block, ArrayVectors(bank, "query bank"), k)
        for part in slices(len(block), CENTRES_HELD):
            centres = bank[rows[part]].mean(axis=1, dtype=np.float64)
            if made.lifted:
                near = np.einsum("ij,ij->i", block[part], made.turned(centres.astype(np.float32)))
            else:
                products = np.einsum("ij,ij->i", block[part], centres)
                near = products - np.einsum("ij,ij->i", centres, centres) / 2
            found[done + part.start : done + part.stop] = near
        done += len(block)
        advance(len(block))
    return found


@dataclass(frozen=True)
class DisSimLocal(SeesVectors):
    """DisSimLocal: ranks by |q−t|² − |q−c(q)|² − |t−c(t)|², c the mean of the k nearest of the other side.

    q's own term is the same for all targets, so −½ of it is s − h(t) but for a constant a query, and folds. k is 5 in
    scikit-hubness. Source: Hara et al., "Flattening the Density Gradient for Eliminating Spatial Centrality to Reduce
    Hubness", AAAI 2016.
    """

    k: int = 10

    def __post_init__(self) -> None:
        check_at_least("k", self.k, 1)

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedLocalCentres:
        bank, _, _ = check_banks(query_bank, targets, target_bank, self.k, f"as k is {self.k}")
        return FittedLocalCentres(bank, int(self.k), self.metric)
