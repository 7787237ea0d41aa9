"""What a wrong query bank does to R@1 on real sets: `python -m benchmarks.narrow_banks FOLDER [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`. Gallery and test queries are those of its protocol; the bank is

- all of it;
- a random fifth of it;
- one topic: the bank is clustered into 5 topics by k-means on the sphere, 15 rounds, and each topic with 20 queries or
  more is a bank by itself;
- the nearest fifth: a bank query and those most similar to it, so that it covers as little as can be.

Prints Markdown: per set the mean change of R@1 in points over the banks and the seeds, and the worst single bank.
Writes all numbers to `benchmarks/results/narrow_banks.json`.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.real_sets import Set, cut, hits, open_set, trial
from hubless.lab.entries import Entry
from hubless.vectors.arrays import F32

TOPICS, ROUNDS, FEWEST = 5, 15, 20
SHARE = 0.2
SEEDS = 3
ENTRIES = {
    "auto": Entry("auto"),
    "csls": Entry("csls"),
    "nnn": Entry("nnn"),
    "dis": Entry("dis"),
    "is, τ .02": Entry("is", {"temperature": 0.02}),
    "sn, τ .01": Entry("sn", {"temperature": 0.01}),
}
RESULTS = Path(__file__).parent / "results" / "narrow_banks.json"


def one_topic(bank: F32, rng: np.random.Generator) -> list[F32]:
    """The bank's topics, each a bank."""
    centres = bank[rng.choice(len(bank), TOPICS, replace=False)].copy()
    for _ in range(ROUNDS):
        nearest = (bank @ centres.T).argmax(axis=1)
        for topic in np.unique(nearest):
            total = bank[nearest == topic].sum(axis=0)
            centres[topic] = total / np.linalg.norm(total)
    nearest = (bank @ centres.T).argmax(axis=1)
    parts = [bank[nearest == topic] for topic in range(TOPICS)]
    return [part for part in parts if len(part) >= FEWEST]


def nearest_fifth(bank: F32, rng: np.random.Generator) -> list[F32]:
    """A bank query drawn at random, and those most similar to it."""
    similarities = bank @ bank[rng.integers(len(bank))]
    return [bank[np.sort(np.argsort(-similarities)[: max(FEWEST, int(SHARE * len(bank)))])]]


def random_fifth(bank: F32, rng: np.random.Generator) -> list[F32]:
    """A random fifth of the bank."""
    return [cut(bank, max(FEWEST, int(SHARE * len(bank))), rng)]


BANKS: dict[str, Callable[[F32, np.random.Generator], list[F32]]] = {
    "all": lambda bank, rng: [bank],
    "random fifth": random_fifth,
    "one topic": one_topic,
    "nearest fifth": nearest_fifth,
}


def measure(data: Set, kind: str) -> dict[str, Any]:
    """The changes of R@1, in points, of each entry with each bank of a kind."""
    changes: dict[str, list[float]] = {label: [] for label in ENTRIES}
    for seed in range(SEEDS):
        given = trial(data, None, seed)
        if given is None:
            continue
        for bank in BANKS[kind](given.query_bank, np.random.default_rng(seed)):
            entries = [Entry("none"), *ENTRIES.values()]
            found = hits(replace(given, query_bank=bank), entries)
            for label, entry in ENTRIES.items():
                if entry.label in found:
                    changes[label].append(100 * float(found[entry.label].mean() - found["none"].mean()))
    return {"set": data.name, "bank": kind, "changes": changes}


def markdown(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line a set and bank: mean and worst of each entry."""
    yield f"| set | bank | {' | '.join(ENTRIES)} |"
    yield "| --- | --- |" + " ---: |" * len(ENTRIES)
    for row in rows:
        cells = [
            f"{np.mean(values):+.1f} / {min(values):+.1f}" if values else "–"
            for values in (row["changes"][label] for label in ENTRIES)
        ]
        yield f"| {row['set']} | {row['bank']} | {' | '.join(cells)} |"


def main() -> None:
    """Measure all folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    rows = [measure(data, kind) for data in map(open_set, given.folders) for kind in BANKS]
    print("\n".join(markdown(rows)))
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
