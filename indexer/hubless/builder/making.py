"""Making a version from vectors: correction → offsets → index → measurements."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.builder.bank_checks import CheckedBank, check_bank
from hubless.builder.banks import Measuring, bank_sample, hold_out, naming_held_out
from hubless.builder.indexing import Asked, Indexed, build_index
from hubless.builder.measuring import K_OCCURRENCE, Exact, measure_version
from hubless.builder.reading import Compared
from hubless.builder.recipe import Recipe
from hubless.corrections import QueryTime
from hubless.corrections.centred import CentredCorrection
from hubless.kernels.reductions import rankings
from hubless.knn import Aims
from hubless.knn.augment import centre
from hubless.progress import Steps
from hubless.search.canaries import Canary
from hubless.search.indexed import IndexedTargets
from hubless.store.bundle import AimsRecord, IndexRecord, Measured, SettingRecord
from hubless.vectors.arrays import F32
from hubless.vectors.sources import VectorSource


@dataclass(frozen=True)
class Corrected:
    """Targets (n, d) with their offsets (n,), centred, and the gate or rescorer of the correction if it has one."""

    targets: VectorSource
    correction: CentredCorrection
    offsets: F32
    query_time: QueryTime | None


@dataclass(frozen=True)
class Made:
    """All parts of a version but ids, payload and encoder."""

    targets: IndexedTargets
    offsets: F32
    correction: CentredCorrection
    query_time: QueryTime | None
    occurrence: NDArray[np.integer[Any]] | None
    bank_sample: F32 | None
    canary: Canary
    index: IndexRecord
    measured: Measured


def checked_bank(vectors: Compared, recipe: Recipe, bank_of_targets: bool) -> CheckedBank:
    """The query bank, examined. What is noticed is logged as warnings by the logger `hubless.banks`.

    Raises
    ------
    InputError
        if it holds targets, unless `bank_of_targets`.
    """
    bank, targets = vectors.query_bank, vectors.targets
    return check_bank(bank, targets, recipe.metric, bank_of_targets=bank_of_targets, seed=recipe.seed).logged()


def make(vectors: Compared, recipe: Recipe, steps: Steps, path: Path | None = None) -> Made:
    """Fit the correction, compute offsets, build the index and measure it.

    Parameters
    ----------
    path : of the file of the index; None keeps the index in memory

    Raises
    ------
    InputError
        if the banks are not what the correction needs, or the memory is too small for the index.
    """
    bank = vectors.query_bank
    fitting, measuring = hold_out(bank, recipe.seed)
    corrected = _correct(vectors, fitting, recipe, steps)
    return make_indexed(corrected, fitting, measuring, bank_sample(bank, recipe.seed), recipe, steps, path)


def _correct(vectors: Compared, fitting: VectorSource, recipe: Recipe, steps: Steps) -> Corrected:
    targets = vectors.targets
    steps.step("fitting the correction")
    with naming_held_out(vectors.query_bank, fitting):
        fitted = recipe.method.fit(fitting, targets, vectors.target_bank)
    offsets = fitted.offsets(targets, steps.step("computing offsets", targets.shape[0]))
    constant = float(offsets.astype(np.float64).mean())
    query_time = fitted.query_time(targets, steps.step("preparing for queries", targets.shape[0]))
    return Corrected(targets, CentredCorrection(fitted, constant), centre(offsets), query_time)


def make_indexed(
    corrected: Corrected,
    fitting: VectorSource,
    measuring: Measuring,
    sample: F32 | None,
    recipe: Recipe,
    steps: Steps,
    path: Path | None,
) -> Made:
    """Build the index of corrected targets, and measure it.

    Parameters
    ----------
    fitting : (b, d) the bank that the correction was fitted on
    sample : (s, d) queries of the bank, to store in the version
    """
    targets, offsets = corrected.targets, corrected.offsets
    steps.step("searching exactly")
    (_, rows), (_, raw) = rankings(measuring.queries, targets, K_OCCURRENCE, offsets, None)
    asked = Asked(measuring.queries, rows)
    indexed = build_index(recipe.index, targets, offsets, fitting, asked, recipe.aims, path, recipe.seed, steps)
    steps.step("measuring")
    setting = indexed.setting
    stored = IndexedTargets(indexed.kind, indexed.index, targets.shape[1], setting.parameters, indexed.pivot)
    found = measure_version(stored, offsets, corrected.query_time, measuring, Exact(raw, rows), setting.recall)
    return Made(
        targets=stored,
        offsets=offsets,
        correction=corrected.correction,
        query_time=corrected.query_time,
        occurrence=found.occurrence,
        bank_sample=sample,
        canary=found.canary,
        index=_index_record(indexed, recipe.aims),
        measured=found.measured,
    )


def _index_record(indexed: Indexed, aims: Aims) -> IndexRecord:
    return IndexRecord(
        type=indexed.kind.name,
        precision=indexed.kind.precision,
        parameters=indexed.setting.parameters,
        aims=AimsRecord(recall=aims.recall, memory=aims.memory, latency_ms=aims.latency_ms),
        curve=[
            SettingRecord(
                parameters=each.parameters, recall_at_10=each.recall, latency_ms=float(f"{each.latency_ms:.3g}")
            )
            for each in indexed.curve
        ],
        notes=indexed.notes,
    )
