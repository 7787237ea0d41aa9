"""Methods that were tried and left out, beside `auto`: `python -m benchmarks.left_out [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`, and all sets follow the strict protocol (lab/docs/lab.md).

- InvGC (Jin et al., EMNLP 2023): each target moves away from all others and from the bank queries, t − r·mean over x of
  (t·x)x for both, and gets length 1 again; r is 0.5, the best of 0.1, 0.3, 0.5 and 1 on these sets. It folds.
- HNN (Huang et al., ACL 2019): the entropic transport of `sn` with ε = 1/30, solved. 100 steps are enough.
- GR-CLIP (Li et al., 2025): each side loses its own mean and gets length 1 again; the means are those of the banks.

Prints Markdown: the mean change of R@1 in points. Everything is kept in `docs/images/left_out.json`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.gains import IMAGES, signed
from benchmarks.real_sets import Set, of_each, print_sets, trial
from hubless.corrections import correction
from hubless.vectors.arrays import F32
from hubless_lab.experiments.trials import Trial

SEEDS = 10
KEPT = IMAGES / "left_out.json"
STEP = 0.5
HNN = {"temperature": 1 / 30, "iterations": 100, "fit_sample": "all"}


def unit(rows: F32) -> F32:
    """Rows of length 1."""
    scaled: F32 = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return scaled


def inverted(targets: F32, *others: F32) -> F32:
    """Targets moved away from others."""
    moved = targets - STEP * sum((targets @ rows.T) @ rows / len(rows) for rows in others)
    return unit(moved.astype(np.float32))


def banks(given: Trial) -> tuple[F32, F32]:
    """The query bank and the target bank."""
    if given.target_bank is None:
        raise ValueError("the strict protocol has both banks")
    return given.query_bank, given.target_bank


def invgc(given: Trial) -> F32:
    """Scores (m, n)."""
    bank, others = banks(given)
    scores: F32 = given.queries @ inverted(given.targets, bank, others).T
    return scores


def centred(given: Trial) -> tuple[F32, F32, F32, F32]:
    """Queries, targets and both banks, each less the mean of its bank."""
    bank, others = banks(given)
    queries, known = (unit(rows - bank.mean(axis=0)) for rows in (given.queries, bank))
    targets, extra = (unit(rows - others.mean(axis=0)) for rows in (given.targets, others))
    return queries, targets, known, extra


def gr_clip(given: Trial) -> F32:
    """Scores (m, n)."""
    queries, targets, _, _ = centred(given)
    scores: F32 = queries @ targets.T
    return scores


def gr_clip_and_auto(given: Trial) -> F32:
    """Scores (m, n)."""
    queries, targets, bank, extra = centred(given)
    scores: F32 = queries @ targets.T - correction("auto").fit(bank, targets, extra).offsets(targets)
    return scores


def auto(given: Trial) -> F32:
    """Scores (m, n)."""
    bank, others = banks(given)
    offsets = correction("auto").fit(bank, given.targets, others).offsets(given.targets)
    scores: F32 = given.queries @ given.targets.T - offsets
    return scores


def hnn(given: Trial) -> F32:
    """Scores (m, n)."""
    bank, _ = banks(given)
    scores: F32 = given.queries @ given.targets.T - correction("sn", HNN).fit(bank, given.targets).offsets(
        given.targets
    )
    return scores


METHODS: Mapping[str, Callable[[Trial], F32]] = {
    "auto": auto,
    "HNN": hnn,
    "InvGC": invgc,
    "GR-CLIP": gr_clip,
    "GR-CLIP, then auto": gr_clip_and_auto,
}


def right(given: Trial, scores: F32) -> float:
    """R@1 in per cent."""
    firsts = zip(scores.argmax(axis=1).tolist(), given.relevant, strict=True)
    return 100 * float(np.mean([row in rows for row, rows in firsts]))


def measure(data: Set, seeds: int) -> dict[str, Any]:
    """The mean change of R@1 by each method."""
    changes: dict[str, list[float]] = {name: [] for name in METHODS}
    for seed in range(seeds):
        given = trial(replace(data, bank=None), None, seed)
        if given is None:
            continue
        raw = right(given, given.queries @ given.targets.T)
        for name, method in METHODS.items():
            changes[name].append(right(given, method(given)) - raw)
    return {"set": data.name, "changes": {name: round(float(np.mean(values)), 3) for name, values in changes.items()}}


def markdown(sets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line a method: mean of the sets, and the worst."""
    yield "| method | mean | worst set |"
    yield "| --- | ---: | ---: |"
    for method in METHODS:
        changes = [found["changes"][method] for found in sets]
        yield f"| {method} | {signed(float(np.mean(changes)))} | {signed(min(changes))} |"


def main() -> None:
    """Measure all folders."""
    print_sets(__doc__, SEEDS, KEPT, of_each(measure), markdown)


if __name__ == "__main__":
    main()
