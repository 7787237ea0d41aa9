"""A version that carries the correction of the one before over; its index grows by new rows, or is trained anew."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hubless.builder.banks.bank_checks import MeasuringQueries, bank_sample
from hubless.builder.indexing import (
    IndexGrowth,
    IndexOrder,
    IndexResult,
    grown_index,
    index_paths,
    kept_full,
    ladder,
    remove_files,
)
from hubless.builder.inputs import Contents, in_file
from hubless.builder.pipeline.draft import VersionDraft, Workbench, empty_draft
from hubless.builder.pipeline.fit import index_version
from hubless.builder.pipeline.survey import K_OCCURRENCE, CorrectedTargets, HubnessCounts
from hubless.errors import InputError
from hubless.kernels.reductions import rankings
from hubless.knn import cheapest_setting, recall_curve, write_index
from hubless.progress import Steps
from hubless.search.delta.overlay import DeltaTargets
from hubless.search.engines.base import StoredVectors, Targets
from hubless.search.engines.full import Embedded, FullTargets, shards_of
from hubless.search.engines.sharded import OwnTargets
from hubless.search.parts import Parts, traits_of
from hubless.search.transaction import open_written
from hubless.store import bundle
from hubless.store.bundle import IndexRecord
from hubless.store.catalog import Catalog
from hubless.store.durable import link
from hubless.vectors.arrays import F32, I64
from hubless.vectors.basis import reduced_vectors
from hubless.vectors.sources import (
    ArrayVectors,
    StackedVectors,
    TakenVectors,
    VectorSource,
    block_rows,
    half_vectors,
    turned_vectors,
)

TARGETS = "targets"
GROWN = 0.2
"""With a larger share of rows that were added since the index was trained, it is trained again."""


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
        kept, bare = with_vector_first(parts, np.arange(len(parts.offsets)))
        order, payload = np.concatenate([kept, bare]), None
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
        known = 0 if self.before is None else int((self.base_rows[np.concatenate([self.kept, self.bare])] >= 0).sum())
        return self.count - known

    @property
    def base_rows(self) -> I64:
        """For each target of the collection before its row in the index; −1 for those that are not in it."""
        targets = self.parts.targets
        rows: I64 = np.arange(len(targets))
        return targets.numbering.base_rows(rows) if isinstance(targets, DeltaTargets) else rows

    @property
    def parts(self) -> Parts:
        if self.before is None:
            raise TypeError("there is no version before")
        return self.before

    @property
    def base(self) -> Targets:
        targets = self.parts.targets
        return targets.base if isinstance(targets, DeltaTargets) else targets

    def since(self, start: int) -> VectorSource | None:
        """Return the vectors from a row on, at most the number of kept ones; None if there are none."""
        sources: list[VectorSource] = []
        if start < len(self.kept):
            sources.append(TakenVectors(StoredVectors(self.parts.targets, TARGETS), self.kept[start:], TARGETS))
        if self.put is not None:
            sources.append(self.put)
        return StackedVectors(sources, TARGETS) if sources else None

    def growth(self, file: Path | None, offsets: F32) -> IndexGrowth:
        """Return the rows that stay in the index of the version before, and the others."""
        base = self.base
        if not isinstance(base, Embedded):
            raise TypeError("not made of an index")
        in_index = self.base_rows[self.kept]
        in_index = in_index[in_index >= 0]
        if (more := self.since(len(in_index))) is not None and base.kind.precision == "float16":
            more = half_vectors(more, self.parts.manifest.metric)
        if isinstance(base, FullTargets):
            more = None if more is None else reduced_vectors(more, base.basis)
            base = base.index
        return IndexGrowth(base, file, in_index, more, offsets)

    def vectors(self, folder: Path) -> VectorSource:
        every = self.since(0)
        if every is None:
            raise InputError(TARGETS, "at least one target", "none")
        if self.put is not None and not len(self.kept):
            return self.put
        return in_file(every.blocks(block_rows(every.shape[1])), every.shape, folder, TARGETS)

    def offsets(self, steps: Steps) -> F32:
        """Return the offsets of all vectors. Those that come get theirs from the correction as it was fitted."""
        kept = self.parts.offsets[self.kept]
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
    rows: NextTargets,
    bench: Workbench,
    folder: Path,
    *,
    file: Path | None = None,
    grow: bool = True,
    measuring: MeasuringQueries | None = None,
) -> VersionDraft:
    """Make a version of the targets with the correction of the version before.

    `file` is of its index, or that it would have in one file. With `grow`, rows are added to it instead of training it
    anew, unless its recall then misses the aim. Without `measuring`, the stored sample of the bank serves.
    """
    before = rows.parts
    offsets, draft = rows.offsets(bench.steps), None
    about: dict[str, Any] = {"seed": before.manifest.provenance.seed}
    about |= {name: getattr(before.manifest, name) for name in _CARRIED}
    if not len(offsets):
        path, dim = folder / bundle.INDEX, before.targets.dim
        draft = empty_draft(dim, before.correction(), before.bank_sample, path, about)
        draft = replace(draft, index=_empty_record(draft.index, before.manifest.index))
        if before.manifest.keep_full:
            about["dims"] = before.manifest.dims
    elif grow and not before.manifest.index.external:
        growth = rows.growth(file, offsets)
        draft = _grown(rows, growth, bench, folder / bundle.INDEX, measuring)
    if draft is None:
        draft = _measured(before, rows.vectors(folder), offsets, bench, measuring)
    came = rows.came
    about["frozen"] = min(rows.count, before.manifest.frozen + came)
    about["grown"] = 0 if draft.trained else before.manifest.grown + came
    return replace(draft.extended(rows.count), about=about, confidence=before.confidence, basis=before.basis)


_CARRIED = (
    *("metric", "correction", "bank", "strength", "strength_choice", "target_prior", "own_offsets", "fit_by"),
    *("notes", "job", "bank_order"),
)


def copy_version(parts: Parts, targets: Embedded, path: Path) -> VersionDraft:
    """Make a version of a collection as it is: its files are linked, or an index in memory is written."""
    count = len(shards_of(targets))
    if parts.folder is None or count == 1:
        if isinstance(targets, FullTargets):
            kept_full(targets.full, targets.kind.precision, path)
        for shard, written in zip(shards_of(targets), index_paths(path, count), strict=True):
            write_index(shard.index, written)
    else:
        files = index_paths(parts.folder / bundle.INDEX, count)
        for file, written in zip(files, index_paths(path, count), strict=True):
            link(file, written)
        if isinstance(targets, FullTargets):
            link(parts.folder / bundle.FULL, path.with_name(bundle.FULL))
    before = parts.manifest
    return VersionDraft(
        targets=targets,
        offsets=parts.offsets,
        correction=parts.correction(),
        query_time=parts.prepared(),
        occurrence=parts.occurrence(),
        bank_sample=parts.bank_sample,
        canary=parts.canary(),
        confidence=parts.confidence,
        basis=parts.basis,
        index=before.index,
        measured=before.measured,
        trained=False,
        about={name: getattr(before, name) for name in (*_CARRIED, "frozen", "grown")}
        | {"seed": before.provenance.seed},
    )


def may_grow(rows: NextTargets) -> bool:
    """Return whether rows may be added to the index of the version before, instead of training it anew."""
    before = rows.parts
    if len(rows.bare) or before.prepared() is not None or before.manifest.measured is None:
        return False
    return before.manifest.grown + rows.came <= GROWN * rows.count


def _grown(
    rows: NextTargets, growth: IndexGrowth, bench: Workbench, path: Path, measuring: MeasuringQueries | None
) -> VersionDraft | None:
    """Add rows to the index, and measure it as a build does. None if its recall misses the aim."""
    before, recipe, aims = rows.parts, bench.recipe, bench.recipe.aims
    grown: Embedded = grown_index(growth, recipe.shard_targets, path, bench.steps)
    if isinstance(grown, OwnTargets) and isinstance(rows.base, FullTargets):
        every = rows.since(0) or rows.base.full
        full = kept_full(every, grown.kind.precision, path)
        grown = replace(rows.base, index=grown, full=full, offsets=growth.offsets)

    def tuned(order: IndexOrder, steps: Steps) -> IndexResult[Embedded]:
        queries = grown.augmented(order.answers.queries, 1.0)
        exact = grown.scores(queries, order.answers.rows)
        curve = recall_curve(grown.approximate, [dict(grown.defaults)], queries, exact)
        if curve[0].recall < aims.recall:
            curve = recall_curve(grown.approximate, ladder(grown), queries, exact)
        setting = cheapest_setting(curve, aims)
        return IndexResult(grown.tuned(setting.parameters), curve, setting, before.manifest.index.notes)

    vectors = StoredVectors(grown, TARGETS)
    draft = _measured(before, vectors, growth.offsets, replace(bench, place=tuned), measuring)
    known, made = before.manifest.measured, draft.measured
    # if the version before missed its aim by as much, training again would bring nothing
    if made and made.recall_at_10 < aims.recall and (known is None or made.recall_at_10 < known.recall_at_10):
        remove_files(path, len(shards_of(grown)))
        path.with_name(bundle.FULL).unlink(missing_ok=True)
        return None
    return replace(draft, trained=False)


def _measured(
    before: Parts, targets: VectorSource, offsets: F32, bench: Workbench, measuring: MeasuringQueries | None
) -> VersionDraft:
    """Place targets with their offsets, and measure them with the bank that the version before has a sample of."""
    sample = before.bank_sample
    without_bank = measuring is None and sample is None and before.manifest.measured is None
    if without_bank:
        asking = turned_vectors(targets, before.manifest.metric)
        measuring = MeasuringQueries(bank_sample(asking, bench.recipe.seed), held_out=False)
    if measuring is None:
        measuring = MeasuringQueries(before.canary()["queries"] if sample is None else sample, held_out=False)
    corrected = CorrectedTargets(targets, before.correction(), offsets, before.prepared())
    bench.steps.step("searching exactly")
    (_, raw), (_, found) = rankings(measuring.queries, targets, K_OCCURRENCE, None, offsets)
    hubness = HubnessCounts.of(corrected, measuring.queries, (raw, found), bench.steps)
    bank = ArrayVectors(measuring.queries, "query bank")
    draft = replace(index_version(corrected, found, hubness, bank, measuring, bench), bank_sample=sample)
    # targets served as queries: good enough to tune the index, and no measure of hubness
    return replace(draft, measured=None, occurrence=None) if without_bank else draft


def _empty_record(made: IndexRecord, before: IndexRecord) -> IndexRecord:
    """Return the record of an empty index, which keeps the engine and the candidates of the version before."""
    made = made.model_copy(update={"candidates": before.candidates})
    if before.engine is None:
        return made
    return made.model_copy(update={"engine": before.engine.model_copy(update={"name": "", "details": {}})})
