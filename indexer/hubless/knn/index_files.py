"""Makes indexes in bounded memory, writes them to files and opens them.

NumPy copies vectors that do not begin at a multiple of 4 bytes, and Faiss' header of a flat index has 45. Two
transforms in front, which change nothing, let the vectors begin at a multiple of 64.
"""

from collections.abc import Sequence
from pathlib import Path

import faiss

from hubless.errors import BundleDamaged, storage_errors
from hubless.knn.augment import Columns
from hubless.knn.base import IndexType
from hubless.knn.exhaustive import storage_of
from hubless.knn.hnsw import joined_by_distance
from hubless.knn.training_sample import TrainingSample, innermost
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32
from hubless.vectors.sources import VectorSource, block_rows, in_memory, sample


def make_index(kind: IndexType, vectors: VectorSource, seed: int, columns: Columns | None = None) -> faiss.Index:
    """Return an index of vectors (n, d'), in their order. Equal inputs and seed: equal index."""
    count, dim = vectors.shape
    sample = training_sample([kind], vectors, count, seed, columns)
    index = kind.new(count, dim, sample)
    add_vectors(index, vectors, sample=sample)
    return index


def training_sample(
    kinds: Sequence[IndexType],
    vectors: VectorSource,
    count: int,
    seed: int,
    columns: Columns | None = None,
    queries: F32 | None = None,
) -> TrainingSample | None:
    """Return vectors (m, d') of some (n, d'), as many as indexes of `count` need to be trained; None if none does."""
    rows = max(kind.training_rows(count) for kind in kinds)
    return TrainingSample(in_memory(sample(vectors, rows, seed)), columns, seed, queries) if rows else None


def add_vectors(
    index: faiss.Index, vectors: VectorSource, advance: Advance = no_progress, sample: TrainingSample | None = None
) -> None:
    """Add vectors (a, d') to a trained index, after those that it has. They are the last: the sample guides to them."""
    if index.ntotal == 0:
        _reserve(storage_of(index), vectors.shape[0])
    with joined_by_distance(index):
        for block in vectors.blocks(block_rows(vectors.shape[1])):
            index.add(block)
            advance(len(block))
    if sample is not None:
        sample.guide(index)


def _reserve(storage: faiss.Index, count: int) -> None:
    """Take the memory of so many vectors at once. An array that grows copies itself, and holds both for a while."""
    if isinstance(storage, faiss.IndexFlatCodes):
        storage.codes.resize(count * storage.code_size)
        storage.codes.resize(0)


def write_index(index: faiss.Index, path: Path) -> None:
    """Write an index to a new file. Raises `StorageError` if it cannot be written whole."""
    # given a path, Faiss does not notice a full disk when it closes the file
    with storage_errors(path), path.open("wb") as file:
        faiss.write_index(_aligned(index), faiss.PyCallbackIOWriter(file.write))


def read_index(path: Path) -> faiss.Index:
    """Open an index, mapped into memory. Raises `BundleDamaged` if it is none."""
    try:
        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError as error:
        raise BundleDamaged(path, f"not a readable index: {str(error).strip().splitlines()[-1]}") from error
    if not isinstance(index, faiss.IndexPreTransform):
        return index
    inner = faiss.downcast_index(index.index)
    inner.referenced_objects = [index]  # keeps the owner alive
    return inner


def structure(index: faiss.Index) -> str:
    """Return what an index is made of: the classes of its parts, such as "IndexRefineFlat of IndexIVFPQFastScan"."""
    known = faiss.downcast_index(index)
    name = type(known).__name__
    inner = getattr(known, "base_index", getattr(known, "index", None))
    return name if inner is None else f"{name} of {structure(inner)}"


def code_bytes(index: faiss.Index) -> int | None:
    """Return the bytes of the product codes of a target; None without codes."""
    known = innermost(index)
    return int(known.pq.code_size) if hasattr(known, "pq") else None


def _aligned(index: faiss.Index) -> faiss.Index:
    """Return a flat index with its vectors at a multiple of 64 bytes in the file; other indexes as they are."""
    if not isinstance(index, faiss.IndexFlat):
        return index
    padded = faiss.IndexPreTransform(index)
    for _ in range(2):
        padded.prepend_transform(faiss.RemapDimensionsTransform(index.d, index.d, True))
    return padded
