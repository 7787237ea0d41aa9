"""What a kind of index is: the seam between Faiss and the rest."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import faiss

from hubless.arrays import F32, I64
from hubless.errors import BundleDamaged, InputError
from hubless.storage import storage_errors

SearchParameters = Mapping[str, Any]


class IndexType(Protocol):
    """A kind of Faiss index over augmented vectors, compared by inner product."""

    @property
    def name(self) -> str:
        """The name that is stored in bundles."""

    def new(self, dim: int) -> faiss.Index:
        """An empty index of augmented dimension `dim`."""

    def ladder(self) -> list[dict[str, Any]]:
        """Search parameters to try when tuning, cheapest first."""

    def check(self, parameters: SearchParameters) -> None:
        """Raise `InputError` for search parameters that this kind does not know, or values that it refuses."""

    def search(self, index: faiss.Index, queries: F32, k: int, parameters: SearchParameters) -> tuple[F32, I64]:
        """The k best rows of augmented queries (m, dim): scores (m, k) and rows (m, k), −1 where nothing was found."""

    def exact(self, index: faiss.Index, queries: F32, k: int) -> tuple[F32, I64]:
        """As `search`, by comparing with every vector."""


def refuse_unknown(parameters: SearchParameters, known: tuple[str, ...], index: str) -> None:
    """Raise `InputError` for the first parameter that is not known."""
    for name in parameters:
        if name not in known:
            expected = f"one of {', '.join(known)}" if known else f"no parameters, as the index is {index}"
            raise InputError(f"params of index {index}", expected, name)


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
    """Open an index, mapped into memory where its kind allows.

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
