"""Does the query bank of a collection know the test queries? Then its gain looks larger than it is."""

from collections.abc import Sequence

import numpy as np

from hubless.measures.likeness import share_among
from hubless.search.collection import Collection
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import ArrayVectors, VectorSource, in_memory, sample

LEAK = "a leak, that makes corrections look better than they are"
"""Part of each note about a leak."""
LOOKED_UP = 2000


def leak_notes(collection: Collection, queries: VectorSource, right: Sequence[I64]) -> list[str]:
    """What is to be said of test queries, or of their right targets, that the bank of a collection holds.

    Other queries with the same right targets leak too, and cannot be found in this way.

    Parameters
    ----------
    queries : (m, d) as they are compared
    right : the rows of the right targets of each
    """
    bank = _bank(collection)
    rows = np.unique(np.concatenate([*right, np.empty(0, np.int64)])).astype(np.int64)
    if bank is None or not len(rows):
        return []
    some = in_memory(sample(queries, LOOKED_UP))
    chosen = np.random.default_rng(0).permutation(rows)[:LOOKED_UP]
    held = ArrayVectors(bank, "query bank")
    found = {
        "test queries": share_among(some, held),
        "right targets": share_among(collection.vectors(np.sort(chosen)), held),
    }
    return [
        f"{100 * share:.3g} % of the {what} are in the query bank of this version: {LEAK}. Avoid it by `--strict`"
        for what, share in found.items()
        if share
    ]


def _bank(collection: Collection) -> F32 | None:
    """The bank that the correction was fitted on, or the sample of it that every version keeps."""
    bank = collection.correction().state().get("bank")
    return collection.bank_sample if bank is None else np.ascontiguousarray(bank, np.float32)
