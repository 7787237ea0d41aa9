"""`ls` and `nicdm`: distances divided by how far a target is from the bank queries nearest to it."""

from dataclasses import dataclass

import numpy as np

from hubless.corrections.base import BankKept, Rows, SeesVectors, check_banks, targets_beside
from hubless.corrections.query_time import Candidates, StoredFields
from hubless.errors import InputError
from hubless.kernels.reductions import top_k_similarities
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64, check_at_least
from hubless.vectors.comparing import COSINE
from hubless_lab.rescorers.distances import distances_of, similarities_of

SMALLEST_DISTANCE = 1e-6
"""A target that lies upon a bank query is taken to be this far from it."""


@dataclass(frozen=True)
class ScaledDistances(StoredFields):
    """The similarity of D·w, with w = √(typical radius / radius of the target): below 1 for what is far from all.

    A typical target keeps its s. D is 1 − s, and |q − t| under metric euclidean.
    """

    weights: F32
    metric: str = COSINE

    def scores(self, query: F32, candidates: Candidates) -> F64:
        distances = distances_of(candidates.similarities.astype(np.float64), self.metric)
        return similarities_of(distances * self.weights[candidates.rows], self.metric)


@dataclass(frozen=True, repr=False)
class FittedLocalScaling(BankKept):
    """The radius of a target: the distance of its k-th nearest bank query, or the mean distance of the k nearest."""

    k: int
    mean: bool
    metric: str = COSINE

    def query_time(self, targets: Rows, advance: Advance = no_progress) -> ScaledDistances:
        nearest = top_k_similarities(self.bank, targets_beside(self.bank, targets), self.k, advance)
        distances = distances_of(nearest.astype(np.float64), self.metric)
        radii = distances.mean(axis=1) if self.mean else distances.max(axis=1)
        if radii.min() < -SMALLEST_DISTANCE:
            received = f"{1 - radii.min():.4g}"
            raise InputError(
                "similarities", "at most 1, as distances are 1 − s: take metric cosine or euclidean", received
            )
        radii = np.maximum(radii, SMALLEST_DISTANCE)
        typical = np.exp(np.log(radii).mean())
        return ScaledDistances(np.sqrt(typical / radii).astype(np.float32), self.metric)


@dataclass(frozen=True)
class LocalScaling(SeesVectors):
    """Local scaling: ranks by 1 − exp(−D²/(r(q)·r(t))), with D = 1 − s and r(t) the k-th smallest D to the bank.

    r(q) is the same for all targets of a query; D/√r(t) ranks alike. Under metric euclidean D is |q − t|. k is 5 in
    scikit-hubness and kiez. Similarities above 1, as under metric dot, are refused. Source: Schnitzer et al., "Local
    and Global Scaling Reduce Hubs in Space", JMLR 2012.
    """

    k: int = 10
    fitted = FittedLocalScaling
    live = ScaledDistances
    _mean = False

    def __post_init__(self) -> None:
        check_at_least("k", self.k, 1)

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedLocalScaling:
        bank, _, _ = check_banks(query_bank, targets, target_bank, self.k, f"as k is {self.k}")
        return FittedLocalScaling(bank, int(self.k), self._mean, self.metric)


@dataclass(frozen=True)
class Nicdm(LocalScaling):
    """Non-iterative contextual dissimilarity: ranks by D/√(r(q)·r(t)), r(t) the mean of the k smallest D to the bank.

    Source: Jégou et al., "A Contextual Dissimilarity Measure for Accurate and Efficient Image Search", CVPR 2007;
    Schnitzer et al., JMLR 2012; scikit-hubness, `LocalScaling(method="nicdm")`.
    """

    _mean = True
