"""Live queries that mend a bank of one topic: `python -m benchmarks.live_bank FOLDER [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`. Strict protocol (lab/docs/lab.md): half of the targets are the gallery,
with the queries that test it. All other queries, and those of `bank.npy`, want nothing in the gallery. At most 2,000 of
these, and at most four fifths, are live queries; the rest is the full bank. The collection begins with one topic of the
full bank (`benchmarks.wrong_banks`). After n live queries the bank is made as `hubless bank` makes it: up to 200 are
kept out as fresh ones, the others are thinned and make up 90 % of a mix with the old bank. `auto` is fitted, and the
fresh queries choose its strength.

With `--popular` the set is one where many ask for the same targets (Flickr8k: five captions an image). Then the test
queries and the live queries are random halves of all queries, and the gallery are all targets: live queries want what
test queries want. That is what happens in the world; it cannot be measured where each target has one query.

Prints Markdown: R@1 in per cent, mean over topics and seeds. Writes all numbers to `benchmarks/results/live_bank.json`.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.real_sets import Set, open_set
from benchmarks.wrong_banks import one_topic
from hubless.builder.banks.thinning import thin
from hubless.corrections import correction
from hubless.corrections.banks.live_queries import strength_by_offsets
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import ArrayVectors
from hubless_lab.experiments.trials import strict_trial

STEPS = (100, 200, 500, 1000, 2000)
MOST_LIVE, FRESH, SHARE = 2000, 200, 0.9
SEEDS, TOPICS = 3, 2
RESULTS = Path(__file__).parent / "results" / "live_bank.json"


def mixed(parts: Sequence[tuple[F32, float]], seed: int) -> F32:
    """Return a query bank (b, d) drawn at random from several by their shares, as large as they allow."""
    rng = np.random.default_rng(seed)
    most = min(len(rows) / share for rows, share in parts)
    sizes = [min(round(most * share), len(rows)) for rows, share in parts]
    drawn = [rows[rng.choice(len(rows), size, replace=False)] for (rows, _), size in zip(parts, sizes, strict=True)]
    return np.concatenate(drawn)


class Asked:
    """A gallery, and the queries that test it."""

    def __init__(self, queries: F32, targets: F32, relevant: Sequence[I64]) -> None:
        self.targets = ArrayVectors(targets, "targets")
        self._similarities = queries @ targets.T
        self._relevant = [set(rows.tolist()) for rows in relevant]

    def recall(self, offsets: F32) -> float:
        """R@1 in per cent."""
        first = (self._similarities - offsets).argmax(axis=1).tolist()
        return 100 * float(np.mean([row in right for row, right in zip(first, self._relevant, strict=True)]))

    def offsets(self, bank: F32, name: str = "auto") -> F32:
        """Return the offsets of a correction fitted on a bank."""
        return correction(name).fit(ArrayVectors(bank, "query bank"), self.targets).offsets(self.targets)

    def chosen(self, offsets: F32, fresh: F32) -> float:
        """The strength that fresh queries choose."""
        return strength_by_offsets(fresh, self.targets, offsets).strength


def growing(data: Set, seed: int) -> Iterator[tuple[str, float]]:
    """Kinds of banks and their R@1."""
    trial = strict_trial(data.pairs, seed)
    rng = np.random.default_rng(seed)
    asked = Asked(trial.queries, trial.targets, trial.relevant)
    others = trial.query_bank if data.bank is None else np.concatenate([trial.query_bank, data.bank])
    others = others[rng.permutation(len(others))]
    count = min(MOST_LIVE, 4 * len(others) // 5)
    live = others[:count]
    full = others[count:]
    yield "raw", asked.recall(np.zeros(len(trial.targets), np.float32))
    yield "full bank", asked.recall(asked.offsets(full))
    yield "all of them", asked.recall(asked.offsets(others))
    for topic in one_topic(full, rng)[:TOPICS]:
        yield "one topic", asked.recall(asked.offsets(topic))
        for step in STEPS:
            if step > len(live):
                continue
            held = min(FRESH, step // 3)
            fresh = live[:held]
            rest = live[held:step]
            kept = rest[thin(rest, asked.targets).rows]
            offsets = asked.offsets(mixed([(topic, 1 - SHARE), (kept, SHARE)], seed))
            yield f"{step:,} live", asked.recall(asked.chosen(offsets, fresh) * offsets)


def popular(data: Set, seed: int) -> Iterator[tuple[str, float]]:
    """Ways to make a bank of live queries that want what test queries want, and their R@1."""
    pairs = data.pairs
    order = np.random.default_rng(seed).permutation(len(pairs.queries))
    half = len(order) // 2
    tests = order[half:]
    asked = Asked(pairs.queries[tests], pairs.targets, [pairs.relevant[row] for row in tests])
    held = min(FRESH, half // 3)
    fresh = pairs.queries[order[:held]]
    live = pairs.queries[order[held:half]]
    yield "raw", asked.recall(np.zeros(len(pairs.targets), np.float32))
    for same in (2.0, 0.8, 0.6, 0.4, 0.3):
        found = thin(live, asked.targets, same=same)
        offsets = asked.offsets(live[found.rows])
        yield f"same {same:g}", asked.recall(offsets)
        yield f"same {same:g}, fresh strength", asked.recall(asked.chosen(offsets, fresh) * offsets)
    for other in ("csls", "nnn"):
        yield other, asked.recall(asked.offsets(live, other))


def measured(data: Set, seeds: int, *, wanted: bool) -> dict[str, Any]:
    """All R@1 of a set, by kind of bank."""
    found: dict[str, list[float]] = {}
    for seed in range(seeds):
        for kind, recall in (popular if wanted else growing)(data, seed):
            found.setdefault(kind, []).append(recall)
    return {"set": data.name, "recall": found}


def markdown(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line a kind of bank, a column a set."""
    yield f"| bank | {' | '.join(row['set'] for row in rows)} |"
    yield "| --- |" + " ---: |" * len(rows)
    for kind in dict.fromkeys(kind for row in rows for kind in row["recall"]):
        cells = [f"{np.mean(row['recall'][kind]):.1f}" if kind in row["recall"] else "–" for row in rows]
        yield f"| {kind} | {' | '.join(cells)} |"


def main() -> None:
    """Measure all folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--popular", action="store_true")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    rows = [measured(open_set(folder), given.seeds, wanted=given.popular) for folder in given.folders]
    print("\n".join(markdown(rows)))
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
