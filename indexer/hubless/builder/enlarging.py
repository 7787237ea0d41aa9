"""A version made of another by adding and removing rows: the index is not trained again, nor the correction fitted."""

from dataclasses import dataclass, replace
from pathlib import Path

import faiss
import numpy as np

from hubless.builder.banks import Measuring, bank_sample, measuring_of
from hubless.builder.checkpoints import Checkpoints
from hubless.builder.correcting import Corrected
from hubless.builder.indexing import Asked, index_record, stored_scores
from hubless.builder.making import Made, make_indexed
from hubless.builder.measuring import K_OCCURRENCE, MeasuredHubness, measure_hubness, measured_record
from hubless.builder.recipe import Recipe
from hubless.kernels.reductions import rankings
from hubless.knn import Aims, Setting, cheapest_setting, read_index, recall_curve, write_index
from hubless.knn.augment import AugmentedVectors, augment_queries
from hubless.knn.filling import add_stored, add_vectors
from hubless.measures import k_occurrence
from hubless.progress import Steps
from hubless.search import canaries
from hubless.search.changed import ChangedTargets
from hubless.search.engines.base import StoredVectors, Targets
from hubless.search.engines.embedded import IndexedTargets
from hubless.search.parts import Parts
from hubless.search.ranker import Ranker
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import ArrayVectors, HalfVectors, VectorSource

GROWN = 0.2
"""With a larger share of rows that were added since the index was trained, it is trained again."""


@dataclass(frozen=True)
class Enlarged:
    """The rows of a new index: some of a stored one, and then others.

    Parameters
    ----------
    base : the stored index
    file : of the stored index; None for one in memory
    kept : (r,) its rows that stay, ascending
    more : (a, d) the others, as they are compared
    offsets : (r + a,)
    """

    base: IndexedTargets
    file: Path | None
    kept: I64
    more: VectorSource | None
    offsets: F32


def base_of(targets: Targets) -> IndexedTargets:
    """The targets of the index, without what was added or removed since it was built."""
    if isinstance(targets, ChangedTargets):
        return targets.base
    if not isinstance(targets, IndexedTargets):
        raise TypeError("not made of an index")
    return targets


def base_rows(targets: Targets) -> I64:
    """For each target its row in the index; −1 for those that are not in it."""
    rows: I64 = np.arange(len(targets))
    return targets.numbering.base_rows(rows) if isinstance(targets, ChangedTargets) else rows


def enlarge(
    before: Parts, rows: Enlarged, aims: Aims, path: Path, steps: Steps, measuring: Measuring | None = None
) -> Made | None:
    """Make the index of the rows, and measure it as a build does. None if its recall misses the aim.

    Parameters
    ----------
    before : the parts of the version, whose correction folds into offsets
    path : of the file of the index
    measuring : queries to measure with; by default those of the stored sample, which the correction was fitted on

    Raises
    ------
    StorageError
        if the file cannot be written.
    """
    kind, pivot = rows.base.kind, rows.base.pivot
    correction = before.correction()
    write_index(_index_of(rows, steps), path)
    index = read_index(path)
    targets = IndexedTargets(kind, index, rows.base.dim, rows.base.defaults, pivot)
    measuring = measuring or measuring_of(before.bank_sample, correction, before.canary())
    steps.step("measuring")
    source = StoredVectors(targets, "targets")
    (_, found), (_, raw) = rankings(measuring.queries, source, K_OCCURRENCE, rows.offsets, None)
    queries = augment_queries(measuring.queries, 1.0, pivot)
    exact = stored_scores(index, queries, found)
    curve = recall_curve(kind, index, queries, exact, [dict(rows.base.defaults)])
    if (setting := curve[0]).recall < aims.recall:
        curve = recall_curve(kind, index, queries, exact)
        setting = cheapest_setting(curve, aims)
    if setting.recall < aims.recall and not _was_missed(before, setting):
        return None
    targets = replace(targets, defaults=setting.parameters)
    occurrence = np.stack([k_occurrence(each, len(rows.offsets)) for each in (raw, found)]).astype(np.uint16)
    hubness = MeasuredHubness(len(measuring.queries), occurrence)
    return Made(
        targets=targets,
        offsets=rows.offsets,
        correction=correction,
        query_time=None,
        occurrence=occurrence,
        bank_sample=before.bank_sample,
        canary=canaries.ask(Ranker(targets, rows.offsets), measuring.queries, found.shape[1]),
        index=index_record(kind, setting, curve, aims, before.manifest.index.notes),
        measured=measured_record(hubness, measuring, setting.recall),
        trained=False,
    )


def remake(
    before: Parts,
    targets: VectorSource,
    offsets: F32,
    recipe: Recipe,
    steps: Steps,
    path: Path,
    checkpoints: Checkpoints | None = None,
    measuring: Measuring | None = None,
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
        measuring = Measuring(bank_sample(targets, recipe.seed), held_out=False)
    measuring = measuring or measuring_of(sample, correction, before.canary())
    bank = ArrayVectors(measuring.queries, "query bank")
    corrected = Corrected(targets, correction, offsets, before.prepared())
    steps.step("searching exactly")
    (_, raw), (_, found) = rankings(measuring.queries, targets, K_OCCURRENCE, None, offsets)
    hubness = measure_hubness(corrected, (raw, found), measuring, steps)
    asked = Asked(measuring.queries, found)
    made = make_indexed(corrected, hubness, bank, measuring, asked, sample, recipe, steps, path, checkpoints)
    # targets served as queries: good enough to tune the index, and no measure of hubness
    return replace(made, measured=None, occurrence=None) if without_bank else made


def _was_missed(before: Parts, setting: Setting) -> bool:
    """Whether the version missed its aim too, and by as much: then training again would bring nothing."""
    measured = before.manifest.measured
    return measured is not None and setting.recall >= measured.recall_at_10


def _index_of(rows: Enlarged, steps: Steps) -> faiss.Index:
    base, kind = rows.base, rows.base.kind
    index = faiss.clone_index(base.index) if rows.file is None else read_index(rows.file, mapped=False)
    if len(rows.kept) < index.ntotal:
        index.reset()  # forgets the rows, and keeps what was trained
        add_stored(index, base.index, rows.kept, steps.step(f"filling the {kind.name} index", len(rows.kept)))
    if rows.more is not None and (count := rows.more.shape[0]):
        half = kind.precision == "float16"
        more = HalfVectors(rows.more) if half else rows.more
        vectors = AugmentedVectors(more, rows.offsets[len(rows.kept) :], base.pivot if kind.pivoted else None, half)
        add_vectors(index, vectors, steps.step(f"adding to the {kind.name} index", count))
    return index


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
