"""A version made of another by adding and removing rows: the index is not trained again, nor the correction fitted."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from hubless.builder.banks.held_out import MeasuringQueries, bank_sample
from hubless.builder.checkpoints import Checkpoints
from hubless.builder.correcting import Corrected
from hubless.builder.indexing import Asked, Indexed, index_record, ladder
from hubless.builder.making import Made, make_indexed
from hubless.builder.measuring import K_OCCURRENCE, MeasuredHubness, measure_hubness, measured_record
from hubless.builder.places import Place
from hubless.builder.recipe import Recipe
from hubless.builder.refilling import Enlarged, refilled
from hubless.builder.shards import remove_files
from hubless.kernels.reductions import rankings
from hubless.knn import Setting, cheapest_setting, recall_curve
from hubless.measures import k_occurrence
from hubless.progress import Steps
from hubless.search import canaries
from hubless.search.changed import ChangedTargets
from hubless.search.engines.base import StoredVectors, Targets
from hubless.search.engines.sharded import Embedded, shards_of
from hubless.search.parts import Parts
from hubless.search.ranker import Ranker
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import ArrayVectors, VectorSource

GROWN = 0.2
"""With a larger share of rows that were added since the index was trained, it is trained again."""


def base_of(targets: Targets) -> Embedded:
    """The targets of the index, without what was added or removed since it was built."""
    stored = targets.base if isinstance(targets, ChangedTargets) else targets
    if not isinstance(stored, Embedded):
        raise TypeError("not made of an index")
    return stored


def base_rows(targets: Targets) -> I64:
    """For each target its row in the index; −1 for those that are not in it."""
    rows: I64 = np.arange(len(targets))
    return targets.numbering.base_rows(rows) if isinstance(targets, ChangedTargets) else rows


def enlarge(
    before: Parts, rows: Enlarged, recipe: Recipe, path: Path, steps: Steps, measuring: MeasuringQueries | None = None
) -> Made | None:
    """Make the index of the rows, and measure it as a build does. None if its recall misses the aim.

    Parameters
    ----------
    before : the parts of the version, whose correction folds into offsets
    recipe : for its aims and shards
    path : of the file of the index
    measuring : queries to measure with; by default those of the stored sample, which the correction was fitted on

    Raises
    ------
    StorageError
        if the file cannot be written.
    """
    correction, aims = before.correction(), recipe.aims
    targets = refilled(rows, recipe.shard_targets, path, steps)
    measuring = measuring or measuring_of(before)
    steps.step("measuring")
    source = StoredVectors(targets, "targets")
    (_, found), (_, raw) = rankings(measuring.queries, source, K_OCCURRENCE, rows.offsets, None)
    queries = targets.augmented(measuring.queries, 1.0)
    exact = targets.scores(queries, found)
    curve = recall_curve(targets.approximate, [dict(targets.defaults)], queries, exact)
    if (setting := curve[0]).recall < aims.recall:
        curve = recall_curve(targets.approximate, ladder(targets), queries, exact)
        setting = cheapest_setting(curve, aims)
    if setting.recall < aims.recall and not _was_missed(before, setting):
        remove_files(path, len(shards_of(targets)))
        return None
    targets = targets.tuned(setting.parameters)
    occurrence = np.stack([k_occurrence(each, len(rows.offsets)) for each in (raw, found)]).astype(np.uint16)
    hubness = MeasuredHubness(len(measuring.queries), occurrence)
    return Made(
        targets=targets,
        offsets=rows.offsets,
        correction=correction,
        query_time=None,
        occurrence=occurrence,
        bank_sample=before.bank_sample,
        canary=canaries.ask(Ranker(targets, rows.offsets), measuring.queries, found),
        index=index_record(Indexed(targets, curve, setting, before.manifest.index.notes), aims, recipe.shard_targets),
        measured=measured_record(hubness, measuring, setting.recall),
        trained=False,
    )


def remake(
    before: Parts,
    targets: VectorSource,
    offsets: F32,
    recipe: Recipe,
    steps: Steps,
    place: Place,
    checkpoints: Checkpoints | None = None,
    measuring: MeasuringQueries | None = None,
) -> Made:
    """Train the index of some targets anew, and measure it. The correction stays as it was fitted.

    Parameters
    ----------
    before : the parts that they come from
    targets : (n, d) as they are compared
    offsets : (n,)
    measuring : as for `enlarge`
    """
    correction, sample = before.correction(), before.bank_sample
    without_bank = measuring is None and sample is None and before.manifest.measured is None
    if without_bank:
        measuring = MeasuringQueries(bank_sample(targets, recipe.seed), held_out=False)
    measuring = measuring or measuring_of(before)
    bank = ArrayVectors(measuring.queries, "query bank")
    corrected = Corrected(targets, correction, offsets, before.prepared())
    steps.step("searching exactly")
    (_, raw), (_, found) = rankings(measuring.queries, targets, K_OCCURRENCE, None, offsets)
    hubness = measure_hubness(corrected, (raw, found), measuring, steps)
    asked = Asked(measuring.queries, found)
    made = make_indexed(corrected, hubness, bank, measuring, asked, sample, recipe, steps, place, checkpoints)
    # targets served as queries: good enough to tune the index, and no measure of hubness
    return replace(made, measured=None, occurrence=None) if without_bank else made


def measuring_of(before: Parts) -> MeasuringQueries:
    """Return queries to measure a changed version with: the stored sample of its bank, which the fit has seen."""
    sample = before.canary()["queries"] if before.bank_sample is None else before.bank_sample
    return MeasuringQueries(sample, held_out=False)


def _was_missed(before: Parts, setting: Setting) -> bool:
    """Whether the version missed its aim too, and by as much: then training again would bring nothing."""
    measured = before.manifest.measured
    return measured is not None and setting.recall >= measured.recall_at_10


def may_grow(before: Parts, added: int, count: int, share: float = GROWN) -> bool:
    """Whether rows may be added to the index of a version.

    Parameters
    ----------
    added : how many
    count : of the next version
    share : the largest share of rows that were added since the index was trained
    """
    if before.prepared() is not None or before.manifest.measured is None:
        return False
    return before.manifest.grown + added <= share * count
