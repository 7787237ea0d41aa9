"""Making a version from vectors: correction → offsets → index → measurements."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from hubless.builder.banks.bank_checks import CheckedBank, check_bank, log
from hubless.builder.banks.held_out import MeasuringQueries, bank_sample, hold_out, naming_held_out
from hubless.builder.checkpoints import Arrays, Checkpoints, NoCheckpoints
from hubless.builder.correcting import Corrected, corrected_by, fits_on
from hubless.builder.indexing import Asked
from hubless.builder.measuring import K_OCCURRENCE, MeasuredHubness, measure_hubness, measured_record
from hubless.builder.places import Order, Place
from hubless.builder.reading import Compared
from hubless.builder.recipe import Recipe
from hubless.builder.surveying import survey
from hubless.corrections import FittedCorrection, QueryTime
from hubless.corrections.centred import CentredCorrection
from hubless.knn import INDEXES, augment
from hubless.progress import Steps
from hubless.search import canaries
from hubless.search.canaries import Canary
from hubless.search.engines.base import StoredTargets
from hubless.search.engines.embedded import IndexedTargets
from hubless.search.ranker import Ranker
from hubless.store.bundle import IndexRecord, Measured
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import VectorSource


@dataclass(frozen=True)
class Made:
    """All parts of a version but ids, payload and encoder. `trained` says whether its index was trained for it."""

    targets: StoredTargets
    offsets: F32
    correction: CentredCorrection
    query_time: QueryTime | None
    occurrence: NDArray[np.integer[Any]] | None
    bank_sample: F32 | None
    canary: Canary
    index: IndexRecord
    measured: Measured | None
    trained: bool = True
    notes: Sequence[str] = ()
    """What the fits have to say."""


def checked_bank(vectors: Compared, recipe: Recipe, bank_of_targets: bool) -> CheckedBank:
    """The query bank, examined. What is noticed is logged as warnings by the logger `hubless.banks`.

    Raises
    ------
    InputError
        if it holds targets, unless `bank_of_targets`.
    """
    bank, targets = vectors.query_bank, vectors.targets
    known = vectors.bank_among_targets
    return check_bank(
        bank, targets, recipe.metric, bank_of_targets=bank_of_targets, seed=recipe.seed, among=known
    ).logged()


def make(vectors: Compared, recipe: Recipe, steps: Steps, place: Place, checkpoints: Checkpoints | None = None) -> Made:
    """Measure the correction, fit it on all of the bank, compute offsets and build the index.

    Hubness is measured with a fit that has not seen the held-out queries. This fit is then dropped: the offsets of the
    version are fitted on all of the bank.

    Parameters
    ----------
    place : for the vectors
    checkpoints : keep what was computed, so that a killed build goes on; None keeps nothing

    Raises
    ------
    InputError
        if the banks are not what the correction needs, or the memory is too small for the index.
    """
    targets, bank, kept = vectors.targets, vectors.query_bank, checkpoints or NoCheckpoints()
    fitting, measuring = hold_out(bank, recipe.seed)
    with naming_held_out(bank, fitting):
        measured, shipped = fits_on((fitting, bank), vectors, recipe, steps, kept)
    advance = steps.step("computing offsets", targets.shape[0])
    k = min(K_OCCURRENCE, targets.shape[0])
    found = survey(targets, (measured, shipped), measuring.queries, k, vectors.target_prior, kept, advance)
    hubness = _held_out_hubness(
        measured, targets, found.offsets[0], (found.rows[0], found.rows[1]), measuring, steps, kept
    )
    corrected = corrected_by(shipped, targets, found.offsets[1], steps)
    asked = Asked(measuring.queries, found.rows[2])
    sample = bank_sample(bank, recipe.seed)
    made = make_indexed(corrected, hubness, fitting, measuring, asked, sample, recipe, steps, place, checkpoints)
    return replace(made, notes=_notes(measured, shipped))


def _notes(measured: FittedCorrection, shipped: FittedCorrection) -> list[str]:
    """Return and log what the fit of the version notes, or else the fit that is measured."""
    if note := shipped.details.get("note"):
        notes = [f"{note}."]
    elif note := measured.details.get("note"):
        notes = [f"Measured without the held-out queries: {note}."]
    else:
        notes = []
    for each in notes:
        log.warning(each)
    return notes


def _held_out_hubness(
    fitted: FittedCorrection,
    targets: VectorSource,
    offsets: F32,
    found: tuple[I64, I64],
    measuring: MeasuringQueries,
    steps: Steps,
    checkpoints: Checkpoints,
) -> MeasuredHubness:
    """What the fit prepares for queries ends with this function, before that of the version is prepared."""

    def measure() -> Arrays:
        corrected = corrected_by(fitted, targets, offsets, steps)
        measured = measure_hubness(corrected, found, measuring, steps)
        return {"queries": np.array(measured.queries), "occurrence": measured.occurrence}

    arrays = checkpoints.arrays("hubness", measure)
    return MeasuredHubness(int(arrays["queries"]), arrays["occurrence"])


def make_indexed(
    corrected: Corrected,
    hubness: MeasuredHubness,
    bank: VectorSource,
    measuring: MeasuringQueries,
    asked: Asked,
    sample: F32 | None,
    recipe: Recipe,
    steps: Steps,
    place: Place,
    checkpoints: Checkpoints | None = None,
) -> Made:
    """Build the index of corrected targets, choose its search parameters and measure its recall.

    Recall compares the index with an exact search of the same scores, so the offsets are those of the version. The
    index itself has not seen the measuring queries: it is trained on the targets, and its pivot comes from `bank`.

    Parameters
    ----------
    bank : (b, d) example queries without the measuring queries
    asked : measuring queries, and what an exact search with the offsets finds for them
    sample : (s, d) queries of the bank, to store in the version
    """
    offsets = corrected.offsets
    order = Order(corrected, bank, asked, recipe)
    stored, record, recall = place.put(order, steps, checkpoints or NoCheckpoints())
    return Made(
        targets=stored,
        offsets=offsets,
        correction=corrected.correction,
        query_time=corrected.query_time,
        occurrence=hubness.occurrence,
        bank_sample=sample,
        canary=canaries.ask(Ranker(stored, offsets, corrected.query_time), measuring.queries, asked.rows),
        index=record,
        measured=measured_record(hubness, measuring, recall),
    )


def empty_index(dim: int) -> faiss.Index:
    """The index of a version without targets of d dimensions."""
    return INDEXES["flat"].new(0, augment.augmented_dim(dim), 0, None)


def make_empty(dim: int, correction: CentredCorrection, sample: F32 | None) -> Made:
    """A version without targets, to be written to.

    Parameters
    ----------
    sample : (s, d) queries of the bank, to store in the version
    """
    kind = INDEXES["flat"]
    return Made(
        targets=IndexedTargets(kind, empty_index(dim), dim, {}),
        offsets=np.empty(0, np.float32),
        correction=correction,
        query_time=None,
        occurrence=None,
        bank_sample=sample,
        canary={
            "queries": np.empty((0, dim), np.float32),
            "rows": np.empty((0, 0), np.int64),
            "scores": np.empty((0, 0), np.float32),
            "recall": np.array(1.0),
        },
        index=IndexRecord(type=kind.name, parameters={}),
        measured=None,
    )
