"""What Sinkhorn's sample of targets costs: `python -m benchmarks.sinkhorn_sample [FOLDER ...] [--made 10000 50000]`.

`sn` is fitted on samples of the targets and on all of them, at τ = .01 and at the temperature that `auto` takes.
Folders are those of `benchmarks.real_sets`, with the splits of its protocol. Made-up sets have this many targets, a
query bank of a fifth and 1,000 test queries that each belong to a target; all queries lean one way, which makes hubs.

Prints Markdown: for each sample the share of the exact fit's top 10 that its top 10 has, R@1 in per cent, and how many
products of bank and targets fit and offsets need. Writes all numbers to `benchmarks/results/sinkhorn_sample.json`.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import low_rank
from benchmarks.real_sets import open_set, trial
from hubless.corrections.sinkhorn import FIT_SAMPLE, LAST_STEP_FROM, SinkhornNormalisation
from hubless.kernels.reductions import rankings
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import as_source

SAMPLES = (1000, 2000, 4000, 8000, FIT_SAMPLE)
TEMPERATURES = (0.01, "auto")
QUERIES, LEAN, NOISE = 1000, 1.0, 1.5
RESULTS = Path(__file__).parent / "results" / "sinkhorn_sample.json"


def made(count: int, dim: int) -> tuple[F32, F32, F32, list[I64]]:
    """Bank, targets, test queries and their right targets."""
    rng = np.random.default_rng(count)
    content = low_rank(count + count // 5, dim, count)
    lean = content.mean(axis=0) + rng.standard_normal(dim, np.float32) / np.sqrt(dim)
    lean /= np.linalg.norm(lean)
    targets, others = content[:count], content[count:]
    right = rng.choice(count, QUERIES, replace=False)
    sides = [np.concatenate([targets[right], others]), targets + rng.exponential(0.2, (count, 1)) * lean]
    sides[0] = sides[0] + LEAN * lean + NOISE / np.sqrt(dim) * rng.standard_normal(sides[0].shape, np.float32)
    queries, targets = ((rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32) for rows in sides)
    return queries[QUERIES:], targets, queries[:QUERIES], [np.array([row]) for row in right]


def measure(
    name: str, bank: F32, targets: F32, queries: F32, relevant: Sequence[I64], samples: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """A row for each temperature and sample; the first one of a temperature is the exact fit."""
    source = as_source(targets, "targets")
    for temperature in TEMPERATURES:
        exact = None
        for size in ("all", *(size for size in samples if size < len(targets))):
            fitted = SinkhornNormalisation(temperature, fit_sample=size).fit(bank, targets)
            ((_, top),) = rankings(queries, source, 10, fitted.offsets(targets))
            exact = top if exact is None else exact
            share = fitted.details["fitted_on"] / len(targets)
            yield {
                "set": name,
                "targets": len(targets),
                "bank": len(bank),
                "temperature": fitted.temperature,
                "sample": size,
                "last_step_on_all": fitted.details["last_step_on"] == len(targets),
                "agreement": float(np.mean([len(np.intersect1d(*pair)) / 10 for pair in zip(top, exact, strict=True)])),
                "recall_at_1": float(np.mean([first in rows for first, rows in zip(top[:, 0], relevant, strict=True)])),
                "products": 1 + share + (1 if share <= 1 / LAST_STEP_FROM else 0),
            }


def markdown(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield "| set | targets | bank | τ | sample | top 10 as exact | R@1 | products |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for row in rows:
        size = "all" if row["sample"] == "all" else f"{row['sample']:,}"
        yield (
            f"| {row['set']} | {row['targets']:,} | {row['bank']:,} | {row['temperature']:.3f} | {size} "
            f"| {row['agreement']:.3f} | {100 * row['recall_at_1']:.1f} | {row['products']:.2f} |"
        )


def main() -> None:
    """Measure all sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--made", nargs="*", type=int, default=[10_000, 50_000])
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--samples", nargs="*", type=int, default=SAMPLES)
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for folder in given.folders:
        split = trial(open_set(folder), None, 0)
        if split is not None:
            sides = (split.query_bank, split.targets, split.queries, split.relevant)
            rows += measure(folder.resolve().name, *sides, given.samples)
    for count in given.made:
        rows += measure("made up", *made(count, given.dim), given.samples)
    print("\n".join(markdown(rows)))
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
