"""The next version of a collection: its fit stays or is a new one, its indexes stay or one is trained anew."""

from dataclasses import dataclass, replace
from pathlib import Path

import faiss
import numpy as np
import pyarrow as pa

from hubless.builder.indexing import in_segments
from hubless.builder.inputs.readings import in_file
from hubless.builder.inputs.target_table import TargetTable
from hubless.builder.pipeline.fit import New, PlacedTargets, fit_version, index_version
from hubless.builder.pipeline.flush import as_flushed
from hubless.builder.pipeline.manifests import UNSAVED
from hubless.builder.pipeline.publishing import Workbench, drafting
from hubless.builder.pipeline.survey import K_OCCURRENCE, CorrectedTargets, HubnessCounts
from hubless.builder.recipe import Recipe, recipe_of
from hubless.corrections.banks.bank_checks import bank_sample
from hubless.corrections.target_columns import NO_COLUMNS, TargetColumns
from hubless.encoders import Encoder
from hubless.kernels.forks import cached_property
from hubless.kernels.reductions import rankings
from hubless.kernels.threads import one_blas_thread
from hubless.knn import INDEXES
from hubless.knn.augment import augmented_dim, folded_queries
from hubless.knn.exhaustive import openmp_threads
from hubless.knn.flat import FLAT_KIND
from hubless.knn.tuning import agreement
from hubless.progress import Steps
from hubless.search.canaries import Canary
from hubless.search.engines.embedded import FaissIndex
from hubless.search.parts import Parts
from hubless.search.segments.role_columns import columns_of
from hubless.search.transaction import changed_parts, new_targets
from hubless.search.writes import Put
from hubless.store.bundle import IndexRecord, Manifest, Measured
from hubless.store.catalog import Catalog
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import (
    ArrayVectors,
    StackedVectors,
    TakenVectors,
    VectorSource,
    block_rows,
    in_memory,
    turned_vectors,
)

TARGETS = "targets"


