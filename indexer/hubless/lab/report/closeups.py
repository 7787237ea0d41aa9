"""Single queries, targets and banks: heat map, hubs on a plane, first hits, and banks side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hubless.errors import InputError
from hubless.kernels.reductions import top_k
from hubless.knn.augment import centre
from hubless.lab.experiments.methods import Method
from hubless.lab.experiments.trials import Trial
from hubless.lab.gallery import Gallery, NamedTarget
from hubless.lab.report.curves import CurvePoint, fit, measure, occurrence_and_ranks
from hubless.progress import Advance
from hubless.vectors.arrays import F32, I64
from hubless.vectors.files import Items, Vectors
from hubless.vectors.sources import ArrayVectors, VectorSource, in_memory, sample

SHOWN_QUERIES, SHOWN_TARGETS = 40, 60
"""Rows and columns of the heat map."""
HUBS = 20
"""Columns that are the targets with the largest offsets."""
CLOUD = 1500
"""Queries, and targets besides the hubs, that are drawn on the plane."""
LARGEST = 10
FIRST = 5
AUTO = Method("auto")
NEAR_QUANTILE = 0.05


@dataclass(frozen=True)
class HeatMap:
    """Similarities of some queries (rows) with some targets (columns), hubs first, before and after the correction.

    Parameters
    ----------
    before, after : (rows, columns), of each query less the mean of its row
    hubs : how many columns are hubs
    right : (r, 2) row and column of right targets; none without labels
    """

    before: F32
    after: F32
    hubs: int
    right: I64


@dataclass(frozen=True)
class Plane:
    """Queries and targets on the first two principal components of both, and how often targets are found.

    Parameters
    ----------
    queries : (m, 2)
    targets : (n, 2)
    before, after : (n,) N_10 raw and corrected
    even : N_10 if all targets were found alike
    explained : share of the variance on these two components, from 0 to 1
    """

    queries: F32
    targets: F32
    before: I64
    after: I64
    even: float
    explained: float


@dataclass(frozen=True)
class ExampleHit:
    """A target in a list of first hits; `right` is None without labels."""

    target: NamedTarget
    score: float
    right: bool | None


@dataclass(frozen=True)
class Example:
    """The first hits of one query, raw and by `auto` that was fitted without this query."""

    query: str
    before: list[ExampleHit]
    after: list[ExampleHit]


@dataclass(frozen=True)
class BankResult:
    """A query bank, and the result of `auto` with it for the test queries."""

    name: str
    queries: int
    coverage: float
    point: CurvePoint


def heat_map(trial: Trial, seed: int) -> HeatMap:
    """Return similarities of random test queries, with the largest hubs, the right targets and random others."""
    rng = np.random.default_rng(seed)
    scorer = fit(trial, AUTO)
    rows = np.sort(rng.permutation(len(trial.queries))[:SHOWN_QUERIES])
    hubs = np.argsort(-scorer.offsets, kind="stable")[: min(HUBS, len(trial.targets))]
    right = [int(trial.relevant[row][0]) for row in rows] if trial.relevant else []
    others = list(dict.fromkeys(row for row in right if row not in hubs))
    left = np.setdiff1d(rng.permutation(len(trial.targets)), [*hubs, *others], assume_unique=True)
    columns = np.array([*hubs, *others, *left][:SHOWN_TARGETS], np.int64)
    similarities = trial.similarities(slice(None))[rows][:, columns]
    place = {column: number for number, column in enumerate(columns.tolist())}
    marked = [(number, place[column]) for number, column in enumerate(right) if column in place]
    corrected = similarities - scorer.offsets[columns]
    before, after = (values - values.mean(axis=1, keepdims=True) for values in (similarities, corrected))
    return HeatMap(before, after, len(hubs), np.array(marked, np.int64).reshape(-1, 2))


def plane(trial: Trial, seed: int) -> Plane:
    """Return the first two principal components of test queries and targets together; each cloud counts as much."""
    rng = np.random.default_rng(seed)
    before, after = (occurrence_and_ranks(trial, fit(trial, method))[0] for method in (Method("none"), AUTO))
    hubs = np.argsort(-before, kind="stable")[:LARGEST]
    others = np.setdiff1d(rng.permutation(len(trial.targets))[:CLOUD], hubs)
    # hubs last, so that they are drawn above the others
    shown = np.concatenate([others, hubs[::-1]])
    queries = trial.queries[np.sort(rng.permutation(len(trial.queries))[:CLOUD])]
    targets = trial.targets[shown]
    middle = (queries.mean(axis=0) + targets.mean(axis=0)) / 2
    both = np.concatenate([(part - middle) * np.sqrt(0.5 / len(part)) for part in (queries, targets)])
    _, values, axes = np.linalg.svd(both, full_matrices=False)
    explained = float((values[:2] ** 2).sum() / max((values**2).sum(), np.finfo(np.float32).tiny))
    places = [(part - middle) @ axes[:2].T for part in (queries, targets)]
    return Plane(places[0], places[1], before[shown], after[shown], float(before.mean()), explained)


def examples(
    gallery: Gallery, queries: Items, rows: Sequence[int], bank: VectorSource, relevant: Sequence[I64] | None
) -> list[Example]:
    """Return the first hits of chosen queries among all targets.

    Parameters
    ----------
    queries : those that the rows count in
    bank : (b, d) as it is compared; queries that are shown are taken out of it before `auto` is fitted
    relevant : right targets of each query

    Raises
    ------
    InputError
        for a row that the queries do not have.
    """
    count = queries.vectors.shape[0]
    for row in rows:
        if not 0 <= row < count:
            raise InputError("example", f"a row of the queries, from 0 to {count - 1}", row)
    asked = gallery.queries(queries.vectors, "queries").take(np.array(rows, np.int64))
    held = in_memory(bank)
    left_out = {row.tobytes() for row in asked}
    kept = held[[row.tobytes() not in left_out for row in held]]
    if not len(kept):
        raise InputError("example", "a query bank with other queries than these", "none")
    targets = gallery.targets
    k = min(FIRST, targets.shape[0])
    offsets = centre(AUTO.correction().fit(ArrayVectors(kept, "query bank"), targets).offsets(targets))
    raw, corrected = top_k(asked, targets, k), top_k(asked, targets, k, offsets)
    shown = []
    for number, row in enumerate(rows):
        right = None if relevant is None else set(relevant[row].tolist())
        before, after = (_hits(gallery, scores[number], found[number], right) for scores, found in (raw, corrected))
        shown.append(Example(_query_name(queries, row), before, after))
    return shown


def compare_banks(trial: Trial, banks: Mapping[str, Vectors], gallery: Gallery, advance: Advance) -> list[BankResult]:
    """Return each bank, the trial's own first, with the result of `auto` fitted on it for the trial's test queries."""
    given = {"this bank": trial.query_bank}
    given |= {name: in_memory(gallery.queries(vectors, f"bank {name}")) for name, vectors in banks.items()}
    near = float(np.quantile((trial.queries @ trial.targets.T).max(axis=1), NEAR_QUANTILE))
    targets = in_memory(sample(ArrayVectors(trial.targets, "targets"), 2048, 0))
    found = []
    for name, bank in given.items():
        coverage = float(np.mean((targets @ bank.T).max(axis=1) >= near))
        point = measure(replace(trial, query_bank=bank, target_bank=None), AUTO, len(bank))
        found.append(BankResult(name, len(bank), coverage, point))
        advance(1)
    return found


def _hits(gallery: Gallery, scores: F32, rows: I64, right: set[int] | None) -> list[ExampleHit]:
    named = zip(gallery.describe(rows.tolist()), scores.tolist(), strict=True)
    return [ExampleHit(target, score, None if right is None else target.row in right) for target, score in named]


def _query_name(queries: Items, row: int) -> str:
    if queries.payload is None or not queries.payload_columns:
        return f"query {row}"
    found = queries.payload.take([row], columns=list(queries.payload_columns)).to_pylist()[0]
    return "; ".join(str(value) for value in found.values() if isinstance(value, str)) or f"query {row}"
