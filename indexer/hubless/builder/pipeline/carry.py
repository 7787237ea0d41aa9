"""A version that carries the correction of the one before over, with its targets in an index that is trained anew."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hubless.builder.inputs.build_inputs import Contents
from hubless.builder.inputs.readings import in_file
from hubless.builder.pipeline.draft import VersionDraft, Workbench, empty_draft
from hubless.builder.pipeline.fit import index_version
from hubless.builder.pipeline.survey import K_OCCURRENCE, CorrectedTargets, HubnessCounts
from hubless.corrections.banks.bank_checks import bank_sample
from hubless.errors import InputError
from hubless.kernels.reductions import rankings
from hubless.knn.augment import folded_queries
from hubless.knn.tuning import agreement
from hubless.progress import Steps
from hubless.search.engines.base import StoredVectors
from hubless.search.parts import Parts, traits_of
from hubless.search.transaction import open_written
from hubless.store.bundle import IndexRecord, Measured
from hubless.store.catalog import Catalog
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import ArrayVectors, StackedVectors, TakenVectors, VectorSource, block_rows, turned_vectors

TARGETS = "targets"


@dataclass(frozen=True, eq=False)
class NextTargets:
    """The targets of a version that follows another one (`before`). Those without a vector come last.

    `kept` and `bare` are its rows that stay, with a vector and without; `put` (p, d) come after the kept ones.
    `payload` is that of `contents` in memory.
    """

    before: Parts | None
    kept: I64
    bare: I64
    put: VectorSource | None
    contents: Contents
    payload: pa.Table | None

    @classmethod
    def of(cls, parts: Parts) -> "NextTargets":
        kept, bare = with_vector_first(parts, np.arange(len(parts.targets)))
        order = np.concatenate([kept, bare])
        payload = None
        ids = parts.ids.array.take(pa.array(order)) if len(bare) else parts.ids.array
        if parts.payload is not None:
            payload = parts.payload.table().take(pa.array(order)) if len(bare) else parts.payload.table()
        return cls(parts, kept, bare, None, Contents.of_table(ids, payload, parts.encoder), payload)

    @property
    def count(self) -> int:
        return len(self.contents.ids)

    @property
    def count_with_vector(self) -> int:
        return self.count - len(self.bare)

    @property
    def came(self) -> int:
        if self.before is None:
            return self.count
        stored = len(self.before.targets) - len(self.before.targets.written)
        return self.count - int((np.concatenate([self.kept, self.bare]) < stored).sum())

    @property
    def parts(self) -> Parts:
        if self.before is None:
            raise TypeError("there is no version before")
        return self.before

    def vectors(self, folder: Path | None) -> VectorSource:
        sources: list[VectorSource] = []
        if len(self.kept):
            sources.append(TakenVectors(StoredVectors(self.parts.targets, TARGETS), self.kept, TARGETS))
        if self.put is not None:
            sources.append(self.put)
        if not sources:
            raise InputError(TARGETS, "at least one target", "none")
        if self.put is not None and not len(self.kept):
            return self.put
        every = StackedVectors(sources, TARGETS)
        return in_file(every.blocks(block_rows(every.shape[1])), every.shape, folder, TARGETS)

    def offsets(self, steps: Steps) -> F32:
        """Return the offsets of all vectors. Those that come get theirs from the correction as it was fitted."""
        kept = self.parts.targets.offsets(self.kept)
        if self.put is None:
            return kept
        payload = None if self.payload is None else self.payload.slice(len(self.kept), self.put.shape[0])
        traits = traits_of(self.parts.manifest, payload, self.put.shape[0])
        advance = steps.step("computing offsets", self.put.shape[0])
        return np.concatenate([kept, self.parts.correction().offsets(self.put, advance, traits)])


def current_parts(catalog: Catalog, name: str, until: int | None = None) -> Parts:
    """Return a collection as it is now: its current version, and the writes since, up to `until`."""
    return open_written(catalog, name, until=until, lenient=True).current.parts


def with_vector_first(parts: Parts, rows: I64) -> tuple[I64, I64]:
    """Return those of some rows of a collection that have a vector, and those that have none."""
    there = parts.targets.have_vectors(rows)
    return rows[there], rows[~there]


def carry_over(
    rows: NextTargets, bench: Workbench, folder: Path | None, *, measuring: F32 | None = None
) -> VersionDraft:
    """Make a version of the targets with the correction of the version before, in an index that is trained anew.

    Without `measuring`, the stored sample of the bank serves.
    """
    before = rows.parts
    offsets = rows.offsets(bench.steps)
    about: dict[str, Any] = {"seed": before.manifest.provenance.seed}
    about |= {name: getattr(before.manifest, name) for name in CARRIED}
    if len(offsets):
        draft = measured_draft(before, rows.vectors(folder), offsets, bench, measuring)
    else:
        draft = empty_draft(before.targets.dim, before.correction(), before.bank_sample, about)
        draft = replace(draft, index=_empty_record(draft.index, before.manifest.index))
        if before.manifest.keep_full:
            about["dims"] = before.manifest.dims
    about["frozen"] = min(rows.count, before.manifest.frozen + rows.came)
    return replace(draft, about=about, vectorless=len(rows.bare), confidence=before.confidence, basis=before.basis)


CARRIED = (
    *("metric", "correction", "bank", "strength", "decided", "strength_choice", "target_prior", "clicks"),
    *("own_offsets", "fit_by", "notes", "job", "bank_order"),
)


def measured_draft(
    before: Parts, targets: VectorSource, offsets: F32, bench: Workbench, measuring: F32 | None
) -> VersionDraft:
    """Place targets with their offsets, and measure them with the bank that the version before has a sample of."""
    sample = before.bank_sample
    without_bank = measuring is None and sample is None and before.manifest.measured is None
    if without_bank:
        asking = turned_vectors(targets, before.manifest.metric)
        measuring = bank_sample(asking, bench.recipe.seed)
    if measuring is None:
        measuring = before.canary()["queries"] if sample is None else sample
    corrected = CorrectedTargets(targets, before.correction(), offsets, before.prepared())
    bench.steps.step("searching exactly")
    (_, raw), (_, found) = rankings(measuring, targets, K_OCCURRENCE, None, offsets)
    bench.steps.step("measuring hubness")
    hubness = HubnessCounts.of(corrected, measuring, (raw, found))
    bank = ArrayVectors(measuring, "query bank")
    draft = replace(index_version(corrected, found, hubness, bank, measuring, bench), bank_sample=sample)
    # targets served as queries: good enough to tune the index, and no measure of hubness
    return replace(draft, measured=None, occurrence=None) if without_bank else draft


def measured_again(now: Parts, measuring: F32 | None) -> Measured | None:
    """Measure hubness and recall of a collection as it is, with the bank that it has a sample of; None without one."""
    sample = now.bank_sample
    targets = now.targets
    if measuring is None:
        if sample is None:
            return now.manifest.measured
        measuring = sample
    rows = np.flatnonzero(targets.have_vectors(np.arange(len(targets))))
    every: VectorSource = StoredVectors(targets, TARGETS)
    if len(rows) < len(targets):
        every = TakenVectors(every, rows, TARGETS)
    offsets = targets.offsets(rows)
    (_, raw), (scores, found) = rankings(measuring, every, K_OCCURRENCE, None, offsets)
    corrected = CorrectedTargets(every, now.correction(), offsets, now.prepared())
    hubness = HubnessCounts.of(corrected, measuring, (raw, found))
    by_index, _ = targets.find(folded_queries(measuring, 1.0), found.shape[1], targets.defaults, None)
    return hubness.record(agreement(by_index, scores))


def _empty_record(made: IndexRecord, before: IndexRecord) -> IndexRecord:
    """Return the record of an empty index, which keeps the engine and the candidates of the version before."""
    made = made.model_copy(update={"candidates": before.candidates})
    if before.engine is None:
        return made
    return made.model_copy(update={"engine": before.engine.model_copy(update={"name": "", "details": {}})})
