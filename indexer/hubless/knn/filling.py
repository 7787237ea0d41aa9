"""Makes an index in bounded memory: trains it on a sample, and fills it block by block."""

import faiss

from hubless.knn.base import IndexType, TrainingSample
from hubless.progress import Advance, Steps, no_progress
from hubless.vectors.arrays import I64
from hubless.vectors.sources import VectorSource, block_rows, in_memory, sample


def make_index(
    kind: IndexType, vectors: VectorSource, seed: int, steps: Steps, folded: int | None = None
) -> faiss.Index:
    """Return an index of vectors (n, d'), usually augmented, in their order. Equal inputs and seed: equal index.

    Beside the index, memory holds first the training sample, then one block. `folded` is d, the column of the offsets.
    """
    index = trained_index(kind, vectors, vectors.shape[0], seed, steps, folded)
    add_vectors(index, vectors, steps.step(f"building the {kind.name} index", vectors.shape[0]))
    return index


def trained_index(
    kind: IndexType, vectors: VectorSource, count: int, seed: int, steps: Steps, folded: int | None = None
) -> faiss.Index:
    """Return an index for `count` vectors that holds none, trained on a sample of some (n, d')."""
    dim, trained_on = vectors.shape[1], None
    if rows := kind.training_rows(count):
        steps.step(f"training the {kind.name} index")
        trained_on = TrainingSample(in_memory(sample(vectors, rows, seed)), folded)
    index = kind.new(count, dim, seed, trained_on)
    if trained_on is not None:
        index.train(trained_on.vectors)
    return index


def add_vectors(index: faiss.Index, vectors: VectorSource, advance: Advance = no_progress) -> None:
    """Add vectors (a, d') to a trained index, after those that it has."""
    for block in vectors.blocks(block_rows(vectors.shape[1])):
        index.add(block)
        advance(len(block))


def add_stored(index: faiss.Index, other: faiss.Index, rows: I64, advance: Advance = no_progress) -> None:
    """Add the stored vectors of some rows of another index, as they are."""
    step = block_rows(index.d)
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        index.add(other.reconstruct_batch(some))
        advance(len(some))
