"""The strength at which the answers to live queries are spread most evenly over the targets. Needs no labels.

A good correction makes the finds more even, one of a foreign bank less. Measured: benchmarks/foreign_banks.py. The
inverse does not hold: where popular targets are right, as in recommendations, more even answers are worse ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hubless.measures.occurrence import entropy, k_occurrence, skewness
from hubless.vectors.arrays import F64, I64

POOR = 0.25
"""A strength of this or less says that what was learned is no good."""
STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""λ that are compared, ascending."""
_RAW = STRENGTHS.index(0.0)
FULL_STRENGTH = 1.0
FEWEST, ENOUGH = 20, 200
"""Fewer different queries than the first say nothing. From the second on the choice hardly gets better."""
SAME_ANSWERS = 0.8
"""Two queries count once if their raw answers share at least this part of their targets."""
_RESAMPLES = 200
_ROUNDING = 1e-9

_Answers = NDArray[np.integer]
"""Rows of the first k targets of m queries at s strengths, (s, m, k), best first; −1 where fewer were found."""
_State = Literal["too_few", "few", "enough"]


@dataclass(frozen=True, kw_only=True)
class ChosenStrength:
    """The strength λ that live queries speak for: `current` unless another one is more even by more than chance.

    Of m `queries`, `different` are left when those with nearly the same raw answers count once. For each of `strengths`
    there are the `entropy` of N_k in nats, its standard `error` below the highest, and the `skewness`.
    """

    strength: float
    current: float
    state: _State
    queries: int
    different: int
    strengths: tuple[float, ...]
    entropy: tuple[float, ...]
    error: tuple[float, ...]
    skewness: tuple[float, ...]


def most_even(answers: _Answers, targets: int, current: float = FULL_STRENGTH) -> ChosenStrength:
    """Choose the strength nearest to the current one whose answers are as even as those of the most even.

    It is as even if its entropy of N_k is within one standard error of the difference, by resampling the queries. With
    fewer than 20 different queries the current one stays. `answers` (s, m, k) are rows found at each of
    `STRENGTHS`.
    """
    kept = distinct(answers[_RAW])
    counted = answers[:, kept]
    occurrence = [k_occurrence(rows[rows >= 0], targets) for rows in counted]
    entropies = np.array([entropy(counts) for counts in occurrence])
    best = int(np.argmax(entropies))
    errors = _errors(counted, best) if len(kept) else np.zeros(len(STRENGTHS))
    chosen = current
    if len(kept) >= FEWEST:
        even = np.flatnonzero(entropies[best] - entropies <= errors + _ROUNDING)
        # of two that are equally near, the more even
        chosen = min((abs(STRENGTHS[at] - current), -entropies[at], STRENGTHS[at]) for at in even)[-1]
    return ChosenStrength(
        strength=chosen,
        current=current,
        state="too_few" if len(kept) < FEWEST else "few" if len(kept) < ENOUGH else "enough",
        queries=answers.shape[1],
        different=len(kept),
        strengths=STRENGTHS,
        entropy=_rounded(entropies),
        error=_rounded(errors),
        skewness=_rounded([skewness(counts) for counts in occurrence]),
    )


def is_less_even(chosen: ChosenStrength, served: ChosenStrength) -> bool:
    """Return whether the same queries are answered less evenly than by what is served, by more than chance.

    How much chance moves the difference from the raw ranking stands for how much it moves this one.
    """
    return max(served.entropy) - max(chosen.entropy) > max(chosen.error[_RAW], served.error[_RAW])


def distinct(raw: _Answers) -> I64:
    """Return the rows (r,) of queries whose raw answer (m, k) no earlier one nearly gave, by 80 % of its targets."""
    stands = alike_answers(raw, SAME_ANSWERS)
    return np.flatnonzero(stands == np.arange(len(stands)))


def alike_answers(answers: _Answers, same: float) -> I64:
    """Return the query (m,) that stands for each: itself, or the earlier one with most targets of its answer (m, k).

    An answer needs the share `same` of its targets in common. A query that finds nothing has −1.
    """
    stands = np.full(len(answers), -1)
    having: dict[int, list[int]] = {}
    for query, line in enumerate(answers.tolist()):
        found = {row for row in line if row >= 0}
        shared: dict[int, int] = {}
        for row in found:
            for earlier in having.get(row, ()):
                shared[earlier] = shared.get(earlier, 0) + 1
        most = max(shared.values(), default=0)
        if found and most < same * len(found):
            stands[query] = query
            for row in found:
                having.setdefault(row, []).append(query)
        elif found:
            stands[query] = min(earlier for earlier, count in shared.items() if count == most)
    return stands


def _errors(answers: _Answers, best: int) -> F64:
    """Return standard errors (s,) of how far the entropies are below the best. All strengths are resampled alike."""
    rng = np.random.default_rng(0)
    s, m, k = answers.shape
    found = np.unique(answers, return_inverse=True)[1].reshape(s, m * k)  # few of many targets are found
    there = (answers >= 0).reshape(s, m * k)
    entropies = np.empty((_RESAMPLES, s))
    for number in range(_RESAMPLES):
        weights = np.repeat(np.bincount(rng.integers(m, size=m), minlength=m), k)
        for place in range(s):
            entropies[number, place] = entropy(np.bincount(found[place], weights * there[place]))
    errors: F64 = (entropies - entropies[:, [best]]).std(axis=0, ddof=1)
    return errors


def _rounded(values: Sequence[float] | F64) -> tuple[float, ...]:
    return tuple(round(float(value), 6) for value in values)
