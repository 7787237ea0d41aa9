"""Two stages in one index: a compressed index finds candidates, and the stored vectors rescore them."""

import faiss

from hubless.knn.base import Precision, new_storage
from hubless.vectors.arrays import F32, I64

TUNED_AT = 10
"""Search parameters are chosen for 10 hits. Fewer hits are the first of 10, so they have the same recall."""


def with_storage(compressed: faiss.Index, precision: Precision) -> faiss.Index:
    """Return a compressed index that rescores with stored vectors."""
    return faiss.IndexRefine(compressed, new_storage(compressed.d, precision))


def search_refined(
    index: faiss.Index, queries: F32, k: int, k_factor: int, compressed: faiss.SearchParameters
) -> tuple[F32, I64]:
    """Return the k best of k · `k_factor` candidates, by the scores of the stored vectors.

    Parameters
    ----------
    compressed : search parameters of the compressed index
    """
    asked = min(max(k, TUNED_AT), index.ntotal)
    factor = min(float(k_factor), index.ntotal / asked)
    parameters = faiss.IndexRefineSearchParameters(k_factor=factor, base_index_params=compressed)
    scores, rows = index.search(queries, asked, params=parameters)
    return scores[:, :k], rows[:, :k]
