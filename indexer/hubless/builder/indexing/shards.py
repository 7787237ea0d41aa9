"""The files of an index: one, or shards of consecutive targets.

All shards are copies of one index that is trained on a sample of all targets and holds none. They are filled, written
and closed one after another, so that one is in memory at a time.
"""

from collections.abc import Sequence
from pathlib import Path

import faiss

from hubless.errors import InputError, storage_errors
from hubless.knn import IndexType, add_vectors, read_index, trained_index, write_index
from hubless.knn.augment import AugmentedVectors
from hubless.progress import Steps
from hubless.store.bundle import INDEX, INDEX_TRAINED, index_files
from hubless.store.durable import move, sync

SHARD_BYTES = 4 * 2**30
"""Size of a shard where nothing else is asked for. A build holds one in memory."""
SHARD_LEAST = 1000
"""Fewer targets are not worth an index of their own."""
TOGETHER = 8
"""Shards begin at a multiple of this, so that they share the bits of a filter's matches."""


def check_shard_targets(given: int | None) -> int | None:
    """Return the most targets in a shard: the given number, rounded up to a multiple of 8."""
    if given is None:
        return None
    if type(given) is not int or given < SHARD_LEAST:
        raise InputError("shard_targets", f"a whole number from {SHARD_LEAST}", given)
    return -(-given // TOGETHER) * TOGETHER


def most_in_a_shard(kind: IndexType, dim: int, asked: int | None) -> int:
    """Return how many targets of d' dimensions are in a shard at most."""
    million = 10**6
    return asked or max(SHARD_LEAST, SHARD_BYTES * million // kind.size(million, dim) // TOGETHER * TOGETHER)


def shard_sizes(count: int, most: int) -> list[int]:
    """Return how many targets are in each shard. All but the last are full, so that later targets change no other."""
    return [min(most, count - start) for start in range(0, count, most)]


def index_paths(path: Path, count: int) -> list[Path]:
    """Return the paths of so many files of an index, beside the path that a single file has."""
    return [_beside(path, name) for name in index_files(count)]


def trained_path(path: Path) -> Path:
    """Return the path of the index without targets, beside the path that a single file has."""
    return _beside(path, INDEX_TRAINED)


def paths_of(path: Path, count: int) -> list[Path]:
    """Return the paths of all files of an index in so many parts."""
    return [*index_paths(path, count), *([trained_path(path)] if count > 1 else [])]


def remove_files(path: Path, count: int) -> None:
    """Remove all files of an index in so many parts."""
    for each in paths_of(path, count):
        each.unlink()


def build_shards(
    kind: IndexType, vectors: AugmentedVectors, sizes: Sequence[int], path: Path, seed: int, steps: Steps
) -> list[faiss.Index]:
    """Write the shards of vectors (n, d') to their files, and return them opened."""
    paths, start = index_paths(path, len(sizes)), 0
    index = trained_index(kind, vectors, sizes[0], seed, steps, vectors.targets.shape[1])
    if len(sizes) > 1:
        write_whole(index, trained_path(path))
    advance = steps.step(f"building the {kind.name} index", vectors.shape[0])
    for number, (each, size) in enumerate(zip(paths, sizes, strict=True)):
        if number:
            index = read_index(trained_path(path), mapped=False)
        add_vectors(index, vectors.rows(start, start + size), advance)
        write_whole(index, each)
        del index  # its memory is free before the next one is read
        start += size
    return [read_index(each) for each in paths]


def write_whole(index: faiss.Index, path: Path) -> None:
    """Write an index to a file that appears as a whole."""
    new = path.with_name(f"{path.name}.new")
    write_index(index, new)
    with storage_errors(path):
        sync(new)
        move(new, path)


def _beside(path: Path, name: str) -> Path:
    """Return the path of a file of the index that is called so where the index is `index.faiss`."""
    return path.with_name(path.stem + Path(name).stem.removeprefix(Path(INDEX).stem) + path.suffix)
