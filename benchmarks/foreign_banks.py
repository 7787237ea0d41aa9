"""The loss that live queries avert with a wrong bank: `python -m benchmarks.foreign_banks FOLDER [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`. Of the test queries a random 200, or a third if there are fewer than 600,
are live queries without labels. They choose the strength of `auto`; R@1 is that of the others. The bank is

- full, one topic or the nearest fifth of it, as in `benchmarks.wrong_banks`;
- another domain: the targets are clustered into 4 domains, each with its queries is a set by itself, and the bank are
  the queries of the domain that lies furthest away;
- another set: the queries of each other folder with the same number of dimensions. Give `--same-encoder` if all of them
  share an encoder. Without it such a bank is one of another model, and stands for the worst that can be given.

Prints Markdown: the change of R@1 in points with strength 1 and with the chosen one: mean over the sets, 10th
percentile over all banks, and the worst bank. Writes all numbers to `benchmarks/results/foreign_banks.json`.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.real_sets import Set, open_set, trial
from benchmarks.wrong_banks import ROUNDS, nearest_fifth, one_topic
from hubless.kernels.reductions import rankings
from hubless.measures.evenness import FULL_STRENGTH, STRENGTHS, ChosenStrength, most_even
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import ArrayVectors
from hubless_lab.experiments.methods import Method
from hubless_lab.experiments.trials import Trial

LIVE, DOMAINS = 200, 4
FEWEST_TESTS, FEWEST_BANK = 120, 40
MOST_TESTS = 1200
SEEDS = 2
RESULTS = Path(__file__).parent / "results" / "foreign_banks.json"
Cases = Iterator[tuple[str, Trial]]


def cases(data: Set, others: Sequence[Set], seed: int, elsewhere: str) -> Cases:
    """Kinds of banks, and the trials with them."""
    given = trial(data, None, seed)
    rng = np.random.default_rng(seed)
    if given is None:
        return
    yield "full", given
    for bank in one_topic(given.query_bank, rng):
        yield "one topic", replace(given, query_bank=bank)
    for bank in nearest_fifth(given.query_bank, rng):
        yield "nearest fifth", replace(given, query_bank=bank)
    for found in other_domains(data, rng):
        yield "another domain", found
    for other in others:
        if other.name != data.name and other.pairs.queries.shape[1] == data.pairs.queries.shape[1]:
            yield elsewhere, replace(given, query_bank=other.pairs.queries, target_bank=None)


def other_domains(data: Set, rng: np.random.Generator) -> Iterator[Trial]:
    """Each domain of the targets with the queries of the furthest domain as its bank."""
    pairs = data.pairs
    domain, centres = clusters(pairs.targets, DOMAINS, rng)
    first = np.array([rows[0] if len(rows) else -1 for rows in pairs.relevant])
    for number in range(DOMAINS):
        gallery = np.flatnonzero(domain == number)
        asks = np.where(first >= 0, domain[first], -1)
        tests = np.flatnonzero(asks == number)
        bank = np.flatnonzero(asks == int(np.argmin(centres @ centres[number])))
        if len(tests) < FEWEST_TESTS or len(bank) < FEWEST_BANK:
            continue
        yield Trial(pairs=pairs, rows=tests, target_rows=gallery, query_bank=pairs.queries[bank])


def clusters(rows: F32, count: int, rng: np.random.Generator) -> tuple[I64, F32]:
    """The cluster of each row by k-means on the sphere, and the centres."""
    centres = rows[rng.choice(len(rows), count, replace=False)].copy()
    for _ in range(ROUNDS):
        nearest = (rows @ centres.T).argmax(axis=1)
        for number in np.unique(nearest):
            total = rows[nearest == number].sum(axis=0)
            centres[number] = total / np.linalg.norm(total)
    return (rows @ centres.T).argmax(axis=1), centres


def measured(given: Trial, seed: int) -> dict[str, Any]:
    """The change of R@1 of the queries that are not live, in points, at strength 1 and at the chosen one."""
    order = np.random.default_rng(seed).permutation(len(given.queries))[:MOST_TESTS]
    count = min(LIVE, len(order) // 3)
    live = order[:count]
    tests = order[count:]
    offsets = given.fit(Method("auto").correction()).offsets
    targets = ArrayVectors(given.targets, "targets")
    scaled = [np.float32(strength) * offsets for strength in STRENGTHS]
    k = min(10, len(offsets))
    answers = np.stack([rows for _, rows in rankings(given.queries[live], targets, k, *scaled)])
    chosen: ChosenStrength = most_even(answers, len(offsets))
    relevant = [set(given.relevant[row].tolist()) for row in tests]
    right = {
        strength: np.mean([row in wanted for row, wanted in zip(rows[:, 0].tolist(), relevant, strict=True)])
        for strength, (_, rows) in zip(STRENGTHS, rankings(given.queries[tests], targets, 1, *scaled), strict=True)
    }
    return {
        "live": count,
        "chosen": chosen.strength,
        "full": 100 * float(right[FULL_STRENGTH] - right[0.0]),
        "by_live": 100 * float(right[chosen.strength] - right[0.0]),
    }


def markdown(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line a kind of bank."""
    yield "| bank | sets, banks | strength 1 | chosen | strengths chosen |"
    yield "| --- | ---: | ---: | ---: | --- |"
    for kind in dict.fromkeys(row["bank"] for row in rows):
        of_kind = [row for row in rows if row["bank"] == kind]
        sets = dict.fromkeys(row["set"] for row in of_kind)
        cells = []
        for figure in ("full", "by_live"):
            values = [row[figure] for row in of_kind]
            mean = np.mean([np.mean([row[figure] for row in of_kind if row["set"] == name]) for name in sets])
            cells.append(f"{mean:+.1f} / {np.percentile(values, 10):+.1f} / {min(values):+.1f}")
        chosen = [row["chosen"] for row in of_kind]
        counts = ", ".join(f"{strength:g}: {chosen.count(strength)}" for strength in STRENGTHS if strength in chosen)
        yield f"| {kind} | {len(sets)}, {len(of_kind)} | {cells[0]} | {cells[1]} | {counts} |"


def main() -> None:
    """Measure all folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--same-encoder", action="store_true")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    elsewhere = "another set" if given.same_encoder else "another model"
    sets = [open_set(folder) for folder in given.folders]
    rows = [
        {"set": data.name, "bank": kind, "seed": seed} | measured(case, seed)
        for data in sets
        for seed in range(given.seeds if data.bank is None else 1)
        for kind, case in cases(data, sets, seed, elsewhere)
    ]
    print("\n".join(markdown(rows)))
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
