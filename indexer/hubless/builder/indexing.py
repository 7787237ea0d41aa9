"""Indexes of a build: their kind and search parameters chosen, and their files, which are one or shards.

All shards are copies of one index that is trained on a sample of all targets and holds none. They are filled, written
and closed one after another, so that one is in memory at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import faiss
import numpy as np

from hubless.errors import InputError, storage_errors
from hubless.knn import (
    INDEXES,
    Aims,
    IndexType,
    Setting,
    add_stored,
    add_vectors,
    cheapest_setting,
    kinds_to_try,
    make_index,
    read_index,
    recall_curve,
    trained_index,
    write_index,
)
from hubless.knn.aims import AUTO
from hubless.knn.augment import AugmentedVectors, augmented_dim, pivot_of
from hubless.knn.base import Precision
from hubless.progress import Steps
from hubless.search.engines.base import StoredTargets
from hubless.search.engines.embedded import IndexedTargets
from hubless.search.engines.full import MOST_CANDIDATES, Embedded, FullTargets, FullVectors, shards_of
from hubless.search.engines.sharded import OwnTargets, embedded
from hubless.store import bundle
from hubless.store.bundle import INDEX, AimsRecord, EngineRecord, IndexRecord, SettingRecord, index_files
from hubless.store.durable import link, move, sync
from hubless.vectors.arrays import F32, I64
from hubless.vectors.basis import Basis, reduced_vectors
from hubless.vectors.comparing import COSINE, comparison
from hubless.vectors.sources import VectorSource, block_rows, half_vectors, in_memory

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
    trained = trained_index(kind, vectors, sizes[0], seed, steps, vectors.columns)
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
    if rows.more is None:
        return None
    base, half = rows.base, rows.base.kind.precision == "float16"
    return AugmentedVectors(rows.more, rows.offsets[len(rows.kept) :], base.pivot if base.kind.pivoted else None, half)


@dataclass(frozen=True)
class ExactAnswers:
    """Queries (m, d) to measure an index with, and the rows (m, k) of their exact best targets, best first."""

    queries: F32
    rows: I64


@dataclass(frozen=True, kw_only=True)
class IndexOrder:
    """An index to build of targets (n, d) with centred offsets (n,)."""

    targets: VectorSource
    offsets: F32
    bank: VectorSource
    answers: ExactAnswers
    aims: Aims
    index: str = AUTO
    seed: int = 0
    shard_targets: int | None = None
    metric: str = COSINE


Placed = TypeVar("Placed", bound=StoredTargets)


@dataclass(frozen=True)
class IndexResult(Generic[Placed]):
    """Targets as they will be served, with the chosen search parameters. `engine` is where they are, if outside."""

    targets: Placed
    curve: list[Setting]
    setting: Setting
    notes: list[str]
    engine: EngineRecord | None = None

    def record(self, order: IndexOrder) -> IndexRecord:
        """Return the record of the index for the manifest."""
        targets = self.targets
        shards = shards_of(targets) if isinstance(targets, Embedded) else []
        tried = [
            SettingRecord(
                parameters=each.parameters, recall_at_10=each.recall, latency_ms=float(f"{each.latency_ms:.3g}")
            )
            for each in self.curve
        ]
        return IndexRecord(
            type=targets.kind.name if self.engine is None else self.engine.engine,
            precision=targets.kind.precision if isinstance(targets, Embedded) else "float32",
            parameters=self.setting.parameters,
            aims=AimsRecord(**vars(order.aims)),
            curve=tried,
            notes=self.notes,
            candidates=targets.candidates if isinstance(targets, FullTargets) else None,
            shard_targets=order.shard_targets if self.engine is None else None,
            shards=[shard.room(None) for shard in shards] if len(shards) > 1 else [],
            engine=self.engine,
        )


def build_index(
    order: IndexOrder, path: Path | None, steps: Steps, basis: Basis | None = None
) -> IndexResult[Embedded]:
    """Build, tune and write the index of targets with their offsets folded in, of reduced targets if there is a basis.

    Without a path it stays in memory.
    """
    targets, offsets, aims, bank = order.targets, order.offsets, order.aims, order.bank
    if basis is not None:
        targets, bank = reduced_vectors(targets, basis), reduced_vectors(bank, basis)
    count, dim = targets.shape[0], augmented_dim(targets.shape[1])
    lifted = comparison(order.metric).lifted
    kinds, notes = kinds_to_try(order.index, INDEXES, count, dim, aims)
    pivot = pivot_of(bank, targets, offsets) if offsets.any() and any(kind.pivoted for kind in kinds) else None
    best: list[IndexResult[Embedded]] = []
    for kind in kinds:
        half = kind.precision == "float16"
        stored: VectorSource = half_vectors(order.targets, order.metric) if half else order.targets
        rows = stored if basis is None else reduced_vectors(stored, basis)
        vectors = AugmentedVectors(rows, offsets, pivot if kind.pivoted else None, half, lifted)
        made = _filled(kind, vectors, order, path, steps)
        tried = _tuned(made if basis is None else FullTargets(made, stored, offsets, basis), order, steps)
        best = sorted([*best, tried], key=lambda each: _merit(each.setting, aims), reverse=True)
        if path is not None:
            for worse in best[1:]:
                remove_files(_path_of(worse.targets.kind, path), len(shards_of(worse.targets)))
        del best[1:]
        if not (missed := _missed(best[0], aims)):
            break
    if path is not None:
        shards, own = len(shards_of(best[0].targets)), _path_of(best[0].targets.kind, path)
        for file, wanted in zip(index_paths(own, shards), index_paths(path, shards), strict=True):
            file.replace(wanted)
    chosen = best[0].targets
    if isinstance(chosen, FullTargets):
        chosen = replace(chosen, full=kept_full(chosen.full, chosen.kind.precision, path))
    return replace(best[0], targets=chosen, notes=[*notes, *missed])


def kept_full(rows: VectorSource, precision: Precision, path: Path | None) -> FullVectors:
    """Return whole vectors (n, d) as they will be served: mapped, beside the path of their index, or in memory."""
    if path is None:
        return FullVectors(in_memory(rows).astype(precision))
    full = path.with_name(bundle.FULL)
    with storage_errors(full), full.open("wb") as file:
        header = {"descr": np.dtype(precision).str, "fortran_order": False, "shape": rows.shape}
        np.lib.format.write_array_header_1_0(file, header)
        for block in rows.blocks(block_rows(rows.shape[1])):
            file.write(np.ascontiguousarray(block, precision).data)
    return FullVectors.open(full)


def _filled(
    kind: IndexType, vectors: AugmentedVectors, order: IndexOrder, path: Path | None, steps: Steps
) -> OwnTargets:
    dim = vectors.targets.shape[1]
    if path is None:
        indexes = [make_index(kind, vectors, order.seed, steps, vectors.columns)]
    else:
        sizes = shard_sizes(vectors.shape[0], most_in_a_shard(kind, vectors.shape[1], order.shard_targets))
        indexes = build_shards(kind, vectors, sizes, _path_of(kind, path), order.seed, steps)
    return embedded(kind, indexes, dim, {}, vectors.pivot)


def _path_of(kind: IndexType, path: Path) -> Path:
    return path.with_suffix(f".{kind.name}")


def _tuned(made: Embedded, order: IndexOrder, steps: Steps) -> IndexResult[Embedded]:
    steps.step(f"tuning the {made.kind.name} index")
    queries = made.augmented(order.answers.queries, 1.0)
    exact = made.scores(queries, order.answers.rows)
    while True:
        curve = recall_curve(made.approximate, ladder(made), queries, exact)
        setting = cheapest_setting(curve, order.aims)
        reached = setting.recall >= order.aims.recall
        if reached or not isinstance(made, FullTargets) or made.candidates >= MOST_CANDIDATES:
            break
        made = replace(made, candidates=2 * made.candidates)
    return IndexResult(made.tuned(setting.parameters), curve, setting, [])


def ladder(targets: Embedded) -> list[dict[str, Any]]:
    """Search parameters to try, from the cheapest to the most thorough. They are those of each shard."""
    return targets.kind.ladder(max(len(shard) for shard in shards_of(targets)))


def _merit(setting: Setting, aims: Aims) -> tuple[bool, float, float]:
    reached = setting.recall >= aims.recall
    return reached, 0.0 if reached else setting.recall, 0.0 if aims.latency_ms is None else -setting.latency_ms


def _missed(built: IndexResult[Embedded], aims: Aims) -> list[str]:
    within = "" if aims.memory is None else f" within {aims.memory:,} bytes"
    setting, kind = built.setting, built.targets.kind
    missed = []
    if setting.recall < aims.recall:
        missed.append(
            f"a recall of {aims.recall:g} is not reached{within}: index {kind.name} reaches {setting.recall:.4f}"
        )
    if aims.latency_ms is not None and setting.latency_ms > aims.latency_ms:
        missed.append(
            f"{aims.latency_ms:g} ms a query are not reached{within} at this recall: "
            f"index {kind.name} takes {setting.latency_ms:.3g} ms"
        )
    return missed
