"""Curves of R@1 and hubness by the size of the bank, for any list of methods."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hubless import measures
from hubless.lab.experiments.methods import PLAN_NAMES, Method
from hubless.lab.experiments.trials import Scorer, Trial
from hubless.progress import Advance

BANK_SIZES = (10, 30, 100, 300, 1000, 3000, 10_000)
DRAWS, OFTEN_DRAWN = 3, 300
"""Banks of at most so many queries are drawn so often, because small draws differ much. Larger ones are drawn once."""
METHODS = ("auto", "csls")
"""Methods of the curves when none is asked for."""
DEPTH = 10


@dataclass(frozen=True)
class CurvePoint:
    """A method with a bank of so many queries: skewness of N_10, and R@1 (from 0 to 1) if there are labels."""

    size: int
    skewness: float
    recall: float | None


@dataclass(frozen=True)
class Curves:
    """Points by the label of the method; `raw` is the same at all sizes."""

    raw: CurvePoint
    by_bank: dict[str, list[CurvePoint]]
    tested: int
    targets: int


def curves(trial: Trial, methods: Sequence[Method], seed: int, begin: Callable[[str, int], Advance]) -> Curves:
    """Fit and measure each method, by default `auto` and `csls`, with each size of the bank.

    `begin` starts a step of so many fits, and returns what counts them.
    """
    count = len(trial.query_bank)
    sizes = [size for size in BANK_SIZES if size < count] + [count]
    chosen = list(methods) or list(map(Method, METHODS))
    advance = begin("varying the query bank", len(chosen) * len(sizes))
    by_bank: dict[str, list[CurvePoint]] = {method.label: [] for method in chosen}
    for method in chosen:
        for size in sizes:
            by_bank[method.label].append(_with_bank_of(trial, method, size, seed))
            advance(1)
    raw = CurvePoint(0, *measure(trial, Method("none")))
    return Curves(raw, by_bank, len(trial.queries), len(trial.targets))


def measure(trial: Trial, method: Method) -> tuple[float, float | None]:
    """Return skewness of N_10, and R@1 if the trial has labels, of a method that is fitted on the trial's bank."""
    found, ranks = [], []
    for _, block, scores in trial.rankings([fit(trial, method)]):
        k = min(DEPTH, scores.shape[1])
        found.append(np.argpartition(-scores, k - 1, axis=1)[:, :k])
        if trial.relevant:
            ranks.append(measures.ranks(scores, trial.relevant[block]))
    occurrence = measures.k_occurrence(np.concatenate(found), len(trial.targets))
    recall = measures.recall_at(np.concatenate(ranks), 1) if ranks else None
    return measures.skewness(occurrence), recall


def fit(trial: Trial, method: Method) -> Scorer:
    """Fit a method. Neighbours are cut to what a small bank has."""
    if method.name in PLAN_NAMES:
        return method.fit(trial)
    correction: Any = method.correction()
    k = getattr(correction, "k", None)
    queries = len(trial.query_bank)
    return trial.fit(replace(correction, k=queries) if k and k > queries else correction)


def _with_bank_of(trial: Trial, method: Method, size: int, seed: int) -> CurvePoint:
    """Return the mean over several draws of a small bank."""
    count = len(trial.query_bank)
    found = []
    for draw in range(DRAWS if size <= OFTEN_DRAWN and size < count else 1):
        rows = np.random.default_rng(seed + draw).permutation(count)[:size]
        found.append(measure(replace(trial, query_bank=trial.query_bank[rows]), method))
    skewness, recall = zip(*found, strict=True)
    return CurvePoint(size, float(np.mean(skewness)), float(np.mean(recall)) if trial.relevant else None)