@dataclass(frozen=True, eq=False)
class NextTargets:
    """The targets of a version that follows another one (`before`). Those without a vector come last.

    `kept` and `bare` are its rows that stay, with a vector and without; `put` (p, d) come after the kept ones.
    """

    before: Parts | None
    kept: I64
    bare: I64
    put: VectorSource | None
    ids: pa.Array
    payload: pa.Table | None
    encoder: Encoder | None

    @classmethod
    def of(cls, parts: Parts) -> "NextTargets":
        kept, bare = with_vector_first(parts)
        ids, payload = parts.ids.array, parts.payload_table
        if len(bare):
            order = pa.array(np.concatenate([kept, bare]))
            ids, payload = ids.take(order), payload and payload.take(order)
        return cls(parts, kept, bare, None, ids, payload, parts.encoder)

    def held(self, folder: Path | None) -> TargetTable:
        """Return ids, payload and encoder as they are served."""
        made = TargetTable.of(self.ids, self.payload, self.encoder, folder)
        return replace(made, columns=self.columns)

    @cached_property
    def columns(self) -> TargetColumns:
        """Columns kept of each apart from its payload: what is put in place of a target keeps what was known of it."""
        if self.before is None:
            return NO_COLUMNS
        rows = [self.kept, self.before.ids.rows(self.put_ids.to_pylist()), self.bare]
        return self.before.targets.columns(np.concatenate(rows))

    @property
    def count(self) -> int:
        return len(self.ids)

    @property
    def count_with_vector(self) -> int:
        return self.count - len(self.bare)

    @property
    def known_payload(self) -> pa.Table | None:
        """The payload of those with a vector."""
        return None if self.payload is None else self.payload.slice(0, self.count_with_vector)

    @property
    def came(self) -> int:
        targets = self.parts.targets
        stored = len(targets) - len(targets.written)
        return self.count - int((np.concatenate([self.kept, self.bare]) < stored).sum())

    @property
    def put_ids(self) -> pa.Array:
        return self.ids.slice(len(self.kept), self.count_with_vector - len(self.kept))

    @property
    def put_payload(self) -> pa.Table | None:
        """The payload of those that are put."""
        return None if self.payload is None else self.payload.slice(len(self.kept), len(self.put_ids))

    @property
    def put_columns(self) -> TargetColumns:
        return self.columns[len(self.kept) : self.count_with_vector]

    @property
    def parts(self) -> Parts:
        if self.before is None:
            raise TypeError("there is no version before")
        return self.before

    def vectors(self, folder: Path | None) -> VectorSource:
        if self.put is not None and not len(self.kept):
            return self.put
        kept = TakenVectors(self.parts.targets, self.kept, TARGETS)
        every = StackedVectors([kept] if self.put is None else [kept, self.put], TARGETS)
        return in_file(every.blocks(block_rows(every.shape[1])), every.shape, folder, TARGETS)

    def offsets(self, steps: Steps) -> F32:
        """Return the offsets of all vectors. Those that come get theirs from the correction as it was fitted."""
        kept = self.parts.targets.offsets(self.kept)
        if self.put is None:
            return kept
        columns = columns_of(self.parts.manifest.roles, self.put_payload, self.put_columns)
        advance = steps.step("computing offsets", self.put.shape[0])
        return np.concatenate([kept, self.parts.correction().offsets(self.put, advance, columns)])

    def written(self) -> Parts | None:
        """Return the collection before with these targets, in the indexes that it has.

        None where they take no more: in an engine outside, without vectors to compare with, or with other columns.
        """
        before = self.parts
        schema = None if self.payload is None else self.payload.schema
        takes = not before.manifest.index.external and schema == before.payload_schema
        if not takes or not len(before.targets.stored[0].segment):
            return None
        leaving = np.setdiff1d(np.arange(len(before.targets)), np.concatenate([self.kept, self.bare]))
        targets = before.targets.without(leaving)
        if self.put is not None:
            payload = self.put_payload
            put = Put(in_memory(self.put), self.put_ids, payload and payload.combine_chunks())
            ranks = before.targets.next_rank(before.seq) + np.arange(len(put.ids))
            stamps = np.stack([np.full(len(ranks), before.seq), ranks])
            targets = targets.with_more(new_targets(before, put, stamps, self.put_columns))
        return changed_parts(replace(before, encoder=self.encoder), targets, before.seq)


def with_vector_first(parts: Parts, rows: I64 | None = None) -> tuple[I64, I64]:
    """Return those of some rows of a collection that have a vector, and those that have none; None for all rows."""
    rows = np.arange(len(parts.targets)) if rows is None else rows
    there = parts.targets.have_vectors(rows)
    return rows[there], rows[~there]


def next_version(
    parent: Parts | None,
    bench: Workbench,
    *,
    fit: New | None = None,
    rows: NextTargets | None = None,
    trains: bool = True,
) -> Parts:
    """Return the version that follows the parent, a collection with what came and without what is gone.

    Its fit stays, or is a new one. Its indexes stay, and get a flat segment more, or one is trained anew. This is the
    only way to a version: what builds, merges, compactions, fits and jobs do differs in these arguments.

    Parameters
    ----------
    parent : None for a first version
    fit : None keeps that of the parent
    rows : the targets to train an index of, if they are others than those of the parent
    trains : train an index, as a new fit always does
    """
    threads = faiss.omp_get_max_threads()
    # BLAS' threads wait for each other busily, and so do OpenMP's unless there are more of them than cores. Beside
    # other processes that took ten times as long
    with one_blas_thread, openmp_threads(threads + (threads > 1)):
        if fit is not None:
            made = fit_version(fit, bench)
            return made if parent is None else replace(made.saying(version=parent.manifest.version), seq=parent.seq)
        if parent is None:
            raise TypeError("a first version has no fit to keep")
        return _trained(rows or NextTargets.of(parent), bench) if trains else as_flushed(parent)


