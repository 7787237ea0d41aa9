"""Changes of R@1 by a wrong query bank on real sets: `python -m benchmarks.wrong_banks FOLDER [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`. Gallery and test queries are those of its protocol; the bank is

- all of it;
- a random fifth of it;
- one topic: the bank is clustered into 5 topics by k-means on the sphere, 15 rounds, and each topic with 20 queries or
  more is a bank by itself;
- the nearest fifth: a bank query and those most similar to it, so that it covers as little as can be;
- other topics: gallery and test queries are those of one of 5 topics of the targets with 20 test queries or more, and
  the bank is all queries that find a target of another topic first. So it has nothing to do with the gallery, as a bank
  of another domain.

Prints Markdown: per set the mean change of R@1 in points over the banks and the seeds, and the worst single bank; then
per kind of bank the median and the worst of the sets on which the entry can be fitted. Writes all numbers to
`benchmarks/results/wrong_banks.json`.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.real_sets import Set, cut, hits, open_set, trial
from hubless.vectors.arrays import F32, I64
from hubless_lab.experiments.methods import Method
from hubless_lab.experiments.trials import Trial

TOPICS, ROUNDS, FEWEST = 5, 15, 20
SHARE = 0.2
SEEDS = 3
ENTRIES = {
    "auto": Method("auto"),
    "csls": Method("csls"),
    "nnn": Method("nnn"),
    "dis": Method("dis"),
    "is, τ .02": Method("is", {"temperature": 0.02}),
    "sn, τ .01": Method("sn", {"temperature": 0.01}),
    "dbsn, τ .01": Method("dbsn", {"temperature": 0.01}),
    "nnn, k 16": Method("nnn", {"k": 16, "weight": 0.75}),
    "nnn, k 16, w .5": Method("nnn", {"k": 16, "weight": 0.5}),
    "nnn, k 8, w .25": Method("nnn", {"k": 8, "weight": 0.25}),
}
RESULTS = Path(__file__).parent / "results" / "wrong_banks.json"


def topics(rows: F32, rng: np.random.Generator) -> I64:
    """The topic of each row (m, d), from 0 to 4: its nearest centre by k-means on the sphere."""
    centres = rows[rng.choice(len(rows), TOPICS, replace=False)].copy()
    for _ in range(ROUNDS):
        nearest = (rows @ centres.T).argmax(axis=1)
        for topic in np.unique(nearest):
            total = rows[nearest == topic].sum(axis=0)
            centres[topic] = total / np.linalg.norm(total)
    found: I64 = (rows @ centres.T).argmax(axis=1)
    return found


def one_topic(bank: F32, rng: np.random.Generator) -> list[F32]:
    """The bank's topics, each a bank."""
    of_row = topics(bank, rng)
    parts = [bank[of_row == topic] for topic in range(TOPICS)]
    return [part for part in parts if len(part) >= FEWEST]


def other_topics(given: Trial, rng: np.random.Generator) -> list[Trial]:
    """A trial for each topic of the targets: its gallery and test queries, and the bank queries of other topics."""
    of_target = topics(given.targets, rng)
    of_query = of_target[(given.query_bank @ given.targets.T).argmax(axis=1)]
    found = []
    for topic in range(TOPICS):
        inside = given.target_rows[of_target == topic]
        rows = [row for row in given.rows if np.isin(given.pairs.relevant[row], inside).any()]
        bank = given.query_bank[of_query != topic]
        if len(rows) >= FEWEST and len(bank) >= FEWEST:
            found.append(replace(given, target_rows=inside, rows=np.array(rows), query_bank=bank))
    return found


def nearest_fifth(bank: F32, rng: np.random.Generator) -> list[F32]:
    """A bank query drawn at random, and those most similar to it."""
    similarities = bank @ bank[rng.integers(len(bank))]
    return [bank[np.sort(np.argsort(-similarities)[: max(FEWEST, int(SHARE * len(bank)))])]]


def random_fifth(bank: F32, rng: np.random.Generator) -> list[F32]:
    """A random fifth of the bank."""
    return [cut(bank, max(FEWEST, int(SHARE * len(bank))), rng)]


OTHER = "other topics"
BANKS: dict[str, Callable[[F32, np.random.Generator], list[F32]]] = {
    "all": lambda bank, rng: [bank],
    "random fifth": random_fifth,
    "one topic": one_topic,
    "nearest fifth": nearest_fifth,
}


def trials(data: Set, kind: str, seed: int) -> list[Trial]:
    """The trials of one split with each bank of a kind."""
    given = trial(data, None, seed)
    rng = np.random.default_rng(seed)
    if given is None:
        return []
    if kind == OTHER:
        return other_topics(given, rng)
    return [replace(given, query_bank=bank) for bank in BANKS[kind](given.query_bank, rng)]


def measure(data: Set, kind: str, entries: Mapping[str, Method], seeds: int) -> dict[str, Any]:
    """The changes of R@1, in points, of each entry with each bank of a kind, beside raw R@1 in per cent."""
    changes: dict[str, list[float]] = {label: [] for label in entries}
    raw = []
    for seed in range(seeds):
        for given in trials(data, kind, seed):
            found = hits(given, [Method("none"), *entries.values()])
            raw.append(100 * float(found["none"].mean()))
            for label, entry in entries.items():
                if entry.label in found:
                    changes[label].append(100 * float(found[entry.label].mean()) - raw[-1])
    return {"set": data.name, "bank": kind, "raw": raw, "changes": changes}


def markdown(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line a set and bank: mean and worst bank of each entry. Then a line a bank: median and worst set."""
    labels = list(rows[0]["changes"])
    yield f"| set | bank | raw | {' | '.join(labels)} |"
    yield "| --- | --- | ---: |" + " ---: |" * len(labels)
    for row in rows:
        cells = [_mean_and_worst(row["changes"][label]) for label in labels]
        yield f"| {row['set']} | {row['bank']} | {np.mean(row['raw']):.1f} | {' | '.join(cells)} |"
    for kind in dict.fromkeys(row["bank"] for row in rows):
        of_kind = [row["changes"] for row in rows if row["bank"] == kind]
        means = {label: [np.mean(each[label]) for each in of_kind if each[label]] for label in labels}
        cells = [f"{np.median(found):+.1f} / {min(found):+.1f}" if found else "–" for found in means.values()]
        yield f"| all sets | {kind} | | {' | '.join(cells)} |"


def _mean_and_worst(values: Sequence[float]) -> str:
    return f"{np.mean(values):+.1f} / {min(values):+.1f}" if values else "–"


def main() -> None:
    """Measure all folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--bank", action="append", choices=[*BANKS, OTHER], help="default: all of these")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    kinds = given.bank or [*BANKS, OTHER]
    rows = [measure(data, kind, ENTRIES, given.seeds) for data in map(open_set, given.folders) for kind in kinds]
    print("\n".join(markdown(rows)))
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
