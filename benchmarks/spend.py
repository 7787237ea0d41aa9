"""Queries that are worth a second look: `python -m benchmarks.spend FOLDER …`.

Sets, splits and answers are those of `benchmarks.confidence`. Queries are sorted, the least sure first: by confidence,
by the lead of the first cosine over the second, and by the best cosine. The figure is the share of all queries that
holds 95 % of those whose first hit is wrong: a reranker that looks at these only has nearly all that it could mend.
Writes `lab/docs/performance/spend.json`; without folders it prints what is there.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.confidence import splits, with_all_pairs
from benchmarks.real_sets import keep_by_set, open_set
from benchmarks.report import KEPT as FOLDER
from hubless.vectors.arrays import F64, Flags
from hubless_lab.experiments.abstain import trial_answers
from hubless_lab.experiments.methods import Method

KEPT = FOLDER / "spend.json"
WAYS = ("confidence", "lead of the best cosine", "best cosine")
KEEP, SEEDS = 0.95, 3
Shares = Mapping[str, Sequence[float]]


def share_looked_at(sure: F64, wrong: Flags) -> float:
    """Return the share of queries, the least sure first, that holds 95 % of those that are wrong."""
    caught = np.cumsum(wrong[np.argsort(sure, kind="stable")])
    return float(np.searchsorted(caught, KEEP * caught[-1]) + 1) / len(wrong)


def measure(folder: Path) -> dict[str, float]:
    """Return the share of wrong answers of a set, and the share to look at by each way: means over the splits."""
    found = []
    for trial in splits(with_all_pairs(open_set(folder), folder).pairs, folder, SEEDS):
        answers = trial_answers(trial, Method("auto"))
        outcomes = answers.outcomes()
        best = answers.raw.best.astype(np.float64)
        numbers = (outcomes.confidence, best[:, 0] - best[:, 1], best[:, 0])
        wrong = ~outcomes.right
        found.append([wrong.mean(), *(share_looked_at(each, wrong) for each in numbers)])
    return dict(zip(("wrong", *WAYS), np.mean(found, axis=0).round(4).tolist(), strict=True))


def table(sets: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| sorted by | mean | best set | worst set |"
    yield "| --- | ---: | ---: | ---: |"
    for way in WAYS:
        shares = [each[way] for each in sets.values()]
        yield f"| {way} | {np.mean(shares):.0%} | {min(shares):.0%} | {max(shares):.0%} |".replace("%", " %")


def main() -> None:
    """Measure, and keep the figures."""
    keep_by_set(__doc__, KEPT, measure, table)


if __name__ == "__main__":
    main()
