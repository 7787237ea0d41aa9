"""How R@1 and hubness change with the temperature and with the size of the bank, for any list of corrections."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from hubless import measures
from hubless.corrections import CORRECTIONS
from hubless.lab.experiments.methods import PLAN_NAMES, Method
from hubless.lab.experiments.trials import Scorer, Trial
from hubless.progress import Advance
from hubless.vectors.arrays import F32

MULTIPLES = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8)
"""Temperatures, in multiples of the one that `auto` chooses."""
BANK_SIZES = (10, 30, 100, 300, 1000, 3000, 10_000)
DRAWS, OFTEN_DRAWN = 3, 300
"""Banks of at most so many queries are drawn so often, because small draws differ much. Larger ones are drawn once."""
BY_TEMPERATURE, BY_BANK = ("is", "sn"), ("auto", "csls")
"""What the curves show when nothing is asked for."""
DEPTH = 10


@dataclass(frozen=True)
class CurvePoint:
    """What a correction does at one setting: skewness of N_10, and R@1 (from 0 to 1) if there are labels."""

    setting: float
    skewness: float
    recall: float | None


@dataclass(frozen=True)
class Curves:
    """Points by the label of the correction; `raw` is the same at all settings."""

    raw: CurvePoint
    by_temperature: dict[str, list[CurvePoint]]
    by_bank: dict[str, list[CurvePoint]]
    temperature: float
    """The one that `auto` chooses."""
    tested: int
    targets: int


def curves(
    trial: Trial, entries: Sequence[Method], temperature: float, seed: int, begin: Callable[[str, int], Advance]
) -> Curves:
    """Fit and measure each correction at each temperature and with each size of the bank.

    Parameters
    ----------
    entries : the corrections of the curves, of which those with a temperature stand in `by_temperature`; none takes
        `is` and `sn` for temperatures, `auto` and `csls` for banks
    temperature : τ in the middle of the curve
    begin : starts a step of so many fits, and returns what counts them
    """
    warm = [entry for entry in entries if _has_temperature(entry)] if entries else list(map(Method, BY_TEMPERATURE))
    sized = list(entries) or list(map(Method, BY_BANK))
    sizes = bank_sizes(len(trial.query_bank))
    steps = begin("varying the temperature", len(warm) * len(MULTIPLES))
    by_temperature = {
        entry.label: [
            _counted(steps, measure, trial, _at(entry, temperature * multiple), temperature * multiple)
            for multiple in MULTIPLES
        ]
        for entry in warm
    }
    steps = begin("varying the query bank", len(sized) * len(sizes))
    by_bank = {
        entry.label: [_counted(steps, _with_bank_of, trial, entry, size, seed) for size in sizes] for entry in sized
    }
    raw = measure(trial, Method("none"), 0.0)
    return Curves(raw, by_temperature, by_bank, temperature, len(trial.queries), len(trial.targets))


def bank_sizes(queries: int) -> list[int]:
    """The sizes that a bank is cut to, ascending; all of it is the last."""
    return [size for size in BANK_SIZES if size < queries] + [queries]


def measure(trial: Trial, entry: Method, setting: float) -> CurvePoint:
    """Skewness of N_10, and R@1 if the trial has labels, of a correction that is fitted on the trial's bank."""
    scorer = fit(trial, entry)
    found, ranks = [], []
    for _, block, scores in trial.rankings([scorer]):
        k = min(DEPTH, scores.shape[1])
        found.append(np.argpartition(-scores, k - 1, axis=1)[:, :k])
        if trial.relevant:
            ranks.append(measures.ranks(scores, trial.relevant[block]))
    skewness = measures.skewness(measures.k_occurrence(np.concatenate(found), len(trial.targets)))
    return CurvePoint(setting, skewness, measures.recall_at(np.concatenate(ranks), 1) if ranks else None)


def fit(trial: Trial, entry: Method) -> Scorer:
    """Fit a correction. Neighbours are cut to what a small bank has."""
    if entry.name in PLAN_NAMES:
        return entry.fit(trial)
    correction: Any = entry.correction()
    k = getattr(correction, "k", None)
    queries = len(trial.query_bank)
    return trial.fit(replace(correction, k=queries) if k and k > queries else correction)


def _with_bank_of(trial: Trial, entry: Method, size: int, seed: int) -> CurvePoint:
    """The mean over several draws of a small bank."""
    whole = size == len(trial.query_bank)
    draws = DRAWS if size <= OFTEN_DRAWN and not whole else 1
    points = [
        measure(replace(trial, query_bank=_drawn(trial, size, seed + draw)), entry, size) for draw in range(draws)
    ]
    recalls = [point.recall for point in points if point.recall is not None]
    skewness = float(np.mean([point.skewness for point in points]))
    return CurvePoint(size, skewness, float(np.mean(recalls)) if recalls else None)


def _drawn(trial: Trial, size: int, seed: int) -> F32:
    return trial.query_bank[np.random.default_rng(seed).permutation(len(trial.query_bank))[:size]]


def _has_temperature(entry: Method) -> bool:
    known = CORRECTIONS.get(entry.name)
    return known is not None and any(field.name == "temperature" for field in fields(known))


def _at(entry: Method, temperature: float) -> Method:
    kept = {name: value for name, value in entry.parameters.items() if name != "perplexity"}
    return Method(entry.name, kept | {"temperature": temperature})


def _counted(advance: Advance, make: Callable[..., CurvePoint], *given: Any) -> CurvePoint:
    point = make(*given)
    advance(1)
    return point
