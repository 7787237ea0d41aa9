"""Nearest neighbours as scikit-learn has them, by a ranking that is corrected for hubness."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

import hubless
from hubless.kernels.reductions import top_k
from hubless.vectors.arrays import F64, I64
from hubless.vectors.comparing import Metric
from hubless.vectors.sources import ArrayVectors
from hubless_lab.rescorers.distances import distances_of


class CorrectedNeighbors(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # no types there
    """`kneighbors` and `transform` as those of `KNeighborsTransformer`, less the offset of each sample.

    Distances are √−2·(s − h) under metric euclidean, 1 − (s − h) under cosine, and at least 0.

    Parameters
    ----------
    n_neighbors : k
    metric : "cosine" or "euclidean"
    correction : a name in `hubless.CORRECTIONS` that folds into offsets
    query_bank : (b, d) example queries. By default the fitted samples, which "csls" corrects, and "auto" leaves
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        metric: Metric = "euclidean",
        correction: str = "auto",
        query_bank: ArrayLike | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.correction = correction
        self.query_bank = query_bank

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: N803
        """Take samples (n, d), and fit their offsets, `offsets_` (n,)."""
        samples = validate_data(self, X, dtype=np.float32, ensure_min_samples=2, copy=True)
        # far from the origin float32 holds no distances
        self._origin = samples.mean(axis=0) if self.metric == "euclidean" else np.float32(0)
        samples -= self._origin
        own = self.query_bank is None
        bank = samples if own else np.asarray(self.query_bank, np.float32) - self._origin
        self.offsets_ = hubless.offsets(
            samples, bank, metric=self.metric, correction=self.correction, bank_of_targets=own
        )
        self._folded = hubless.augment_targets(samples, self.offsets_, self.metric)
        return self

    def kneighbors(self, X: ArrayLike, n_neighbors: int | None = None) -> tuple[F64, I64]:  # noqa: N803
        """Return distances and rows (m, k) of the nearest samples."""
        check_is_fitted(self)
        queries = validate_data(self, X, dtype=np.float32, reset=False) - self._origin
        asked = hubless.augment_queries(queries, metric=self.metric)
        k = min(n_neighbors or self.n_neighbors, len(self._folded))
        _, rows = top_k(asked, ArrayVectors(self._folded, "samples"), k)
        # a product of many queries at once has other last digits than that of one
        scores = np.einsum("md,mkd->mk", asked.astype(np.float64), self._folded[rows])
        return np.maximum(distances_of(scores, self.metric), 0), rows

    def transform(self, X: ArrayLike) -> csr_matrix:  # noqa: N803
        """Return a graph (m, n) of the distances to the nearest samples."""
        distances, rows = self.kneighbors(X)
        starts = np.arange(0, rows.size + 1, rows.shape[1])
        return csr_matrix((distances.ravel(), rows.ravel(), starts), (len(rows), len(self._folded)))
