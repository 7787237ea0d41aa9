"""Changes of R@1 by a raw query log as the bank: `python -m benchmarks.query_logs FOLDER [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`. A log of 2,000 and as many tests are drawn from one Zipf law over the
queries (`hubless_lab.experiments.trials.demand_trial`), s = 1 and 1.3; all targets are searched. *Copies* repeat a
query as it was, *paraphrases* jitter each repeat in the log to a cosine of 0.9. R@1 is by demand, and by query, each
once.

A folder with `bank_count.npy`, `count.npy`, `rel_q.npy` and `rel_t.npy` is a real log: `bank.npy` are queries that were
asked so often, the tests are others. R@1 counts any right target, by searches and by query; also with the counts of the
bank shuffled, five times, and with repeated rows, 20,000 that are drawn from the log.

Prints Markdown: mean of the sets / worst set / worst log by demand. Everything is kept in
`docs/images/query_logs.json`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.gains import IMAGES, NAMES, signed
from benchmarks.real_sets import Set, hits, of_each, print_sets
from hubless.measures.repeats import with_copies, without_copies
from hubless.vectors.arrays import F32
from hubless.vectors.sources import ArrayVectors
from hubless_lab.experiments.methods import Method
from hubless_lab.experiments.trials import Trial, demand_trial

EXPONENTS, SEEDS, COSINE = (1.0, 1.3), 3, 0.9
ENTRIES = {"auto": Method("auto"), "csls": Method("csls")}
DRAWN = 20_000
KINDS = {
    "counts": "queries with counts",
    "uncounted": "queries without counts",
    "shuffled": "counts shuffled",
    "drawn": "20,000 searches, as rows",
}
KEPT = IMAGES / "query_logs.json"


def jittered(rows: F32, rng: np.random.Generator) -> F32:
    """Rows of length 1, turned each by the same angle in a direction of its own."""
    noise = rng.normal(size=rows.shape)
    noise -= np.sum(noise * rows, axis=1, keepdims=True) * rows
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    return (COSINE * rows + np.sqrt(1 - COSINE**2) * noise).astype(np.float32)


def logs(data: Set, seed: int) -> Iterator[tuple[str, Trial]]:
    """Kinds of logs, and the trials with them."""
    for exponent in EXPONENTS:
        given = demand_trial(data.pairs, exponent, seed)
        yield f"copies, s = {exponent:g}", given
        _, firsts = np.unique(given.query_bank, axis=0, return_index=True)
        again = np.setdiff1d(np.arange(len(given.query_bank)), firsts)
        bank = given.query_bank.copy()
        bank[again] = jittered(bank[again], np.random.default_rng(1000 + seed))
        yield f"paraphrases, s = {exponent:g}", replace(given, query_bank=bank)


def real_log(data: Set, seeds: int) -> dict[str, Any]:
    """Return R@1 in per cent by kind of bank and entry, each time it was measured: by searches, and by query."""
    assert data.asked is not None
    assert data.bank is not None
    assert data.right is not None
    asked, of_tests = data.asked
    similarities = data.pairs.queries @ data.pairs.targets.T
    targets = ArrayVectors(data.pairs.targets, "targets")
    right = [set(rows.tolist()) for rows in data.right]

    def recall(offsets: F32 | float) -> list[float]:
        firsts = (similarities - offsets).argmax(axis=1).tolist()
        found = np.array([first in rows for first, rows in zip(firsts, right, strict=True)])
        return [round(100 * float(np.average(found, weights=weights)), 2) for weights in (of_tests, None)]

    measured: dict[str, dict[str, list[list[float]]]] = {}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        drawn = rng.multinomial(DRAWN, asked / asked.sum())
        banks = {"counts": asked, "uncounted": np.ones_like(asked), "shuffled": rng.permutation(asked), "drawn": drawn}
        for kind, counts in banks.items():
            rows = np.flatnonzero(counts)
            bank = with_copies(ArrayVectors(data.bank[rows], "query bank"), counts[rows])
            for label, entry in ENTRIES.items():
                offsets = entry.correction().fit(without_copies(bank), targets).offsets(targets)
                measured.setdefault(kind, {}).setdefault(label, []).append(recall(offsets))
    return {"set": data.name, "raw": recall(0.0), "log": measured}


def measure(data: Set, seeds: int) -> dict[str, Any]:
    """Return each single change of R@1 in points, by entry and kind of log: by demand, and by query."""
    if data.asked is not None:
        return real_log(data, seeds)
    changes: dict[str, dict[str, list[list[float]]]] = {label: {} for label in ENTRIES}
    for seed in range(seeds):
        for kind, given in logs(data, seed):
            found = hits(given, [Method("none"), *ENTRIES.values()])
            _, once = np.unique(given.rows, return_index=True)
            for label, entry in ENTRIES.items():
                better = found[entry.label].astype(float) - found["none"]
                figures = [round(100 * float(some.mean()), 3) for some in (better, better[once])]
                changes[label].setdefault(kind, []).append(figures)
    return {"set": data.name, "changes": changes}


def markdown(sets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line a kind of log: mean of the sets / worst set / worst log by demand, of each entry."""
    changes = [found["changes"] for found in sets if "changes" in found]
    yield f"| log | {' | '.join(ENTRIES)} |"
    yield "| --- |" + " ---: |" * len(ENTRIES)
    for kind in changes[0]["auto"]:
        cells = []
        for label in ENTRIES:
            every = [np.array(found[label][kind])[:, 0] for found in changes]
            means = [float(some.mean()) for some in every]
            cells.append(" / ".join(map(signed, (float(np.mean(means)), min(means), float(min(map(min, every)))))))
        yield f"| {kind} | {' | '.join(cells)} |"


def of_logs(sets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A table of the real logs: R@1 in per cent by searches, and by query."""
    yield "| log | bank | by searches: raw | auto | csls | by query: raw | auto | csls |"
    yield "| --- | --- |" + " ---: |" * 6
    for found in sets:
        for kind, entries in found.get("log", {}).items():
            means = [np.mean(entries[label], axis=0) for label in ENTRIES]
            cells = [f"{rows[place]:.1f}" for place in (0, 1) for rows in (found["raw"], *means)]
            yield f"| {NAMES.get(found['set'], found['set'])} | {KINDS[kind]} | {' | '.join(cells)} |"


def tables(sets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Both tables, as far as there are sets for them."""
    for name, table in (("changes", markdown), ("log", of_logs)):
        if any(name in found for found in sets):
            yield from table(sets)
            yield ""


def main() -> None:
    """Measure all folders."""
    print_sets(__doc__, SEEDS, KEPT, of_each(measure), tables)


if __name__ == "__main__":
    main()
