"""As many hits as needed, on real sets: `python -m benchmarks.coverage FOLDER …`.

Sets and splits are those of `benchmarks.confidence`: the bank is the queries whose targets are not searched. Half of
the test queries, drawn by lot, are labels, 1,000 at most; the others ask for a coverage. Of each set, means over the
splits: the share of these whose right target is among the hits, the hits of a query, and the smallest fixed k that
holds the right target as often on the same queries, raw and corrected. A set counts where the coverage can be had in
most splits. Writes `lab/docs/performance/coverage.json`; without folders it prints what is there.
"""

from collections.abc import Iterator, Mapping
from math import ceil
from pathlib import Path

import numpy as np

import hubless
from benchmarks.confidence import splits, with_all_pairs
from benchmarks.real_sets import keep_by_set, open_set
from benchmarks.report import KEPT as FOLDER
from hubless.errors import InputError
from hubless.vectors.arrays import F32, I64
from hubless_lab.experiments.trials import Trial

KEPT = FOLDER / "coverage.json"
COVERAGES, LIMITS, SEEDS = (0.8, 0.9, 0.95), (10, 100), 5
SHOWN = (0.8, 100), (0.9, 10), (0.9, 100)
NAMES = ("coverage", "hits", "raw k", "corrected k")
Figures = dict[str, dict[str, float] | None]
Sets = Mapping[str, Mapping[str, Mapping[str, float] | None]]


def measure(folder: Path) -> Figures:
    """Return the figures of a set by coverage and limit; None where no depth gives the coverage in most splits."""
    tried: dict[str, list[list[float]]] = {f"{share:g} of {limit}": [] for share in COVERAGES for limit in LIMITS}
    for seed, trial in enumerate(splits(with_all_pairs(open_set(folder), folder).pairs, folder, SEEDS)):
        index, queries, right = fitted(trial)
        order = np.random.default_rng([seed, 7]).permutation(len(queries))
        labels, others = np.array_split(order, 2)
        index.calibrate(queries[labels], [right[query] for query in labels])
        relevant = [right[query] for query in others]
        ranks = [first_right(index, queries[others], relevant, strength) for strength in (0.0, index.strength)]
        for share in COVERAGES:
            for limit in LIMITS:
                try:
                    found = index.query(queries[others], limit, coverage=share).ids
                except InputError:
                    continue
                had = float(
                    np.mean([bool(set(line) & set(wanted)) for line, wanted in zip(found, relevant, strict=True)])
                )
                fixed = [float(np.sort(each)[ceil(had * len(each) - 1e-9) - 1]) for each in ranks]
                tried[f"{share:g} of {limit}"].append([had, float(np.mean([*map(len, found)])), *fixed])
    return {
        name: dict(zip(NAMES, np.mean(rows, axis=0).round(4).tolist(), strict=True)) if len(rows) > SEEDS / 2 else None
        for name, rows in tried.items()
    }


def fitted(trial: Trial) -> tuple[hubless.Index, F32, list[list[int]]]:
    """Return the index of a split, its test queries that have a right target (m, d), and the rows of these targets."""
    index = hubless.Index("auto", "cosine").fit(
        trial.query_bank, trial.pairs.targets[trial.target_rows], bank_of_targets=True
    )
    place = {row: number for number, row in enumerate(trial.target_rows.tolist())}
    right = {
        query: [place[row] for row in trial.pairs.relevant[query].tolist() if row in place]
        for query in trial.rows.tolist()
    }
    known = [query for query, rows in right.items() if rows]
    return index, trial.pairs.queries[known], [right[query] for query in known]


def first_right(index: hubless.Index, queries: F32, relevant: list[list[int]], strength: float) -> I64:
    """Return the rank of the best right target of each query, (m,), by a full ranking."""
    rows = index.query(queries, index.count, strength=strength).rows
    return np.array([np.isin(line, wanted).argmax() + 1 for line, wanted in zip(rows, relevant, strict=True)])


def means(sets: Sets, share: float, limit: int) -> list[float]:
    """Return the means of the figures over the sets where the coverage can be had, and the number of these sets."""
    some = [found for each in sets.values() if (found := each[f"{share:g} of {limit}"])]
    return [*(float(np.mean([each[name] for each in some])) for name in NAMES), len(some)]


def table(sets: Sets) -> Iterator[str]:
    """Yield the lines of the table: the means by coverage and limit."""
    yield "| asked, limit | sets | had | hits | fixed | raw |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for share, limit in SHOWN:
        had, hits, raw, corrected, count = means(sets, share, limit)
        first = f"{100 * share:.0f} %, {limit}"
        yield f"| {first} | {count} | {100 * had:.1f} % | {hits:.1f} | {corrected:.1f} | {raw:.1f} |"


def main() -> None:
    """Measure, and keep the figures."""
    keep_by_set(__doc__, KEPT, measure, table)


if __name__ == "__main__":
    main()
