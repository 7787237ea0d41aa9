"""Kinds of index over Faiss inner product. One file a kind."""

from hubless.errors import InputError
from hubless.knn.base import IndexType, SearchParameters, read_index, write_index
from hubless.knn.flat import Flat
from hubless.knn.hnsw import Hnsw

INDEXES: dict[str, type[IndexType]] = {"flat": Flat, "hnsw": Hnsw}

FLAT_TARGETS = 20_000
"""Up to this many targets an exact scan is as fast as anyone needs (under 2 ms at d=512), so `auto` takes it."""

__all__ = ["INDEXES", "IndexType", "SearchParameters", "choose_index", "index_type", "read_index", "write_index"]


def index_type(name: str) -> IndexType:
    """The kind of index of this name.

    Raises
    ------
    InputError
        for an unknown name, naming the known ones.
    """
    if name not in INDEXES:
        raise InputError("index", f"auto or one of {', '.join(INDEXES)}", name)
    return INDEXES[name]()


def choose_index(name: str, targets: int) -> IndexType:
    """The kind of this name, or for "auto" the one that suits the number of targets."""
    if name == "auto":
        return Flat() if targets <= FLAT_TARGETS else Hnsw()
    return index_type(name)
