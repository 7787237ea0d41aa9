"""The index of a segment in its folder: written beside its targets, and read and checked against the manifest."""

from collections.abc import Callable
from pathlib import Path
from re import fullmatch
from typing import Any, TypeAlias

import faiss

from hubless.errors import BundleDamaged, storage_errors
from hubless.knn import index_type
from hubless.knn.augment import augmented_dim
from hubless.knn.index_files import read_index, structure, write_index
from hubless.search.engines.base import VectorIndex
from hubless.search.engines.embedded import FaissIndex
from hubless.search.engines.full import CANDIDATES, FullVectors, WholeIndex
from hubless.store.bundle import BASIS, FULL, INDEX, PIVOT, Manifest, reading
from hubless.store.durable import move, sync
from hubless.vectors.arrays import F32
from hubless.vectors.npy import write_array

Stored: TypeAlias = Callable[..., Any]
"""Gives an array of a segment by the name of its file, and checks its shape; None if the manifest names none."""


def write_whole(index: faiss.Index, path: Path) -> None:
    """Write an index to a file that appears as a whole."""
    new = path.with_name(f"{path.name}.new")
    write_index(index, new)
    with storage_errors(path):
        sync(new)
        move(new, path)


def write_stored(index: VectorIndex, folder: Path) -> None:
    """Write the files of an index that are not in its folder yet. What an engine outside holds has none."""
    if isinstance(index, WholeIndex):
        write_array(folder / BASIS, index.directions)
        if not (folder / FULL).exists():
            FullVectors.kept(index.full, index.kind.precision, folder / FULL)
    if isinstance(index, FaissIndex):
        if index.pivot is not None:
            write_array(folder / PIVOT, index.pivot)
        if not (folder / INDEX).exists():
            write_whole(index.index, folder / INDEX)


def read_stored(
    folder: Path, manifest: Manifest, kind: str, count: int, dim: int, offsets: F32, stored: Stored
) -> FaissIndex:
    """Open the index of `count` vectors (n, d) of a segment, and check what it is. Raises `BundleDamaged`."""
    directions = stored(BASIS, manifest.dim, manifest.dims)
    width = dim if directions is None else directions.shape[1]
    path = folder / INDEX
    with reading(path):
        known = index_type(kind)
        index = read_index(path)
    if index.d != (wanted := augmented_dim(width)):
        raise BundleDamaged(path, f"has vectors of {index.d} dimensions, and not of {wanted}")
    if not fullmatch(known.made, made := structure(index)):
        raise BundleDamaged(path, f"is an index {made}, and not of the kind {known.name}")
    if index.ntotal != count:
        raise BundleDamaged(path, f"holds {index.ntotal} targets, the manifest says {count}")
    parameters = manifest.index.parameters if known.known else {}
    pivot = stored(PIVOT, width)
    if directions is None:
        return FaissIndex(known, index, dim, parameters, pivot)
    full = FullVectors.open_checked(folder / FULL, (count, dim), manifest.index.precision)
    candidates = manifest.index.candidates or CANDIDATES
    whole = {"full": full, "offsets": offsets, "directions": directions, "candidates": candidates}
    return WholeIndex(known, index, dim, parameters, pivot, **whole)
