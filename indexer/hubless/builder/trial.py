"""Tries kinds of index on a sample of the targets, so that only those that can win are built of all."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter, thread_time

from hubless.knn.aims import Aims
from hubless.knn.augment import AugmentedVectors
from hubless.knn.base import TUNED_AT, IndexType, SearchParameters
from hubless.knn.exhaustive import openmp_threads
from hubless.knn.index_files import add_vectors, code_bytes
from hubless.knn.training_sample import TrainingSample
from hubless.knn.tuning import Setting, cheapest_setting, recall_curve
from hubless.progress import Steps
from hubless.search.engines.embedded import FaissIndex
from hubless.vectors.arrays import F32
from hubless.vectors.sources import as_source, in_memory, sample, sampled_rows

TRIED_ON = 50_000
TRIED_FROM = 4 * TRIED_ON
"""Fewer targets are as soon indexed in each way."""
CAN_WIN = 1.3
"""A kind that is expected to take so much longer than the fastest cannot win. Expected is that as many lists suffice as
in the sample, and that more candidates are needed."""
GROWTH = 0.5
"""Power of the number of targets with which the candidates grow. A million product photos need 3 to 7 times as many as
50,000: a power of 0.4 to 0.65."""
CANDIDATES, FACTOR = "k_factor", 32
"""The search parameter that is their number, and a value to see their time with."""


@dataclass(frozen=True)
class TriedKind:
    """A kind of index of some `targets`: the setting that was chosen, and the seconds that it took to build and tune.

    `code_bytes` are those of the codes of a target, None without codes. `expected_ms` is the time of a query with all
    targets, None where all are here.
    """

    kind: IndexType
    targets: int
    setting: Setting
    seconds: float
    code_bytes: int | None = None
    expected_ms: float | None = None


def could_win(trials: Sequence[TriedKind], recall: float) -> list[IndexType]:
    """Return the kinds that may be the fastest of all targets; if none reaches the recall, the one nearest to it."""
    reaching = [each for each in trials if each.setting.reaches(recall)]
    if not reaching:
        return [max(trials, key=lambda each: each.setting.recall).kind]
    least = min(_expected(each) for each in reaching)
    return [each.kind for each in reaching if _expected(each) <= CAN_WIN * least]


def _expected(trial: TriedKind) -> float:
    return trial.setting.latency_ms if trial.expected_ms is None else trial.expected_ms


def sampled(vectors: AugmentedVectors) -> AugmentedVectors:
    """Return a sample of augmented targets, in memory."""
    rows = sampled_rows(vectors.shape[0], TRIED_ON)
    taken = as_source(in_memory(sample(vectors.targets, TRIED_ON)), vectors.name)
    return replace(vectors, targets=taken, offsets=vectors.offsets[rows])


def try_on_sample(
    kind: IndexType,
    vectors: AugmentedVectors,
    count: int,
    sample: TrainingSample | None,
    queries: F32,
    aims: Aims,
    steps: Steps,
) -> TriedKind:
    """Build a kind of index of a sample of n augmented targets, and choose its setting by queries (m, d')."""
    start = perf_counter()
    few = vectors.shape[0]
    steps.step(f"trying the {kind.label} index")
    made = kind.new(few, vectors.shape[1], sample)
    add_vectors(made, vectors, sample=sample)
    index = FaissIndex(kind, made, vectors.targets.shape[1], {}, vectors.pivot)
    exact, _ = index.find(queries, TUNED_AT, None, None)
    ladder = kind.ladder(few)
    curve = recall_curve(index.approximate, ladder, queries, exact, aims.recall)
    setting = cheapest_setting(curve, aims)
    expected = setting.latency_ms
    if (whole := kind.whole_scan(few)) is not None:
        factor = setting.parameters[CANDIDATES]
        scan = _batch_ms(index, queries, whole)
        rescoring = max(0.0, _batch_ms(index, queries, whole | {CANDIDATES: FACTOR}) - scan) / (FACTOR - 1)
        more = kind.scanned(setting.parameters, count) * count / few - kind.scanned(setting.parameters, few)
        expected += more * scan + ((count / few) ** GROWTH - 1) * factor * rescoring
    return TriedKind(kind, few, setting, perf_counter() - start, code_bytes(made), expected)


def _batch_ms(index: FaissIndex, queries: F32, how: SearchParameters) -> float:
    """Return the processor time of one of many queries."""
    with openmp_threads(1):
        start = thread_time()
        index.approximate(queries, TUNED_AT, how)
        return 1000 * (thread_time() - start) / len(queries)
