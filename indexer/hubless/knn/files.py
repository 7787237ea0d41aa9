"""Indexes as files.

Faiss's header of a flat index is 45 bytes long, and NumPy refuses to multiply numbers that do not begin at a multiple
of 4. With two transforms before it that change nothing the vectors begin at a multiple of 64, in a file that Faiss
reads and searches like any other.
"""

from pathlib import Path

import faiss

from hubless.errors import BundleDamaged
from hubless.storage import storage_errors


def write_index(index: faiss.Index, path: Path) -> None:
    """Write an index to a new file.

    Raises
    ------
    StorageError
        if it cannot be written whole.
    """
    # Faiss, given a path, does not notice when the disk is full as it closes the file
    with storage_errors(path), path.open("wb") as file:
        faiss.write_index(_aligned(index), faiss.PyCallbackIOWriter(file.write))


def read_index(path: Path) -> faiss.Index:
    """Open an index, mapped into memory: stored vectors, graphs and lists are not copied, codes of fast scan are.

    Raises
    ------
    BundleDamaged
        if it is not a Faiss index.
    """
    try:
        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError as error:
        raise BundleDamaged(path, f"not a readable index: {_reason(error)}") from error
    if not isinstance(index, faiss.IndexPreTransform):
        return index
    inner = faiss.downcast_index(index.index)
    inner.referenced_objects = [index]  # which owns it
    return inner


def _aligned(index: faiss.Index) -> faiss.Index:
    """A flat index, padded so that its vectors begin at a multiple of 64 bytes if its dimensions are one of 16."""
    if not isinstance(index, faiss.IndexFlat):
        return index
    padded = faiss.IndexPreTransform(index)
    for _ in range(2):
        padded.prepend_transform(faiss.RemapDimensionsTransform(index.d, index.d, True))
    return padded


def _reason(error: RuntimeError) -> str:
    return str(error).strip().splitlines()[-1]