def _trained(rows: NextTargets, bench: Workbench) -> Parts:
    """Return targets with the fit of the version before, in an index that is trained anew."""
    before = rows.parts
    known = before.manifest
    held = rows.held(bench.folder)
    offsets = rows.offsets(bench.steps)
    placed, query_time = placed_nothing(before.targets.dim, known.index), None
    if len(offsets):
        targets = rows.vectors(bench.folder)
        queries, is_bank = _measuring(before, targets, bench.recipe.seed)
        corrected = CorrectedTargets(targets, before.correction(), offsets, before.prepared())
        query_time = corrected.query_time
        bench.steps.step("searching exactly")
        hubness, found, _ = _measured(corrected, queries, bench.steps)
        placed = index_version(corrected, found, hubness, ArrayVectors(queries, "query bank"), queries, bench)
        if not is_bank:
            placed = replace(placed, measured=None, occurrence=None)
    frozen = min(rows.count, known.frozen + rows.came)
    made = before.saying(built=UNSAVED, frozen=frozen, grown=0, index=placed.index, measured=placed.measured)
    return replace(
        made,
        targets=held.fill(placed.targets, placed.occurrence),
        encoder=held.encoder,
        prepared=lambda: query_time,
        canary=lambda: placed.canary,
    )


def keep_fit(
    catalog: Catalog, name: str, parts: Parts, steps: Steps, recipe: Recipe | None = None, *, trains: bool = False
) -> Manifest:
    """Publish a version of parts with the fit that they have, in the indexes that they have or in one trained anew."""
    recipe = recipe or recipe_of(parts)
    with drafting(catalog, name, recipe if trains else recipe.in_process(), steps) as draft:
        return draft.publish(next_version(parts, draft, trains=trains))


def _measuring(before: Parts, targets: VectorSource, seed: int) -> tuple[F32, bool]:
    """Return queries (m, d) to measure with, and whether they are bank queries. Without any, targets serve.

    These are good enough to tune an index, and no measure of hubness.
    """
    if before.bank_sample is not None:
        return before.bank_sample, True
    if before.manifest.measured is not None:
        return before.canary()["queries"], True
    return bank_sample(turned_vectors(targets, before.space.metric), seed), False


def _measured(corrected: CorrectedTargets, queries: F32, steps: Steps) -> tuple[HubnessCounts, I64, F32]:
    """Return the hubness of exact answers to queries (m, d), their rows (m, k), and scores."""
    (_, raw), (scores, found) = rankings(queries, corrected.targets, K_OCCURRENCE, None, corrected.offsets)
    steps.step("measuring hubness")
    return HubnessCounts.of(corrected, queries, (raw, found)), found, scores


def measured_again(now: Parts, steps: Steps) -> Measured | None:
    """Measure hubness and recall of a collection as it is, with the bank that it has a sample of; None without one."""
    queries = now.bank_sample
    if queries is None:
        return now.manifest.measured
    targets = now.targets
    rows, _ = with_vector_first(now)
    corrected = CorrectedTargets(
        TakenVectors(targets, rows, TARGETS), now.correction(), targets.offsets(rows), now.prepared()
    )
    hubness, found, scores = _measured(corrected, queries, steps)
    by_index, _ = targets.find(folded_queries(queries, 1.0), found.shape[1], targets.defaults, None)
    return hubness.record(agreement(by_index, scores))


def placed_nothing(dim: int, like: IndexRecord | None = None) -> PlacedTargets:
    """Return targets of `dim` coordinates without any vector, to be written to.

    Their record keeps the engine and the candidates of the index before.
    """
    kind = INDEXES[FLAT_KIND]
    index = FaissIndex(kind, kind.new(0, augmented_dim(dim), None), dim, {})
    record = IndexRecord(type=kind.name, parameters={})
    if like is not None:
        outside = like.engine and like.engine.model_copy(update={"name": "", "details": {}})
        record = record.model_copy(update={"candidates": like.candidates, "engine": outside})
    canary: Canary = {
        "queries": np.empty((0, dim), np.float32),
        "rows": np.empty((0, 0), np.int64),
        "scores": np.empty((0, 0), np.float32),
        "recall": np.array(1.0),
    }
    return PlacedTargets(in_segments([index], np.empty(0, np.float32)), record, None, canary, None)
