"""Rows in an order that goes by what stands in them: a file that is shuffled gives the same one."""

from collections.abc import Sequence

import numpy as np

from hubless.vectors.sources import TakenVectors, VectorSource, block_rows


def by_content(source: VectorSource, *then: Sequence[str]) -> TakenVectors:
    """Return the rows of a source (n, d) by a number that is made of their bits, so that any part is a sample.

    Equal rows stand by further keys (n,), and else as they are.
    """
    dim = source.shape[1]
    odd = np.random.default_rng(0).integers(2**63, size=dim, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    # sums of whole numbers that wrap around are the same in any order; −0 is 0
    numbers = [(block + np.float32(0)).view(np.uint32) @ odd for block in source.blocks(block_rows(dim))]
    return TakenVectors(source, np.lexsort([*map(np.asarray, then), np.concatenate(numbers)]), source.name)
