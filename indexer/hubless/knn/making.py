"""Making an index in bounded memory: trained on a sample, filled block by block."""

import faiss

from hubless.knn.base import IndexType, Sample
from hubless.progress import Steps
from hubless.sources import VectorSource, block_rows, in_memory, sample


def make_index(
    kind: IndexType, vectors: VectorSource, seed: int, steps: Steps, folded: int | None = None
) -> faiss.Index:
    """An index of vectors (n, d'), augmented as a rule, in their order. The same vectors and seed give the same index.

    Beside the index, memory holds the training sample, and then a block of vectors.

    Parameters
    ----------
    folded : d, the column of the offsets, or None if the vectors have none
    """
    count, dim = vectors.shape
    trained_on = None
    if rows := kind.training_rows(count):
        steps.step(f"training the {kind.name} index")
        trained_on = Sample(in_memory(sample(vectors, rows, seed)), folded)
    index = kind.new(count, dim, seed, trained_on)
    if trained_on is not None:
        index.train(trained_on.vectors)
        trained_on = None  # not kept while blocks are added
    advance = steps.step(f"building the {kind.name} index", count)
    for block in vectors.blocks(block_rows(dim)):
        index.add(block)
        advance(len(block))
    return index
