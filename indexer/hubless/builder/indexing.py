"""Indexes of a build: their kind and search parameters chosen, and their files, one a segment.

All are copies of one index that is trained on a sample of all targets and holds none. They are filled, written and
closed one after another, so that one is in memory at a time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Self, TypeAlias

import faiss
import numpy as np

from hubless.builder.needed_lists import candidates_needed, lists_needed
from hubless.builder.shards import most_in_a_shard, shard_sizes
from hubless.kernels.reductions import merged
from hubless.knn import INDEXES
from hubless.knn.aims import AUTO, Aims, kinds_to_try
from hubless.knn.augment import AugmentedVectors, augmented_dim, folded_queries, pivot_of, pivoted
from hubless.knn.base import TUNED_AT, Found, IndexType, SearchParameters
from hubless.knn.fastscan import FastScan
from hubless.knn.index_files import add_vectors, code_bytes, read_index, training_sample, write_index
from hubless.knn.training_sample import TrainingSample
from hubless.knn.tuning import Setting, cheapest_setting, latency_of, recall_curve
from hubless.progress import Steps
from hubless.search.canaries import stored_scores
from hubless.search.engines.base import VectorIndex
from hubless.search.engines.embedded import FaissIndex
from hubless.search.engines.full import MOST_CANDIDATES, FullVectors, WholeIndex
from hubless.search.segments.segment import Segment
from hubless.search.segments.targets import Targets
from hubless.store import bundle
from hubless.store.bundle import AimsRecord, EngineRecord, IndexRecord, SettingRecord, TriedRecord
from hubless.vectors.arrays import F32, I64
from hubless.vectors.comparing import COSINE, comparison
from hubless.vectors.sources import ChangedVectors, VectorSource, in_memory, rows_of, sample

LISTS_COST = 220.0
"""A search in lists takes as long as a scan of a share 1 − 220/√n of all codes: of 0.3 at 100,000 targets. There a half
of the lists took 1.3 to 1.7 times as long, 0.25 to 0.38 about as long, and an eighth 0.65 to 0.75."""
FINER = 1.5
"""The time of a scan of finer codes, as a multiple of that of the others. Measured: 1.5 to 1.65."""
SCANNED_A_RESCORED, RESCORED_ANYWAY = 250, 250
"""To rescore a candidate takes as long as to scan so many codes, and a search takes as long as so many candidates
besides. Measured: 210 to 240, and 200 to 300."""
MOST_WORK = 1.1
"""A way to build a kind that should take this multiple of the time of the best is not built."""
GUIDING = 1000
"""So many bank queries guide others to lists."""
RACES = 5
"""So often queries are answered by each of several indexes in turn, to see which one is the fastest."""


SegmentFolder: TypeAlias = Callable[[int], Path]
"""Gives the folder of the segment of a number; it makes it."""


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
    tried: Sequence[TriedRecord] = ()

    def record(self, order: IndexOrder) -> IndexRecord:
        """Return the record of the index for the manifest."""
        index = self.targets.first.index
        tried = [SettingRecord(**_measured(each)) for each in sorted(self.curve, key=lambda setting: setting.recall)]
        return IndexRecord(
            type=index.kind.name if self.engine is None else self.engine.engine,
            precision=index.kind.precision if self.engine is None else "float32",
            parameters=self.setting.parameters,
            aims=AimsRecord(**vars(order.aims)),
            curve=tried,
            code_bytes=self.code_bytes,
            tried=[*self.tried],
            notes=self.notes,
            candidates=index.candidates if isinstance(index, WholeIndex) else None,
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
    setting: Setting
    trial: TriedRecord


def _products(source: VectorSource, matrix: F32 | None) -> VectorSource:
    """Return a source of the products of its rows with a matrix (d, k); without one the source itself."""
    if matrix is None:
        return source
    return ChangedVectors(source, lambda rows, *_: rows @ matrix, matrix.shape[1])


@dataclass(frozen=True)
class _Folded:
    """Targets of an order in a form that some kinds of index store, and with their offsets folded in.

    `sample` is what these kinds are trained on; None if none is. No fewer lists than `least`, a `share` of
    all, hold the recall of `asked` queries, of which `best` are the vectors to find.
    """

    order: IndexOrder
    directions: F32 | None
    rows: VectorSource
    vectors: AugmentedVectors
    sample: TrainingSample | None
    asked: F32
    best: F32
    least: int
    share: float

    @classmethod
    def of(cls, order: IndexOrder, directions: F32 | None, kinds: Sequence[IndexType], count: int) -> Self:
        """Return the targets of an order in the form of some kinds of index, of `count` targets each."""
        made = comparison(order.metric)
        half = kinds[0].precision == "float16"
        rows = ChangedVectors(order.targets, made.halved) if half else order.targets
        reduced, bank = (_products(side, directions) for side in (rows, order.bank))
        moved = kinds[0].pivoted and order.offsets.any()
        pivot = pivot_of(bank, reduced, order.offsets) if moved else None
        vectors = AugmentedVectors(reduced, order.offsets, pivot, half, made.lifted)
        queries = pivoted(folded_queries(in_memory(sample(bank, GUIDING)), 1.0), pivot)
        trained_on = training_sample(kinds, vectors, count, order.seed, vectors.columns, queries)
        given, least, lists = order.answers.queries, 1, max(kind.lists(count) for kind in kinds)
        asked = pivoted(folded_queries(given if directions is None else given @ directions, 1.0), pivot)
        best = vectors.take(order.answers.rows.ravel())
        if trained_on is not None and lists > 1:
            least = lists_needed(trained_on, lists, asked, best, order.aims.recall)
        return cls(order, directions, rows, vectors, trained_on, asked, best, least, least / lists)

    def work(self, kind: IndexType, count: int) -> float:
        """Return how long a search of `count` targets should take, in candidates that are rescored meanwhile."""
        if self.sample is None or not isinstance(kind, FastScan):
            return 0
        scanned = count * (self.share if kind.lists(count) > 1 else 1)
        rescored = count * candidates_needed(kind.fine, self.sample, self.asked, self.best, self.order.aims.recall)
        return RESCORED_ANYWAY + (FINER if kind.fine else 1) * scanned / SCANNED_A_RESCORED + rescored

    def index(self, kind: IndexType, made: faiss.Index, start: int) -> FaissIndex:
        """Return an index of rows from one on, with the whole vectors of these if it has fewer dimensions."""
        dim, pivot = self.rows.shape[1], self.vectors.pivot
        if self.directions is None:
            return FaissIndex(kind, made, dim, {}, pivot)
        stop = start + made.ntotal
        rows, offsets = rows_of(self.rows, start, stop), self.order.offsets[start:stop]
        return WholeIndex(kind, made, dim, {}, pivot, full=rows, offsets=offsets, directions=self.directions)


def build_index(
    order: IndexOrder, place: SegmentFolder | None, steps: Steps, directions: F32 | None = None
) -> IndexResult:
    """Build, tune and write the index of targets with their offsets folded in, of their products with `directions`.

    Without a place it stays in memory. Of several kinds the fastest is taken that reaches the aims.
    """
    aims, (count, own) = order.aims, order.targets.shape
    dim = augmented_dim(own if directions is None else directions.shape[1])
    groups, notes = kinds_to_try(order.index, INDEXES, count, dim, aims)
    tried: list[TriedRecord] = []
    built: list[_Candidate] = []
    for kinds in groups:
        made = _candidates(kinds, order, directions, dim, place, steps)
        tried += [each.trial for each in made]
        built = _fastest_first([*built, *made], order)
        if place is not None:
            for each in built[1:]:
                for number, index in enumerate(each.indexes):
                    (place(number) / _file_of(index.kind)).unlink()
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
    kinds: Sequence[IndexType],
    order: IndexOrder,
    directions: F32 | None,
    dim: int,
    place: SegmentFolder | None,
    steps: Steps,
) -> list[_Candidate]:
    """Build the indexes of d' dimensions of those of some kinds that could be the fastest."""
    count = order.targets.shape[0]
    most = min(most_in_a_shard(kind, dim, order.shard_targets) for kind in kinds)
    sizes = shard_sizes(count, count if place is None else most)
    alike = [kind for kind in kinds if kind.precision == kinds[0].precision]
    folded = _Folded.of(order, directions, alike, sizes[0])
    pay = folded.share <= 1 - LISTS_COST / np.sqrt(sizes[0])
    ways = [each for each in alike if (each.lists(sizes[0]) > 1) == pay] or alike
    work = [folded.work(kind, sizes[0]) if len(ways) > 1 else 0 for kind in ways]
    return [
        _build(kind, folded, sizes, place, steps)
        for kind, takes in zip(ways, work, strict=True)
        if takes <= MOST_WORK * min(work)
    ]


