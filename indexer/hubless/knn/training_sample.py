"""Train indexes of the same targets on one sample: directions, centroids and codes are learnt once for all of them."""

from dataclasses import dataclass, field

import faiss
import numpy as np

from hubless.kernels.forks import cached_property
from hubless.knn.augment import Columns
from hubless.knn.exhaustive import openmp_threads
from hubless.knn.leading import leading_directions
from hubless.vectors.arrays import F32, F64

CODED_TOGETHER = 4
"""Dimensions that share a code where none is known to be the offset: then they are not turned."""
BITS = 4
K_MEANS_ROUNDS = 10
RIDGE = 1.0
"""Weight of the ridge, in mean squares of a coordinate of the queries together."""


def innermost(index: faiss.Index) -> faiss.Index:
    """Return what is below transforms and stored vectors."""
    known = faiss.downcast_index(index)
    inner = getattr(known, "base_index", getattr(known, "index", None))
    return known if inner is None else innermost(inner)


@dataclass(frozen=True)
class TrainingSample:
    """Targets (m, d') to train on, and the columns that hold their vectors and folded offsets; None without these.

    `queries` (b, d') are some of the bank, which say how queries find lists.
    """

    vectors: F32
    columns: Columns | None
    seed: int = 0
    queries: F32 | None = None
    _centroids: dict[int, F32] = field(default_factory=dict, init=False, repr=False)
    _guides: dict[int, F32] = field(default_factory=dict, init=False, repr=False)
    _codebooks: dict[bool, faiss.ProductQuantizer] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def directions(self) -> tuple[faiss.LinearTransform | None, int]:
        """The transform to the directions that are coded, None for those of the vectors, and how many share a code."""
        return (None, CODED_TOGETHER) if self.columns is None else leading_directions(self.vectors, self.columns)

    @cached_property
    def turned(self) -> F32:
        """The targets (m, c) in the directions that are coded."""
        return self.turn(self.vectors)

    def turn(self, vectors: F32) -> F32:
        """Return vectors (a, d') in the directions that are coded, (a, c)."""
        transform, _ = self.directions
        return vectors if transform is None else transform.apply(vectors)

    def centroids(self, lists: int) -> F32:
        """Return the centroids (lists, c) of as many lists."""
        if lists not in self._centroids:
            dim, seed = self.turned.shape[1], self.seed
            means = faiss.Kmeans(dim, lists, niter=K_MEANS_ROUNDS, spherical=True, seed=seed, min_points_per_centroid=1)
            means.train(self.turned)
            self._centroids[lists] = means.centroids
        return self._centroids[lists]

    def guides(self, lists: int) -> F32:
        """Return vectors (lists, c) that rank lists for a query by their products with it: the centroids, corrected.

        A ridge regression leads from queries of the bank to the best score that they find in each list, so queries that
        lie elsewhere than the targets find their lists, too.
        """
        if lists not in self._guides:
            self._guides[lists] = self._corrected(self.centroids(lists))
        return self._guides[lists]

    def _corrected(self, centroids: F32) -> F32:
        if self.queries is None or len(centroids) == 1:
            return centroids
        asked = self.turn(self.queries)
        missing = self._best_in_lists(asked, centroids) - asked @ centroids.T
        gram = (asked.T @ asked).astype(np.float64)
        ridge = RIDGE * np.trace(gram) / len(gram) * np.eye(len(gram))
        change: F64 = np.linalg.solve(gram + ridge, asked.T @ missing)
        return centroids + change.T.astype(np.float32)

    def _best_in_lists(self, asked: F32, centroids: F32) -> F32:
        """Return the best score (b, lists) of each query in each list; of an empty list that of its centroid."""
        nearest = faiss.IndexFlatIP(centroids.shape[1])
        nearest.add(centroids)
        _, of_rows = nearest.search(self.turned, 1)
        order = np.argsort(of_rows[:, 0], kind="stable")
        filled, starts = np.unique(of_rows[order], return_index=True)
        best = asked @ centroids.T
        for number, rows in zip(filled, np.split(order, starts[1:]), strict=True):
            best[:, number] = (asked @ self.turned[rows].T).max(axis=1)
        return best

    def codebook(self, fine: bool) -> faiss.ProductQuantizer:
        """Return a trained product quantiser of 4-bit codes, `fine` ones of half as many directions each."""
        if fine not in self._codebooks:
            dim = self.turned.shape[1]
            quantiser = faiss.ProductQuantizer(dim, dim // max(1, self.directions[1] >> fine), BITS)
            quantiser.cp.seed = self.seed
            with openmp_threads(1):  # each direction is little work, and threads would wait for each other
                quantiser.train(self.turned)
            self._codebooks[fine] = quantiser
        return self._codebooks[fine]

    def guide(self, index: faiss.Index) -> None:
        """Let an index that has all its targets rank lists of product codes by `guides`. Others stay as they are."""
        lists = innermost(index)
        if isinstance(lists, faiss.IndexIVFPQFastScan):
            quantizer = faiss.downcast_index(lists.quantizer)
            quantizer.reset()
            quantizer.add(self.guides(lists.nlist))

    def coded_index(self, lists: int, fine: bool) -> faiss.Index:
        """Return an empty, trained index of product codes in lists, for vectors (n, d')."""
        transform, _ = self.directions
        codebook = self.codebook(fine)
        index = faiss.index_factory(codebook.d, f"IVF{lists},PQ{codebook.M}x{BITS}fs", faiss.METRIC_INNER_PRODUCT)
        index.quantizer.add(self.centroids(lists))
        faiss.copy_array_to_vector(faiss.vector_to_array(codebook.centroids), index.pq.centroids)
        index.is_trained = True
        return index if transform is None else faiss.IndexPreTransform(transform, index)
