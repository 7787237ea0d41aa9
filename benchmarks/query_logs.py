"""Changes of R@1 by a raw query log as the bank: `python -m benchmarks.query_logs FOLDER [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`. A log of 2,000 and as many tests are drawn from one Zipf law over the
queries (`hubless_lab.experiments.trials.demand_trial`), s = 1 and 1.3; all targets are searched. *Copies* repeat a
query as it was, *paraphrases* jitter each repeat in the log to a cosine of 0.9. R@1 is by demand, and by query, each
once.

Prints Markdown: a line a set, mean / worst log by demand; then a line an entry: mean of the sets / worst set / worst
log, and the mean by query. Everything is kept in `docs/images/query_logs.json`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.gains import IMAGES, NAMES, signed
from benchmarks.real_sets import Set, hits, of_each, print_sets
from hubless.vectors.arrays import F32
from hubless_lab.experiments.methods import Method
from hubless_lab.experiments.trials import Trial, demand_trial

EXPONENTS, SEEDS, COSINE = (1.0, 1.3), 3, 0.9
ENTRIES = {"auto": Method("auto"), "csls": Method("csls")}
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


def measure(data: Set, seeds: int) -> dict[str, Any]:
    """Return each single change of R@1 in points, by entry and kind of log: by demand, and by query."""
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
    """A line a set with `auto`: mean / worst log. Then an entry: mean / worst set / worst log, and by query."""
    kinds = list(sets[0]["changes"]["auto"])
    yield f"| set | {' | '.join(kinds)} |"
    yield "| --- |" + " ---: |" * len(kinds)
    for found in sets:
        each = [[demand for demand, _ in found["changes"]["auto"][kind]] for kind in kinds]
        name = NAMES.get(found["set"], found["set"]).replace("\n", " ")
        yield f"| {name} | {' | '.join(f'{signed(float(np.mean(some)))} / {signed(min(some))}' for some in each)} |"
    for label in ENTRIES:
        cells = []
        for kind in kinds:
            every = [np.array(found["changes"][label][kind]) for found in sets]
            means = [float(some[:, 0].mean()) for some in every]
            by_query = float(np.mean([some[:, 1].mean() for some in every]))
            figures = float(np.mean(means)), min(means), float(min(some[:, 0].min() for some in every))
            cells.append(f"{' / '.join(map(signed, figures))}; {signed(by_query)}")
        yield f"| all sets, {label} | {' | '.join(cells)} |"


def main() -> None:
    """Measure all folders."""
    print_sets(__doc__, SEEDS, KEPT, of_each(measure), markdown)


if __name__ == "__main__":
    main()
