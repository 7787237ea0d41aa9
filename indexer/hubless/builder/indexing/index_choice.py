"""Choosing the index of a collection: build and measure one kind after the other, until one reaches the aims."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hubless.builder.indexing.shards import build_shards, most_in_a_shard, paths_of, remove_files, shard_sizes
from hubless.knn import (
    INDEXES,
    Aims,
    IndexType,
    Setting,
    cheapest_setting,
    kinds_to_try,
    make_index,
    recall_curve,
)
from hubless.knn.augment import AugmentedVectors, augmented_dim, pivot_of
from hubless.progress import Steps
from hubless.search.engines.sharded import Embedded, embedded, shards_of
from hubless.store.bundle import AimsRecord, IndexRecord, SettingRecord
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import HalfVectors, VectorSource


@dataclass(frozen=True)
class ExactAnswers:
    """Queries (m, d) to measure an index with, and the rows (m, k) of their exact best targets, best first."""

    queries: F32
    rows: I64


@dataclass(frozen=True)
class IndexResult:
    """An index, opened as it will be served, with the chosen search parameters."""

    targets: Embedded
    curve: list[Setting]
    setting: Setting
    notes: list[str]


def build_index(
    name: str,
    targets: VectorSource,
    offsets: F32,
    bank: VectorSource,
    answers: ExactAnswers,
    aims: Aims,
    path: Path | None,
    seed: int,
    steps: Steps,
    shard_targets: int | None = None,
) -> IndexResult:
    """Build, tune and write the index of targets with their offsets folded in.

    Parameters
    ----------
    targets : (n, d)
    offsets : (n,) centred
    bank : (b, d) example queries
    path : of the file to write; shards are written beside it, as `index_paths` says. None keeps the index in memory
    shard_targets : the most targets in a shard; None for as many as take 4 GiB
    """
    count, dim = targets.shape[0], augmented_dim(targets.shape[1])
    kinds, notes = kinds_to_try(name, INDEXES, count, dim, aims)
    pivot = pivot_of(bank, targets, offsets) if offsets.any() and any(kind.pivoted for kind in kinds) else None
    best: list[IndexResult] = []
    for kind in kinds:
        half = kind.precision == "float16"
        stored = HalfVectors(targets) if half else targets
        vectors = AugmentedVectors(stored, offsets, pivot if kind.pivoted else None, half)
        made = _made(kind, vectors, path, shard_targets, seed, steps, targets.shape[1])
        tried = _tuned(made, answers, aims, steps)
        best = sorted([*best, tried], key=lambda each: _merit(each.setting, aims), reverse=True)
        if path is not None:
            for worse in best[1:]:
                remove_files(_path_of(worse.targets.kind, path), len(shards_of(worse.targets)))
        del best[1:]
        if not (missed := _missed(best[0], aims)):
            break
    if path is not None:
        shards, own = len(shards_of(best[0].targets)), _path_of(best[0].targets.kind, path)
        for file, wanted in zip(paths_of(own, shards), paths_of(path, shards), strict=True):
            file.replace(wanted)
    return replace(best[0], notes=[*notes, *missed])


def _made(
    kind: IndexType,
    vectors: AugmentedVectors,
    path: Path | None,
    shard_targets: int | None,
    seed: int,
    steps: Steps,
    dim: int,
) -> Embedded:
    """The targets in an index of this kind, not tuned: as it will be served, if there is a path."""
    if path is None:
        indexes = [make_index(kind, vectors, seed, steps, dim)]
    else:
        sizes = shard_sizes(vectors.shape[0], most_in_a_shard(kind, vectors.shape[1], shard_targets))
        indexes = build_shards(kind, vectors, sizes, _path_of(kind, path), seed, steps, dim)
    return embedded(kind, indexes, dim, {}, vectors.pivot)


def _path_of(kind: IndexType, path: Path) -> Path:
    """Where an index of this kind is until it is chosen."""
    return path.with_suffix(f".{kind.name}")


def _tuned(made: Embedded, answers: ExactAnswers, aims: Aims, steps: Steps) -> IndexResult:
    steps.step(f"tuning the {made.kind.name} index")
    queries = made.augmented(answers.queries, 1.0)
    curve = recall_curve(made.approximate, ladder(made), queries, made.scores(queries, answers.rows))
    setting = cheapest_setting(curve, aims)
    return IndexResult(made.tuned(setting.parameters), curve, setting, [])


def ladder(targets: Embedded) -> list[dict[str, Any]]:
    """Search parameters to try, from the cheapest to the most thorough. They are those of each shard."""
    return targets.kind.ladder(max(len(shard) for shard in shards_of(targets)))


def index_record(indexed: IndexResult, aims: Aims, shard_targets: int | None) -> IndexRecord:
    """Return the record of an index for the manifest."""
    kind, setting, shards = indexed.targets.kind, indexed.setting, shards_of(indexed.targets)
    return IndexRecord(
        type=kind.name,
        precision=kind.precision,
        parameters=setting.parameters,
        aims=aims_record(aims),
        curve=curve_record(indexed.curve),
        notes=indexed.notes,
        shard_targets=shard_targets,
        shards=[shard.room(None) for shard in shards] if len(shards) > 1 else [],
    )


def aims_record(aims: Aims) -> AimsRecord:
    """Return the record of the aims for the manifest."""
    return AimsRecord(recall=aims.recall, memory=aims.memory, latency_ms=aims.latency_ms)


def curve_record(curve: list[Setting]) -> list[SettingRecord]:
    """Return the record of the settings that were tried."""
    return [
        SettingRecord(parameters=each.parameters, recall_at_10=each.recall, latency_ms=float(f"{each.latency_ms:.3g}"))
        for each in curve
    ]


def _merit(setting: Setting, aims: Aims) -> tuple[bool, float, float]:
    """Recall up to the aim first, then time if there is an aim for it."""
    reached = setting.recall >= aims.recall
    return reached, 0.0 if reached else setting.recall, 0.0 if aims.latency_ms is None else -setting.latency_ms


def _missed(built: IndexResult, aims: Aims) -> list[str]:
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
