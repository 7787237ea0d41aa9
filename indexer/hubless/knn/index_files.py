"""Writes indexes to files and opens them.

NumPy copies vectors before it multiplies them unless they begin at a multiple of 4 bytes. Faiss' header of a flat index
has 45 bytes. Two transforms in front, which change nothing, let the vectors begin at a multiple of 64. Faiss reads and
searches the file like any other.
"""

from pathlib import Path

import faiss

from hubless.errors import BundleDamaged, storage_errors


def write_index(index: faiss.Index, path: Path) -> None:
    """Write an index to a new file. Raises `StorageError` if it cannot be written whole."""
    # given a path, Faiss does not notice a full disk when it closes the file
    with storage_errors(path), path.open("wb") as file:
        faiss.write_index(_aligned(index), faiss.PyCallbackIOWriter(file.write))


def read_index(path: Path, *, mapped: bool = True) -> faiss.Index:
    """Open an index, mapped into memory. Vectors, graphs and lists are not copied; codes of fast scan are.

    Unmapped, all is copied, and the index can be changed. Raises `BundleDamaged` if it is not a Faiss index.
    """
    try:
        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC if mapped else 0)
    except RuntimeError as error:
        raise BundleDamaged(path, f"not a readable index: {_reason(error)}") from error
    if not isinstance(index, faiss.IndexPreTransform):
        return index
    inner = faiss.downcast_index(index.index)
    inner.referenced_objects = [index]  # keeps the owner alive
    return inner


def structure(index: faiss.Index) -> str:
    """Return what an index is made of: the classes of its parts, such as "IndexRefineFlat of IndexIVFPQFastScan"."""
    known = faiss.downcast_index(index)
    name, inner = type(known).__name__, getattr(known, "base_index", getattr(known, "index", None))
    return name if inner is None else f"{name} of {structure(inner)}"


def _aligned(index: faiss.Index) -> faiss.Index:
    """Return a flat index with its vectors at a multiple of 64 bytes in the file; other indexes as they are."""
    if not isinstance(index, faiss.IndexFlat):
        return index
    padded = faiss.IndexPreTransform(index)
    for _ in range(2):
        padded.prepend_transform(faiss.RemapDimensionsTransform(index.d, index.d, True))
    return padded


def _reason(error: RuntimeError) -> str:
    return str(error).strip().splitlines()[-1]
