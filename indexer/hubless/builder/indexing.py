"""Choosing the index of a collection: build and measure one kind after the other, until one reaches the aims."""

from dataclasses import dataclass, replace
from pathlib import Path

import faiss
import numpy as np

from hubless.knn import (
    INDEXES,
    Aims,
    IndexType,
    Setting,
    cheapest_setting,
    kinds_to_try,
    make_index,
    read_index,
    recall_curve,
    write_index,
)
from hubless.knn.augment import AugmentedVectors, augment_queries, augmented_dim, pivot_of
from hubless.progress import Steps
from hubless.store.bundle import AimsRecord, IndexRecord, SettingRecord
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import HalfVectors, VectorSource


@dataclass(frozen=True)
class Asked:
    """Queries (m, d) to measure an index with, and the rows (m, k) of their exact best targets, best first."""

    queries: F32
    rows: I64


@dataclass(frozen=True)
class Indexed:
    """An index, opened as it will be served.

    Parameters
    ----------
    pivot : (d,) with which offsets are folded, or None
    curve : the settings that were measured
    setting : the one that was chosen
    notes : what a reader should know about the choice
    """

    kind: IndexType
    index: faiss.Index
    pivot: F32 | None
    curve: list[Setting]
    setting: Setting
    notes: list[str]


def build_index(
    name: str,
    targets: VectorSource,
    offsets: F32,
    bank: VectorSource,
    asked: Asked,
    aims: Aims,
    path: Path | None,
    seed: int,
    steps: Steps,
) -> Indexed:
    """Build, tune and write the index of targets with their offsets folded in.

    Parameters
    ----------
    name : of a kind, or "auto"
    targets : (n, d)
    offsets : (n,) centred
    bank : (b, d) example queries
    path : of the file to write; None keeps the index in memory

    Raises
    ------
    InputError
        if the memory is too small, or a target does not fit what the kind stores.
    StorageError
        if the file cannot be written.
    """
    kinds, notes = kinds_to_try(name, INDEXES, targets.shape[0], augmented_dim(targets.shape[1]), aims)
    pivot = pivot_of(bank, targets, offsets) if offsets.any() and any(kind.pivoted for kind in kinds) else None
    best: list[Indexed] = []
    for kind in kinds:
        half = kind.precision == "float16"
        stored = HalfVectors(targets) if half else targets
        vectors = AugmentedVectors(stored, offsets, pivot if kind.pivoted else None, half)
        written = None if path is None else path.with_suffix(f".{kind.name}")
        made = _opened(make_index(kind, vectors, seed, steps, targets.shape[1]), written)
        tried = _tuned(kind, made, vectors.pivot, asked, aims, steps)
        best = [max((*best, tried), key=lambda each: _merit(each.setting, aims))]
        if path is not None and written is not None:
            written.replace(path) if best[0] is tried else written.unlink()
        if not (missed := _missed(best[0], aims)):
            break
    return replace(best[0], notes=[*notes, *missed])


def _opened(index: faiss.Index, path: Path | None) -> faiss.Index:
    """The index as it will be served: opened from its file, if there is a path."""
    if path is None:
        return index
    write_index(index, path)
    return read_index(path)


def _tuned(kind: IndexType, index: faiss.Index, pivot: F32 | None, asked: Asked, aims: Aims, steps: Steps) -> Indexed:
    steps.step(f"tuning the {kind.name} index")
    queries = augment_queries(asked.queries, 1.0, pivot)
    curve = recall_curve(kind, index, queries, stored_scores(index, queries, asked.rows))
    return Indexed(kind, index, pivot, curve, cheapest_setting(curve, aims), [])


def stored_scores(index: faiss.Index, queries: F32, rows: I64) -> F32:
    """Scores (m, k) of some rows by the stored vectors. In float16 they differ a little from those of the targets.

    Parameters
    ----------
    queries : (m, d') augmented
    rows : (m, k) of each query
    """
    stored = index.reconstruct_batch(rows.ravel()).reshape(*rows.shape, index.d)
    scores: F32 = np.einsum("md,mkd->mk", queries, stored)
    return scores


def index_record(kind: IndexType, setting: Setting, curve: list[Setting], aims: Aims, notes: list[str]) -> IndexRecord:
    """What the manifest says of an index."""
    return IndexRecord(
        type=kind.name,
        precision=kind.precision,
        parameters=setting.parameters,
        aims=AimsRecord(recall=aims.recall, memory=aims.memory, latency_ms=aims.latency_ms),
        curve=[
            SettingRecord(
                parameters=each.parameters, recall_at_10=each.recall, latency_ms=float(f"{each.latency_ms:.3g}")
            )
            for each in curve
        ],
        notes=notes,
    )


def _merit(setting: Setting, aims: Aims) -> tuple[bool, float, float]:
    """Recall up to the aim first, then time if there is an aim for it."""
    reached = setting.recall >= aims.recall
    return reached, 0.0 if reached else setting.recall, 0.0 if aims.latency_ms is None else -setting.latency_ms


def _missed(built: Indexed, aims: Aims) -> list[str]:
    within = "" if aims.memory is None else f" within {aims.memory:,} bytes"
    setting = built.setting
    missed = []
    if setting.recall < aims.recall:
        missed.append(
            f"a recall of {aims.recall:g} is not reached{within}: index {built.kind.name} reaches {setting.recall:.4f}"
        )
    if aims.latency_ms is not None and setting.latency_ms > aims.latency_ms:
        missed.append(
            f"{aims.latency_ms:g} ms a query are not reached{within} at this recall: "
            f"index {built.kind.name} takes {setting.latency_ms:.3g} ms"
        )
    return missed