def _file_of(kind: IndexType) -> str:
    return f"{Path(bundle.INDEX).stem}.{kind.label}"


def _build(
    kind: IndexType, folded: _Folded, sizes: Sequence[int], place: SegmentFolder | None, steps: Steps
) -> _Candidate:
    """Build an index of a kind over all targets, in memory or as files of shards, and tune its search."""
    begun = perf_counter()
    count, dim = folded.vectors.shape
    if folded.sample is not None:
        steps.step(f"training the {kind.label} index")
    trained = kind.new(sizes[0], dim, folded.sample)
    advance = steps.step(f"building the {kind.label} index", count)
    filled = []
    start = 0
    for number, size in enumerate(sizes):
        index = faiss.clone_index(trained)
        add_vectors(index, folded.vectors.rows(start, start + size), advance, folded.sample)
        if place is not None:
            path = place(number) / _file_of(kind)
            write_index(index, path)
            index = read_index(path)  # the memory of the other is free before the next one is filled
        filled.append(folded.index(kind, index, start))
        start += size
    made, curve, setting = _tuned(filled, folded, steps)
    trial = TriedRecord(
        type=kind.name,
        code_bytes=code_bytes(trained),
        targets=count,
        expected_ms=None,
        seconds=_rounded(perf_counter() - begun),
        **_measured(setting),
    )
    return _Candidate(made, curve, setting, trial)


