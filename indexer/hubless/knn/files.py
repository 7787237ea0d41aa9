"""Indexes as files."""

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
        faiss.write_index(index, faiss.PyCallbackIOWriter(file.write))


def read_index(path: Path) -> faiss.Index:
    """Open an index, mapped into memory: stored vectors, graphs and lists are not copied, codes of fast scan are.

    Raises
    ------
    BundleDamaged
        if it is not a Faiss index.
    """
    try:
        return faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError as error:
        raise BundleDamaged(path, f"not a readable index: {_reason(error)}") from error


def _reason(error: RuntimeError) -> str:
    return str(error).strip().splitlines()[-1]
