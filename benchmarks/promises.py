"""Count how often other queries break the promise of a cut, and how many are answered.

In each split 200 test queries have labels, and the others say what the cut keeps. A set counts if at least 100 others
are left, in ten draws of the labels for each split. "Broken" is a draw whose answered queries are right less often than
was promised; where none is answered, nothing is broken. Compared are the guaranteed cut, the plain threshold at which
the labelled answers are right as often, and a guaranteed cut at the best cosine. The guaranteed cut is also tried with
100, 400 and 800 labels.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import hubless
from hubless_lab.charts import ACCENT, RAW, Axis
from hubless_lab.experiments.abstain import TrialAnswers
from hubless_lab.experiments.quality import auroc, cut_for
from hubless_lab.marked_charts import MarkedChart

LABELS, OTHERS, DRAWS = 200, 100, 10
MANY = (100, 200, 400, 800)
PROMISED = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
LISTED = (0.5, 0.6, 0.8, 0.9)
SHOWN = 0.9
CUTS = {"guaranteed": "guaranteed", "plain": "plain threshold", "cosine": "cosine, guaranteed"}
INFINITE = float("inf")


def guaranteed(numbers: np.ndarray, right: np.ndarray, accuracy: float) -> float:
    found = hubless.guaranteed_cut(numbers, right, accuracy).threshold
    return INFINITE if found is None else found


def plain(numbers: np.ndarray, right: np.ndarray, accuracy: float) -> float:
    found = cut_for(numbers, right, accuracy)
    return found.threshold if found.share else INFINITE


def tried(
    numbers: np.ndarray,
    right: np.ndarray,
    accuracy: float,
    cut: Callable[..., float],
    seed: int,
    labels: int = LABELS,
) -> Iterator[tuple[float, float]]:
    """Yield the share of the others that is answered, and how many of these are right, NaN for none, of each draw."""
    for draw in range(DRAWS):
        order = np.random.default_rng([seed, draw]).permutation(len(numbers))
        labelled = order[:labels]
        others = order[labels:]
        above = numbers[others] >= cut(numbers[labelled], right[labelled], accuracy)
        yield float(above.mean()), float(right[others][above].mean()) if above.any() else float("nan")


def figures(draws: Sequence[tuple[float, float]], accuracy: float) -> dict[str, Any]:
    """Return the mean share of answered queries, how often the promise was broken, and what was kept on average."""
    answered, kept = np.array(draws).T
    known = kept[~np.isnan(kept)]
    return {
        "answered": round(float(answered.mean()), 4),
        "broken": round(float((kept < accuracy).mean()), 4),
        "kept": round(float(known.mean()), 4) if len(known) else None,
        "none": round(float(np.isnan(kept).mean()), 4),
    }


def promises(trials: Sequence[TrialAnswers]) -> dict[str, Any] | None:
    """Return the figures of a set by promise; None if it has too few queries."""
    fewest = min(len(trial.found.right) for trial in trials)
    if fewest < LABELS + OTHERS:
        return None
    outcomes = [trial.outcomes() for trial in trials]
    found: dict[str, Any] = {}
    for accuracy in PROMISED:
        by: dict[str, list[tuple[float, float]]] = {"guaranteed": [], "plain": [], "cosine": []}
        for seed, one in enumerate(outcomes):
            by["guaranteed"] += tried(one.confidence, one.right, accuracy, guaranteed, seed)
            by["plain"] += tried(one.confidence, one.right, accuracy, plain, seed)
            by["cosine"] += tried(one.cosine, one.raw_right, accuracy, guaranteed, seed)
        for labels in MANY:
            if labels + OTHERS <= fewest:
                by[f"{labels} labels"] = [
                    draw
                    for seed, one in enumerate(outcomes)
                    for draw in tried(one.confidence, one.right, accuracy, guaranteed, seed, labels)
                ]
        found[f"{accuracy:g}"] = {name: figures(draws, accuracy) for name, draws in by.items()}
    return found


def from_scores(trials: Sequence[TrialAnswers]) -> dict[str, float]:
    """Return AUROC of confidence from lists of 11 scores alone: fitted on half of them without labels, on the others.

    `raw` are the scores of the search as it was, `corrected` those less offsets; `full` is the model with vectors on
    the same answers.
    """
    found: dict[str, list[float]] = {"raw": [], "corrected": [], "full": []}
    for trial in trials:
        half = len(trial.found.right) // 2
        for name, answers in (("raw", trial.raw), ("corrected", trial.found)):
            lists = answers.best.tolist()
            cut = hubless.Cut.fit(lists[:half])
            found[name].append(auroc(np.array([cut.confidence(each) for each in lists[half:]]), answers.right[half:]))
        whole = trial.outcomes(slice(half, None))
        found["full"].append(auroc(whole.confidence, whole.right))
    return {name: round(float(np.mean(each)), 4) for name, each in found.items()}


def table(sets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the table: answered and broken where 90 % were promised, means of the sets."""
    yield "| cut | answered | broken |"
    yield "| --- | ---: | ---: |"
    for name, called in CUTS.items():
        answered, broken = means(counted(sets), name)
        yield f"| {called} | {100 * answered:.0f} % | {100 * broken:.0f} % |"


