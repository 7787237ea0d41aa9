"""Gain of `auto` by the number of bank queries: `python -m benchmarks.few_queries FOLDER [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`, and all sets follow the strict protocol (lab/docs/lab.md). Banks are random
parts of the bank, drawn anew several times for each split, of 10, 20, 50, 100, 200 and all queries; the target bank is
cut likewise. The last kind are the banks of one topic of `benchmarks.wrong_banks`. Two splits have all kinds, the
others all of the bank only.

Prints Markdown: the change of R@1 in points, mean of the sets / worst set / worst single bank. Everything
is kept in `docs/images/few_queries.json`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.gains import IMAGES, signed
from benchmarks.real_sets import Set, cut, hits, of_each, print_sets, trial
from benchmarks.wrong_banks import one_topic
from hubless_lab.experiments.methods import Method
from hubless_lab.experiments.trials import Trial

SIZES = (10, 20, 50, 100, 200)
SEEDS, SMALL, MOST_DRAWS = 10, 2, 4
ENTRIES = {"auto": Method("auto"), "csls": Method("csls")}
KEPT = IMAGES / "few_queries.json"


def trials(data: Set, seed: int) -> Iterator[tuple[str, Trial]]:
    """Kinds of banks of one split, and the trials with them."""
    given = trial(replace(data, bank=None), None, seed)
    rng = np.random.default_rng(1000 + seed)
    if given is None or given.target_bank is None:
        raise ValueError(f"{data.name}: the strict protocol has both banks")
    yield "all", given
    if seed >= SMALL:
        return
    for size in SIZES:
        for _ in range(MOST_DRAWS if size <= 20 else 2):
            if size < len(given.query_bank):
                banks = {
                    "query_bank": cut(given.query_bank, size, rng),
                    "target_bank": cut(given.target_bank, size, rng),
                }
                yield f"{size}", replace(given, **banks)
    for bank in one_topic(given.query_bank, np.random.default_rng(seed)):
        yield "one topic", replace(given, query_bank=bank)


def measure(data: Set, seeds: int) -> dict[str, Any]:
    """Return each single change of R@1 in points, by entry and kind of bank."""
    changes: dict[str, dict[str, list[float]]] = {label: {} for label in ENTRIES}
    for seed in range(seeds):
        for kind, given in trials(data, seed):
            found = hits(given, [Method("none"), *ENTRIES.values()])
            for label, entry in ENTRIES.items():
                if entry.label in found:
                    change = 100 * float(found[entry.label].mean() - found["none"].mean())
                    changes[label].setdefault(kind, []).append(round(change, 3))
    return {"set": data.name, "changes": changes}


def markdown(sets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line a kind of bank: mean of the sets / worst set / worst bank, of each entry."""
    yield f"| bank queries | {' | '.join(ENTRIES)} |"
    yield "| --- |" + " ---: |" * len(ENTRIES)
    for kind in (*map(str, SIZES[::2]), "all", "one topic"):
        cells = []
        for label in ENTRIES:
            every = [found["changes"][label][kind] for found in sets if kind in found["changes"][label]]
            means = [float(np.mean(some)) for some in every]
            cells.append(" / ".join(map(signed, (float(np.mean(means)), min(means), min(map(min, every))))))
        yield f"| {kind} | {' | '.join(cells)} |"


def main() -> None:
    """Measure all folders."""
    print_sets(__doc__, SEEDS, KEPT, of_each(measure), markdown)


if __name__ == "__main__":
    main()
