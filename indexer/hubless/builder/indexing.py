"""Indexes of a build: their kind and search parameters chosen, and their files, one a segment.

All are copies of one index that is trained on a sample of all targets and holds none. They are filled, written and
closed one after another, so that one is in memory at a time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any, Self, TypeAlias

import faiss
import numpy as np

from hubless.builder.shards import most_in_a_shard, shard_sizes
from hubless.builder.trial import TRIED_FROM, TriedKind, could_win, sampled, try_on_sample
from hubless.errors import storage_errors
from hubless.kernels.reductions import merged
from hubless.knn import INDEXES
from hubless.knn.aims import AUTO, Aims, kinds_to_try
from hubless.knn.augment import AugmentedVectors, augmented_dim, folded_queries, pivot_of, pivoted
from hubless.knn.base import TUNED_AT, Found, IndexType, Precision, SearchParameters
from hubless.knn.exhaustive import openmp_threads
from hubless.knn.index_files import add_vectors, code_bytes, read_index, training_sample, write_index
from hubless.knn.training_sample import TrainingSample
from hubless.knn.tuning import Setting, cheapest_setting, recall_curve
from hubless.progress import Steps
from hubless.search.engines.base import VectorIndex
from hubless.search.engines.embedded import FaissIndex
from hubless.search.engines.full import MOST_CANDIDATES, FullVectors, WholeVectors
from hubless.search.segments.segment import Segment
from hubless.search.segments.targets import Targets
from hubless.store import bundle
from hubless.store.bundle import INDEX, AimsRecord, EngineRecord, IndexRecord, SettingRecord, TriedRecord
from hubless.store.durable import move, sync
from hubless.vectors.arrays import F32, I64
from hubless.vectors.comparing import COSINE, comparison
from hubless.vectors.sources import ChangedVectors, VectorSource, block_rows, half_vectors, in_memory, rows_of, sample

GUIDING = 2000
"""So many bank queries guide others to lists."""
RACED, RACES = 100, 3
"""So many queries are answered by each of several indexes, and so often, to see which one is the fastest."""


SegmentFolder: TypeAlias = Callable[[int], Path]
"""Gives the folder of the segment of a number; it makes it."""


def build_indexes(
    kind: IndexType,
    vectors: AugmentedVectors,
    sizes: Sequence[int],
    place: SegmentFolder | None,
    sample: TrainingSample | None,
    steps: Steps,
) -> list[faiss.Index]:
    """Write an index of each part of vectors (n, d') to a file of its own, and return them opened.

    Without a place there is one part, whose index stays in memory.
    """
    start = 0
    files = []
    if sample is not None:
        steps.step(f"training the {kind.label} index")
    trained = kind.new(sizes[0], vectors.shape[1], sample)
    advance = steps.step(f"building the {kind.label} index", vectors.shape[0])
    for number, size in enumerate(sizes):
        index = faiss.clone_index(trained) if len(sizes) > 1 else trained
        add_vectors(index, vectors.rows(start, start + size), advance)
        if sample is not None:
            sample.guide(index)
        if place is None:
            return [index]
        files.append(place(number) / _file_of(kind))
        write_whole(index, files[-1])
        del index  # its memory is free before the next one is filled
        start += size
    del trained
    return [read_index(each) for each in files]


def _file_of(kind: IndexType) -> str:
    return f"{Path(INDEX).stem}.{kind.label}"


def write_whole(index: faiss.Index, path: Path) -> None:
    """Write an index to a file that appears as a whole."""
    new = path.with_name(f"{path.name}.new")
    write_index(index, new)
    with storage_errors(path):
        sync(new)
        move(new, path)


@dataclass(frozen=True)
class ExactAnswers:
    """Queries (m, d) to measure an index with, and the rows (m, k) of their exact best targets, best first."""

    queries: F32
    rows: I64


@dataclass(frozen=True, kw_only=True)
class IndexOrder:
    """An index to build of targets (n, d) with centred offsets (n,)."""

    targets: VectorSource
    offsets: F32
    bank: VectorSource
    answers: ExactAnswers
    aims: Aims
    index: str = AUTO
    seed: int = 0
    shard_targets: int | None = None
    metric: str = COSINE


@dataclass(frozen=True)
class IndexResult:
    """Targets as they will be served, with the chosen search parameters. `engine` is where they are, if outside."""

    targets: Targets
    curve: list[Setting]
    setting: Setting
    notes: list[str]
    engine: EngineRecord | None = None
    code_bytes: int | None = None
    tried: Sequence[TriedKind] = ()

    def record(self, order: IndexOrder) -> IndexRecord:
        """Return the record of the index for the manifest."""
        index = self.targets.first.index
        tried = [
            SettingRecord(parameters=each.parameters, recall_at_10=each.recall, latency_ms=_rounded(each.latency_ms))
            for each in sorted(self.curve, key=lambda setting: setting.recall)
        ]
        return IndexRecord(
            type=index.kind.name if self.engine is None else self.engine.engine,
            precision=index.kind.precision if self.engine is None else "float32",
            parameters=self.setting.parameters,
            aims=AimsRecord(**vars(order.aims)),
            curve=tried,
            code_bytes=self.code_bytes,
            tried=[_tried_record(each) for each in self.tried],
            notes=self.notes,
            candidates=index.whole.candidates if isinstance(index, FaissIndex) and index.whole else None,
            shard_targets=order.shard_targets if self.engine is None else None,
            engine=self.engine,
        )


def in_segments(indexes: Sequence[VectorIndex], offsets: F32) -> Targets:
    """Return targets in some indexes, a segment each, with their offsets (n,)."""
    starts = np.cumsum([0, *map(len, indexes)]).tolist()
    segments = [
        Segment(index=index, offsets=offsets[start:stop], first=start)
        for index, start, stop in zip(indexes, starts, starts[1:], strict=False)
    ]
    return Targets.of(segments, indexes[0].dim)


@dataclass(frozen=True)
class _Candidate:
    """Indexes of one kind, of consecutive targets, with the parameters that were chosen and what they reach."""

    indexes: Sequence[FaissIndex]
    curve: list[Setting]
    trial: TriedKind

    @property
    def setting(self) -> Setting:
        return self.trial.setting


_Form: TypeAlias = tuple[Precision, bool]
"""Precision of stored vectors, and whether offsets are folded in with a pivot."""


def _form(kind: IndexType) -> _Form:
    return kind.precision, kind.pivoted


def _by_form(kinds: Sequence[IndexType]) -> dict[_Form, list[IndexType]]:
    """Return the kinds that store vectors in each form."""
    found: dict[_Form, list[IndexType]] = {}
    for kind in kinds:
        found.setdefault(_form(kind), []).append(kind)
    return found


def _products(source: VectorSource, matrix: F32 | None) -> VectorSource:
    """Return a source of the products of its rows with a matrix (d, k); without one the source itself."""
    if matrix is None:
        return source
    return ChangedVectors(source, lambda rows, *_: rows @ matrix, matrix.shape[1])


@dataclass(frozen=True)
class _Folding:
    """Targets of an order with their offsets folded in, in the form that each kind of index stores them."""

    order: IndexOrder
    bank: VectorSource
    directions: F32 | None
    pivot: F32 | None

    @classmethod
    def of(cls, order: IndexOrder, directions: F32 | None, *, moved: bool) -> Self:
        """Return the targets of an order, reduced if there are directions. `moved` says that a kind wants a pivot."""
        targets, bank = (_products(side, directions) for side in (order.targets, order.bank))
        return cls(
            order, bank, directions, pivot_of(bank, targets, order.offsets) if moved and order.offsets.any() else None
        )

    def stored(self, kind: IndexType) -> VectorSource:
        """Return the targets (n, d) as a kind stores them."""
        targets = self.order.targets
        return half_vectors(targets, self.order.metric) if kind.precision == "float16" else targets

    def vectors(self, kind: IndexType) -> AugmentedVectors:
        """Return the vectors (n, d') of its index."""
        rows = _products(self.stored(kind), self.directions)
        half = kind.precision == "float16"
        lifted = comparison(self.order.metric).lifted
        return AugmentedVectors(rows, self.order.offsets, self.pivot if kind.pivoted else None, half, lifted)

    def whole(self, kind: IndexType, start: int, stop: int) -> WholeVectors | None:
        """Return the whole vectors of some rows, which rank the candidates of its index; None without directions."""
        if self.directions is None:
            return None
        return WholeVectors(rows_of(self.stored(kind), start, stop), self.order.offsets[start:stop], self.directions)

    def samples(self, kinds: Sequence[IndexType], count: int) -> dict[_Form, TrainingSample | None]:
        """Return what kinds of index of `count` targets are trained on, by the form in which they store vectors."""
        queries = folded_queries(in_memory(sample(self.bank, GUIDING)), 1.0)
        found: dict[_Form, TrainingSample | None] = {}
        for form, some in _by_form(kinds).items():
            vectors = self.vectors(some[0])
            asked = queries if vectors.pivot is None else pivoted(queries, vectors.pivot)
            found[form] = training_sample(some, vectors, count, self.order.seed, vectors.columns, asked)
        return found

    def queries(self) -> F32:
        """Return the queries (m, d') of the answers, as its index is asked."""
        queries = self.order.answers.queries
        return folded_queries(queries if self.directions is None else queries @ self.directions, 1.0)


def build_index(
    order: IndexOrder, place: SegmentFolder | None, steps: Steps, directions: F32 | None = None
) -> IndexResult:
    """Build, tune and write the index of targets with their offsets folded in, of their products with `directions`.

    Without a place it stays in memory. Of several kinds the fastest is taken that reaches the aims.
    """
    aims, (count, own) = order.aims, order.targets.shape
    dim = augmented_dim(own if directions is None else directions.shape[1])
    groups, notes = kinds_to_try(order.index, INDEXES, count, dim, aims)
    folding = _Folding.of(order, directions, moved=any(kind.pivoted for group in groups for kind in group))
    tried: list[TriedKind] = []
    built: list[_Candidate] = []
    for kinds in groups:
        trials, made = _candidates(kinds, folding, dim, place, steps)
        tried += trials
        built = _fastest_first([*built, *made], order)
        if place is not None:
            _remove(built[1:], place)
        del built[1:], made
        if not (missed := _missed(built[0], aims)):
            break
    chosen = built[0]
    indexes = [_placed(index, None if place is None else place(number)) for number, index in enumerate(chosen.indexes)]
    return IndexResult(
        in_segments(indexes, order.offsets),
        chosen.curve,
        chosen.setting,
        [*notes, *missed],
        code_bytes=chosen.trial.code_bytes,
        tried=tried if len(tried) > 1 else (),
    )


def _candidates(
    kinds: Sequence[IndexType], folding: _Folding, dim: int, place: SegmentFolder | None, steps: Steps
) -> tuple[list[TriedKind], list[_Candidate]]:
    """Build the indexes of d' dimensions of some kinds, or of those that could win, as trials on a sample tell.

    Return all trials, and what was built.
    """
    order = folding.order
    count = order.targets.shape[0]
    trials = list[TriedKind]()
    most = min(most_in_a_shard(kind, dim, order.shard_targets) for kind in kinds)
    sizes = [count] if place is None else shard_sizes(count, most)
    samples = folding.samples(kinds, sizes[0])
    if len(kinds) > 1 and count >= TRIED_FROM:
        few = {form: sampled(folding.vectors(some[0])) for form, some in _by_form(kinds).items()}
        queries = folding.queries()
        trials = [
            try_on_sample(kind, few[_form(kind)], count, samples[_form(kind)], queries, order.aims, steps)
            for kind in kinds
        ]
        kinds = could_win(trials, order.aims.recall)
    made = [_build(kind, folding, sizes, place, samples[_form(kind)], steps) for kind in kinds]
    return [*trials, *(each.trial for each in made)], made


def _remove(others: Sequence[_Candidate], place: SegmentFolder) -> None:
    for each in others:
        for number, index in enumerate(each.indexes):
            (place(number) / _file_of(index.kind)).unlink()


def _build(
    kind: IndexType,
    folding: _Folding,
    sizes: Sequence[int],
    place: SegmentFolder | None,
    sample: TrainingSample | None,
    steps: Steps,
) -> _Candidate:
    """Build an index of a kind over all targets, in memory or as files of shards, and tune its search."""
    start = perf_counter()
    vectors = folding.vectors(kind)
    indexes = build_indexes(kind, vectors, sizes, place, sample, steps)
    dim = folding.order.targets.shape[1]
    ends = np.cumsum([index.ntotal for index in indexes]).tolist()
    filled = [
        FaissIndex(kind, index, dim, {}, vectors.pivot, folding.whole(kind, end - index.ntotal, end))
        for index, end in zip(indexes, ends, strict=True)
    ]
    made, curve, setting = _tuned(filled, folding.order, steps)
    trial = TriedKind(kind, vectors.shape[0], setting, perf_counter() - start, code_bytes(indexes[0]))
    return _Candidate(made, curve, trial)


def _fastest_first(built: Sequence[_Candidate], order: IndexOrder) -> list[_Candidate]:
    """Return candidates in the order of their merit: those that reach the recall, by their time for single queries."""
    if len(built) < 2:
        return list(built)
    queries = folded_queries(order.answers.queries[:RACED], 1.0)
    times = [np.inf] * len(built)
    with openmp_threads(1):
        for _ in range(RACES):
            for number, each in enumerate(built):
                start = thread_time()
                for query in queries:
                    _approximate(each.indexes, query[np.newaxis], TUNED_AT, each.setting.parameters)
                times[number] = min(times[number], thread_time() - start)

    def merit(number: int) -> tuple[bool, float, float]:
        setting = built[number].setting
        reached = setting.recall >= order.aims.recall
        return not reached, 0.0 if reached else -setting.recall, times[number]

    return [built[number] for number in sorted(range(len(built)), key=merit)]


def _placed(index: FaissIndex, folder: Path | None) -> FaissIndex:
    """Return an index as it will be served: with its file, and that of its whole vectors, under their names."""
    if folder is not None:
        (folder / _file_of(index.kind)).replace(folder / INDEX)
    if (whole := index.whole) is None:
        return index
    return replace(index, whole=replace(whole, full=kept_full(whole.full, index.kind.precision, folder)))


def kept_full(rows: VectorSource, precision: Precision, folder: Path | None) -> FullVectors:
    """Return whole vectors (n, d) as they will be served: mapped, from a folder, or in memory."""
    if folder is None:
        return FullVectors(in_memory(rows).astype(precision))
    full = folder / bundle.FULL
    with storage_errors(full), full.open("wb") as file:
        header = {"descr": np.dtype(precision).str, "fortran_order": False, "shape": rows.shape}
        np.lib.format.write_array_header_1_0(file, header)
        for block in rows.blocks(block_rows(rows.shape[1])):
            file.write(np.ascontiguousarray(block, precision).data)
    return FullVectors.open(full)


def _tuned(
    made: Sequence[FaissIndex], order: IndexOrder, steps: Steps
) -> tuple[Sequence[FaissIndex], list[Setting], Setting]:
    steps.step(f"tuning the {made[0].kind.label} index")
    queries = folded_queries(order.answers.queries, 1.0)
    exact = _scores(made, queries, order.answers.rows)
    while True:
        curve = recall_curve(partial(_approximate, made), ladder(made), queries, exact, order.aims.recall)
        setting = cheapest_setting(curve, order.aims)
        reached = setting.recall >= order.aims.recall
        whole = made[0].whole
        if reached or whole is None or whole.candidates >= MOST_CANDIDATES:
            break
        wider = 2 * whole.candidates
        made = [replace(each, whole=each.whole and replace(each.whole, candidates=wider)) for each in made]
    return [each.tuned(setting.parameters) for each in made], curve, setting


def _approximate(indexes: Sequence[FaissIndex], augmented: F32, k: int, how: SearchParameters) -> Found:
    found = []
    start = 0
    for index in indexes:
        scores, rows = index.approximate(augmented, min(k, len(index)), how)
        found.append((scores, np.where(rows < 0, rows, rows + start)))
        start += len(index)
    return merged(found, k)


def _scores(indexes: Sequence[FaissIndex], augmented: F32, rows: I64) -> F32:
    found = np.empty(rows.shape, np.float32)
    start = 0
    for index in indexes:
        inside = (rows >= start) & (rows < start + len(index))
        line, _ = np.nonzero(inside)
        if len(line):
            found[inside] = index.scores(augmented[line], rows[inside][:, np.newaxis] - start)[:, 0]
        start += len(index)
    return found


def ladder(indexes: Sequence[FaissIndex]) -> list[dict[str, Any]]:
    """Search parameters to try, from the cheapest to the most thorough. They are those of each index."""
    return indexes[0].kind.ladder(max(map(len, indexes)))


def _tried_record(trial: TriedKind) -> TriedRecord:
    setting = trial.setting
    return TriedRecord(
        type=trial.kind.name,
        code_bytes=trial.code_bytes,
        targets=trial.targets,
        parameters=setting.parameters,
        recall_at_10=setting.recall,
        latency_ms=_rounded(setting.latency_ms),
        expected_ms=None if trial.expected_ms is None else _rounded(trial.expected_ms),
        seconds=_rounded(trial.seconds),
    )


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _missed(built: _Candidate, aims: Aims) -> list[str]:
    within = "" if aims.memory is None else f" within {aims.memory:,} bytes"
    setting = built.setting
    kind = built.indexes[0].kind
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