def counted(sets: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the sets that have queries enough."""
    return [found for found in sets if found.get("promises")]


def by_labels(sets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the table: answered and broken, in %, by promise and labels, means of sets with most queries.

    These are the sets that have as many queries as the most labels take.
    """
    names = [f"{labels} labels" for labels in MANY]
    some = _largest(sets)
    yield f"| promised | {' | '.join(names).replace(' labels', '')} |"
    yield "| --- |" + " ---: |" * len(names)
    for accuracy in LISTED:
        cells = [f"{accuracy:g}"]
        for name in names:
            answered, broken = means(some, name, accuracy)
            cells.append(f"{100 * answered:.0f}, {100 * broken:.0f}")
        yield f"| {' | '.join(cells)} |"


def answered_by_labels(sets: Sequence[Mapping[str, Any]]) -> str:
    """Return the shares that are answered where 90 % are promised, by the number of labels."""
    *shares, last = (f"{100 * means(_largest(sets), f'{labels} labels')[0]:.0f}" for labels in MANY)
    return f"{', '.join(shares)} and {last} %"


def _largest(sets: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [found for found in counted(sets) if f"{MANY[-1]} labels" in found["promises"][f"{SHOWN:g}"]]


def means(counted: Sequence[Mapping[str, Any]], name: str, accuracy: float = SHOWN) -> tuple[float, float]:
    """Return the means over the sets: the share answered, and the share of draws that broke the promise."""
    each = [found["promises"][f"{accuracy:g}"][name] for found in counted]
    return float(np.mean([one["answered"] for one in each])), float(np.mean([one["broken"] for one in each]))


def chart(sets: Sequence[Mapping[str, Any]]) -> MarkedChart:
    """Draw what was kept on average by what was promised, one point a set and promise."""
    drawn_at = PROMISED[-4:]
    ticks = {each: f"{100 * each:.0f}" for each in (0.7, *drawn_at, 1)}
    drawn = MarkedChart(
        Axis("promised, in % right", 0.78, 0.97, {each: f"{100 * each:.0f}" for each in drawn_at}, grid=True),
        Axis("kept on other queries, in %", 0.7, 1.0, ticks, grid=True),
    )
    drawn.line([0.78, 0.97], [0.78, 0.97], RAW, "as promised", width=1.5, dash="4 3")
    for name, colour, aside in (("plain", RAW, -0.004), ("guaranteed", ACCENT, 0.004)):
        called = "plain threshold" if name == "plain" else "guaranteed cut"
        for found in sets:
            for accuracy in drawn_at if found.get("promises") else ():
                if (kept := found["promises"][f"{accuracy:g}"][name]["kept"]) is not None:
                    drawn.point(accuracy + aside, max(kept, 0.7), colour, "s" if name == "plain" else "o", name=called)
                    called = ""
    return drawn