def _fastest_first(built: Sequence[_Candidate], order: IndexOrder) -> list[_Candidate]:
    """Return candidates in the order of their merit: those that reach the recall, by their time for single queries."""
    if len(built) < 2:
        return list(built)
    queries = folded_queries(order.answers.queries, 1.0)
    times = np.min(
        [
            [
                latency_of(partial(_approximate, each.indexes), queries, TUNED_AT, each.setting.parameters)
                for each in built
            ]
            for _ in range(RACES)
        ],
        axis=0,
    )

    def merit(number: int) -> tuple[bool, float, float]:
        setting = built[number].setting
        reached = setting.recall >= order.aims.recall
        return not reached, 0.0 if reached else -setting.recall, times[number]

    return [built[number] for number in sorted(range(len(built)), key=merit)]


def _placed(index: FaissIndex, folder: Path | None) -> FaissIndex:
    """Return an index as it will be served: with its file, and that of its whole vectors, under their names."""
    if folder is not None:
        (folder / _file_of(index.kind)).replace(folder / bundle.INDEX)
    if not isinstance(index, WholeIndex):
        return index
    path = None if folder is None else folder / bundle.FULL
    return replace(index, full=FullVectors.kept(index.full, index.kind.precision, path))


def _tuned(
    made: Sequence[FaissIndex], folded: _Folded, steps: Steps
) -> tuple[Sequence[FaissIndex], list[Setting], Setting]:
    kind, order = made[0].kind, folded.order
    steps.step(f"tuning the {kind.label} index")
    answers = order.answers
    exact = stored_scores(in_segments(made, order.offsets), answers.queries, answers.rows)
    queries = folded_queries(answers.queries, 1.0)
    ladder = [how for how in kind.ladder(max(map(len, made))) if how.get("nprobe", folded.least) >= folded.least]
    while True:
        curve = recall_curve(partial(_approximate, made), ladder, queries, exact, order.aims.recall)
        setting = cheapest_setting(curve, order.aims)
        wider = [each.widened() for each in made if isinstance(each, WholeIndex)]
        if setting.recall >= order.aims.recall or not wider or wider[0].candidates > MOST_CANDIDATES:
            return [each.tuned(setting.parameters) for each in made], curve, setting
        made = wider


def _approximate(indexes: Sequence[FaissIndex], augmented: F32, k: int, how: SearchParameters) -> Found:
    found = []
    start = 0
    for index in indexes:
        scores, rows = index.approximate(augmented, min(k, len(index)), how)
        found.append((scores, np.where(rows < 0, rows, rows + start)))
        start += len(index)
    return merged(found, k)


def _measured(setting: Setting) -> dict[str, Any]:
    """Return the fields of the record of a setting."""
    latency = _rounded(setting.latency_ms)
    return {"parameters": setting.parameters, "recall_at_10": setting.recall, "latency_ms": latency}


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
