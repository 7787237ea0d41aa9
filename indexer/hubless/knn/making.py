"""Making an index in bounded memory: trained on a sample, filled block by block."""

import faiss

from hubless.knn.base import IndexType
from hubless.progress import Steps
from hubless.sources import VectorSource, block_rows, in_memory, sample


def make_index(kind: IndexType, vectors: VectorSource, seed: int, steps: Steps) -> faiss.Index:
    """An index of augmented vectors (n, d'), in their order. The same vectors and seed give the same index.

    Beside the index, memory holds the training sample, and then a block of vectors.
    """
    count, dim = vectors.shape
    index = kind.new(count, dim, seed)
    if rows := kind.training_rows(count):
        steps.step(f"training the {kind.name} index")
        index.train(in_memory(sample(vectors, rows, seed)))
    advance = steps.step(f"building the {kind.name} index", count)
    for block in vectors.blocks(block_rows(dim)):
        index.add(block)
        advance(len(block))
    return index
