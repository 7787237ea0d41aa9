"""Hubness as it is measured, beside that of new queries: `python -m benchmarks.held_out FOLDER [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`. `auto` is fitted on banks that are drawn from the queries of a set; up to
1,000 other queries are new. Their N_10 is that of the fit as people meet it. Beside it stand three ways to measure
hubness with the bank alone, each over as many queries as the way has:

- `half`: half of the bank is answered by a fit on the other half, as a build does;
- `five parts`: each fifth is answered by a fit on the other four;
- `all`: the bank is answered by the fit on all of it.

Prints Markdown; keeps the mean differences from new queries in `lab/docs/performance/held_out.json`.
"""

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gains import signed
from benchmarks.harness import markdown
from benchmarks.real_sets import open_set
from hubless import measures
from hubless.builder.banks.bank_split import split_bank
from hubless.corrections import CORRECTIONS
from hubless.kernels.reductions import rankings
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import ArrayVectors

SIZES, NEW, SEEDS, PARTS, DEPTH = (100, 300, 600, 1000, 2000), 1000, 2, 5, 10
KEPT = Path(__file__).parents[1] / "lab" / "docs" / "performance" / "held_out.json"
SAID = {
    "half": "half of the bank, by a fit on the other half",
    "five parts": "each fifth of the bank, by a fit on the others",
    "all": "all of the bank, by the fit on it",
}
MEASURES: Mapping[str, Callable[[I64], float]] = {
    "antihubs": measures.antihub_occurrence,
    "skewness": measures.skewness,
    "robin_hood": measures.robin_hood,
}


def answers(bank: F32, queries: F32, targets: ArrayVectors) -> I64:
    """Return the first ten targets (m, 10) of queries (m, d) by `auto`, fitted on a bank (b, d)."""
    fitted = CORRECTIONS["auto"]().fit(ArrayVectors(bank, "query bank"), targets)
    ((_, rows),) = rankings(queries, targets, DEPTH, fitted.offsets(targets))
    return rows


def by_half(bank: F32, targets: ArrayVectors, seed: int) -> I64:
    split = split_bank(ArrayVectors(bank, "query bank"), seed)
    return answers(np.asarray(split.others.take(np.arange(split.others.shape[0]))), split.queries, targets)


def by_parts(bank: F32, targets: ArrayVectors, seed: int) -> I64:
    drawn = np.random.default_rng(seed).permutation(len(bank))
    parts = np.array_split(drawn, PARTS)
    return np.concatenate([answers(bank[np.setdiff1d(drawn, part)], bank[part], targets) for part in parts])


WAYS: Mapping[str, Callable[[F32, ArrayVectors, int], I64]] = {
    "half": by_half,
    "five parts": by_parts,
    "all": lambda bank, targets, _: answers(bank, bank, targets),
}


def differences(queries: F32, targets: ArrayVectors, size: int, seed: int) -> dict[str, dict[str, float]]:
    """Return for each way how far its measures are from those of as many new queries."""
    drawn = np.random.default_rng(seed).permutation(len(queries))
    bank, new = queries[drawn[:size]], queries[drawn[size : size + NEW]]
    expected = answers(bank, new, targets)
    found = {}
    for way, answered in WAYS.items():
        rows = answered(bank, targets, seed)
        both = min(len(rows), len(expected))
        counts = [measures.k_occurrence(each[:both], targets.shape[0]) for each in (rows, expected)]
        found[way] = {name: float(measure(counts[0]) - measure(counts[1])) for name, measure in MEASURES.items()}
    return found


def table(kept: Mapping[str, Any]) -> list[list[str]]:
    """Return what is kept as lines of a table."""
    lines = [
        [SAID[way], signed(100 * of["antihubs"]), signed(of["skewness"], 2), signed(100 * of["robin_hood"])]
        for way, of in kept["ways"].items()
    ]
    return [["queries that measure", "antihubs, %", "skewness", "Robin Hood, %"], *lines]


def main() -> None:
    """Measure all folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, default=KEPT)
    given = parser.parse_args()
    found, sets = [], 0
    for folder in given.folders:
        pairs = open_set(folder).pairs
        targets = ArrayVectors(np.asarray(pairs.targets), "targets")
        sizes = [size for size in SIZES if size + SIZES[1] <= len(pairs.queries)]
        found += [differences(pairs.queries, targets, size, seed) for size in sizes for seed in range(SEEDS)]
        sets += bool(sizes)
    ways = {way: {name: float(np.mean([each[way][name] for each in found])) for name in MEASURES} for way in WAYS}
    given.output.write_text(json.dumps({"sets": sets, "banks": len(found), "ways": ways}, indent=1) + "\n")
    print(markdown(table(json.loads(given.output.read_text("utf-8")))))


if __name__ == "__main__":
    main()
