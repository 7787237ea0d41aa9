"""Curves of R@1 and hubness by the temperature and by the size of the bank, for any list of methods."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from hubless import measures
from hubless.corrections import CORRECTIONS
from hubless.lab.experiments.methods import PLAN_NAMES, Method
from hubless.lab.experiments.trials import Scorer, Trial
from hubless.progress import Advance
from hubless.vectors.arrays import I64

MULTIPLES = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8)
"""Temperatures, in multiples of the one that `auto` chooses."""
BANK_SIZES = (10, 30, 100, 300, 1000, 3000, 10_000)
DRAWS, OFTEN_DRAWN = 3, 300
"""Banks of at most so many queries are drawn so often, because small draws differ much. Larger ones are drawn once."""
BY_TEMPERATURE, BY_BANK = ("is", "sn"), ("auto", "csls")
"""Methods of the curves when none is asked for."""
DEPTH = 10


@dataclass(frozen=True)
class CurvePoint:
    """A method at one setting: skewness of N_10, and R@1 (from 0 to 1) if there are labels."""

    setting: float
    skewness: float
    recall: float | None


@dataclass(frozen=True)
class Curves:
    """Points by the label of the method; `raw` is the same at all settings."""

    raw: CurvePoint
    by_temperature: dict[str, list[CurvePoint]]
    by_bank: dict[str, list[CurvePoint]]
    temperature: float
    """The one that `auto` chooses."""
    tested: int
    targets: int


def curves(
    trial: Trial, methods: Sequence[Method], temperature: float, seed: int, begin: Callable[[str, int], Advance]
) -> Curves:
    """Fit and measure each method at each temperature and with each size of the bank.

    Parameters
    ----------
    methods : those of the curves, of which those with a temperature stand in `by_temperature`; none takes `is` and `sn`
        for temperatures, `auto` and `csls` for banks
    temperature : τ in the middle of the curve
    begin : starts a step of so many fits, and returns what counts them
    """
    warm = [method for method in methods if _has_temperature(method)] if methods else list(map(Method, BY_TEMPERATURE))
    sized = list(methods) or list(map(Method, BY_BANK))
    count = len(trial.query_bank)
    sizes = [size for size in BANK_SIZES if size < count] + [count]
    advance = begin("varying temperature and query bank", len(warm) * len(MULTIPLES) + len(sized) * len(sizes))
    by_temperature: dict[str, list[CurvePoint]] = {method.label: [] for method in warm}
    for method in warm:
        for at in (temperature * multiple for multiple in MULTIPLES):
            kept = {name: value for name, value in method.parameters.items() if name != "perplexity"}
            found = measure(trial, Method(method.name, kept | {"temperature": at}), at)
            by_temperature[method.label].append(found)
            advance(1)
    by_bank: dict[str, list[CurvePoint]] = {method.label: [] for method in sized}
    for method in sized:
        for size in sizes:
            by_bank[method.label].append(_with_bank_of(trial, method, size, seed))
            advance(1)
    raw = measure(trial, Method("none"), 0.0)
    return Curves(raw, by_temperature, by_bank, temperature, len(trial.queries), len(trial.targets))


def measure(trial: Trial, method: Method, setting: float) -> CurvePoint:
    """Return skewness of N_10, and R@1 if the trial has labels, of a method that is fitted on the trial's bank."""
    occurrence, ranks = occurrence_and_ranks(trial, fit(trial, method))
    recall = None if ranks is None else float(np.mean(ranks <= 1))
    return CurvePoint(setting, measures.skewness(occurrence), recall)


def occurrence_and_ranks(trial: Trial, scorer: Scorer) -> tuple[I64, np.ndarray | None]:
    """Return N_10 (n,), and the rank of the best right target of each query if the trial has labels."""
    found, ranks = [], []
    for _, block, scores in trial.rankings([scorer]):
        k = min(DEPTH, scores.shape[1])
        found.append(np.argpartition(-scores, k - 1, axis=1)[:, :k])
        if trial.relevant:
            ranks.append(measures.ranks(scores, trial.relevant[block]))
    occurrence = measures.k_occurrence(np.concatenate(found), len(trial.targets))
    return occurrence, np.concatenate(ranks) if ranks else None


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
    draws = DRAWS if size <= OFTEN_DRAWN and size < count else 1
    points = []
    for draw in range(draws):
        rows = np.random.default_rng(seed + draw).permutation(count)[:size]
        points.append(measure(replace(trial, query_bank=trial.query_bank[rows]), method, size))
    recalls = [point.recall for point in points if point.recall is not None]
    skewness = float(np.mean([point.skewness for point in points]))
    return CurvePoint(size, skewness, float(np.mean(recalls)) if recalls else None)


def _has_temperature(method: Method) -> bool:
    known = CORRECTIONS.get(method.name)
    return known is not None and any(field.name == "temperature" for field in fields(known))
