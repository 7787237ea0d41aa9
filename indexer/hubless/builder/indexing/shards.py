"""The files of an index: one, or shards of consecutive targets. They are filled, or keep some rows and get others.

All shards are copies of one index that is trained on a sample of all targets and holds none. They are filled, written
and closed one after another, so that one is in memory at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import faiss
import numpy as np

from hubless.errors import InputError, storage_errors
from hubless.knn import IndexType, add_stored, add_vectors, read_index, trained_index, write_index
from hubless.knn.augment import AugmentedVectors, augmented_dim
from hubless.progress import Steps
from hubless.search.engines.embedded import IndexedTargets
from hubless.search.engines.full import shards_of
from hubless.search.engines.sharded import OwnTargets, embedded
from hubless.store.bundle import INDEX, index_files
from hubless.store.durable import link, move, sync
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import VectorSource

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
    stem = Path(INDEX).stem
    return [path.with_name(path.stem + Path(name).stem.removeprefix(stem) + path.suffix) for name in index_files(count)]


def remove_files(path: Path, count: int) -> None:
    """Remove all files of an index in so many parts."""
    for each in index_paths(path, count):
        each.unlink()


def build_shards(
    kind: IndexType, vectors: AugmentedVectors, sizes: Sequence[int], path: Path, seed: int, steps: Steps
) -> list[faiss.Index]:
    """Write the shards of vectors (n, d') to their files, and return them opened."""
    paths, start = index_paths(path, len(sizes)), 0
    trained = trained_index(kind, vectors, sizes[0], seed, steps, vectors.targets.shape[1])
    advance = steps.step(f"building the {kind.name} index", vectors.shape[0])
    for each, size in zip(paths, sizes, strict=True):
        index = faiss.clone_index(trained) if len(sizes) > 1 else trained
        add_vectors(index, vectors.rows(start, start + size), advance)
        write_whole(index, each)
        del index  # its memory is free before the next one is filled
        start += size
    del trained
    return [read_index(each) for each in paths]


def write_whole(index: faiss.Index, path: Path) -> None:
    """Write an index to a file that appears as a whole."""
    new = path.with_name(f"{path.name}.new")
    write_index(index, new)
    with storage_errors(path):
        sync(new)
        move(new, path)


@dataclass(frozen=True)
class IndexGrowth:
    """The `kept` rows of a stored index in `file` (None: in memory), then `more` (a, d), with all offsets."""

    base: OwnTargets
    file: Path | None
    kept: I64
    more: VectorSource | None
    offsets: F32


def grown_index(rows: IndexGrowth, shard_targets: int | None, path: Path, steps: Steps) -> OwnTargets:
    """Return the targets of the rows in the files of their index. A shard that stays as it was keeps its file."""
    base, shards = rows.base, shards_of(rows.base)
    most = most_in_a_shard(base.kind, augmented_dim(base.dim), shard_targets)
    pieces = _pieces([shard.room(None) for shard in shards], rows.kept, len(rows.offsets), most)
    paths = index_paths(path, len(pieces))
    files = [None] * len(shards) if rows.file is None else index_paths(rows.file, len(shards))
    others, taken = _others(rows), 0
    fill = steps.step(f"filling the {base.kind.name} index", len(rows.offsets))
    for piece, written in zip(pieces, paths, strict=True):
        shard, file = shards[piece.shard], files[piece.shard]
        if not piece.more and file is not None and len(piece.kept) == shard.room(None):
            link(file, written)
        else:
            index = _kept(piece.kept, shard, file)
            if others is not None and piece.more:
                add_vectors(index, others.rows(taken, taken + piece.more))
            write_whole(index, written)
            del index  # its memory is free before the next one is read
        taken += piece.more
        fill(len(piece.kept) + piece.more)
    indexes = [read_index(written) for written in paths]
    return embedded(base.kind, indexes, base.dim, base.defaults, base.pivot)


@dataclass(frozen=True)
class _Piece:
    """The content of a new shard: rows of an old one, and then so many others."""

    shard: int
    kept: I64
    more: int


def _pieces(sizes: Sequence[int], kept: I64, count: int, most: int) -> list[_Piece]:
    """Divide kept rows, and others after them, into shards. The others fill up the last shard that is left first."""
    starts = np.cumsum([0, *sizes])
    bounds = np.searchsorted(kept, starts)
    found = [
        _Piece(number, kept[low:high] - start, 0)
        for number, (start, low, high) in enumerate(zip(starts, bounds, bounds[1:], strict=False))
        if high > low
    ]
    more = count - len(kept)
    found = found or [_Piece(0, kept, 0)]
    if (fits := min(more, most - len(found[-1].kept))) > 0:
        found[-1] = replace(found[-1], more=fits)
        more -= fits
    return [*found, *(_Piece(0, kept[:0], size) for size in shard_sizes(more, most))]


def _kept(kept: I64, shard: IndexedTargets, file: Path | None) -> faiss.Index:
    """Return some rows of a shard, or none, in an index that can be added to. It is trained as the shard is."""
    index = faiss.clone_index(shard.index) if file is None else read_index(file, mapped=False)
    if len(kept) < shard.room(None):
        index.reset()
        add_stored(index, shard.index, kept)
    return index


def _others(rows: IndexGrowth) -> AugmentedVectors | None:
    """Return the rows that are not of the stored index, as it takes them."""
    if rows.more is None:
        return None
    base, half = rows.base, rows.base.kind.precision == "float16"
    return AugmentedVectors(rows.more, rows.offsets[len(rows.kept) :], base.pivot if base.kind.pivoted else None, half)
