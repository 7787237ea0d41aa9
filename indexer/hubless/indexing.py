"""The index of a collection: kinds are built and measured in turn, until one achieves what is asked for."""

from dataclasses import dataclass, replace
from pathlib import Path

import faiss
import numpy as np

from hubless.arrays import F32, I64
from hubless.augment import AugmentedVectors, augment_queries, augmented_dim, pivot_of
from hubless.knn import (
    INDEXES,
    Aims,
    IndexType,
    Setting,
    choose,
    kinds_to_try,
    make_index,
    measure,
    read_index,
    write_index,
)
from hubless.progress import Steps
from hubless.sources import HalfVectors, VectorSource


@dataclass(frozen=True)
class Asked:
    """What an index is measured with: queries (m, d), and the rows (m, k) of their exact best targets, best first."""

    queries: F32
    rows: I64


@dataclass(frozen=True)
class Indexed:
    """An index on disk, opened as it will be served.

    Parameters
    ----------
    pivot : (d,) with which offsets are folded, or None
    curve : the settings that were measured
    setting : the one that was chosen
    notes : what is to be said about the choice
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
    path: Path,
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
    path : of the file to write

    Raises
    ------
    InputError
        if the memory is too small, or a target does not fit what the kind stores.
    StorageError
        if the file cannot be written.
    """
    kinds, notes = kinds_to_try(name, INDEXES, targets.shape[0], augmented_dim(targets.shape[1]), aims)
    pivot = pivot_of(bank, targets, offsets) if offsets.any() and any(kind.pivoted for kind in kinds) else None
    tried: list[Indexed] = []
    for kind in kinds:
        half = kind.precision == "float16"
        stored = HalfVectors(targets) if half else targets
        vectors = AugmentedVectors(stored, offsets, pivot if kind.pivoted else None, half)
        written = path.with_suffix(f".{kind.name}")
        write_index(make_index(kind, vectors, seed, steps, targets.shape[1]), written)
        tried.append(_tuned(kind, read_index(written), vectors.pivot, asked, aims, steps))
        best = max(tried, key=lambda each: _merit(each.setting, aims))
        if best is tried[-1]:
            written.replace(path)
        else:
            written.unlink()
        if not (missed := _missed(best, aims)):
            break
    return replace(best, notes=[*notes, *missed])


def _tuned(kind: IndexType, index: faiss.Index, pivot: F32 | None, asked: Asked, aims: Aims, steps: Steps) -> Indexed:
    steps.step(f"tuning the {kind.name} index")
    queries = augment_queries(asked.queries, 1.0, pivot)
    # the scores of what is stored, which in float16 are not quite those of the targets
    stored = index.reconstruct_batch(asked.rows.ravel()).reshape(*asked.rows.shape, index.d)
    curve = measure(kind, index, queries, np.einsum("md,mkd->mk", queries, stored))
    return Indexed(kind, index, pivot, curve, choose(curve, aims), [])


def _merit(setting: Setting, aims: Aims) -> tuple[bool, float, float]:
    """Recall first, as far as it is asked for, then time if that matters."""
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
