"""What Sinkhorn's sample of targets costs: `python -m benchmarks.sinkhorn_sample [FOLDER ...] [--made 10000 50000]`.

`sn` fitted on a sample of the targets, with the second half of the steps over all, beside the fit on all: how many of
the exact fit's top 10 its top 10 has, R@1 in per cent, and the processor time of fit and offsets beside that of NumPy's
product of targets and bank. The lower τ is the published one, the other what `auto` takes. Made-up sets have this many
targets, a bank of a fifth, and queries that lean one way, which makes hubs. By default a fit on up to 10,000 targets
takes no sample, and one on more takes 10,000, at most a tenth of them.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks import harness
from benchmarks.harness import low_rank
from benchmarks.real_sets import open_set, trial
from hubless.corrections import FittedCorrection
from hubless.corrections.folded.sinkhorn import FIT_SAMPLE, MOST_OF_TARGETS, SinkhornNormalisation
from hubless.kernels.reductions import rankings
from hubless.kernels.threads import slices
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import as_source

SAMPLES = (250, 1000, FIT_SAMPLE)
TEMPERATURES = (0.01, "auto")
ROWS = 2048
QUERIES, LEAN, NOISE = 1000, 1.0, 1.5

T = TypeVar("T")


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
    product = min(processor_time(partial(multiply, bank, targets))[1] for _ in range(2))
    for temperature in TEMPERATURES:
        exact = None
        largest = int(MOST_OF_TARGETS * len(targets))
        for size in ("all", *sorted({min(size, largest) for size in samples})):
            method = SinkhornNormalisation(temperature, fit_sample=size)
            (fitted, offsets), seconds = processor_time(partial(fit_and_apply, method, bank, targets))
            ((_, top),) = rankings(queries, source, 10, offsets)
            exact = top if exact is None else exact
            yield {
                "set": name,
                "targets": len(targets),
                "bank": len(bank),
                "temperature": fitted.temperature,
                "sample": size if size == "all" else fitted.details["fitted_on"],
                "steps": fitted.details["iterations"],
                "agreement": float(np.mean([len(np.intersect1d(*pair)) / 10 for pair in zip(top, exact, strict=True)])),
                "recall_at_1": float(np.mean([first in rows for first, rows in zip(top[:, 0], relevant, strict=True)])),
                "products": seconds / product,
            }


def multiply(bank: F32, targets: F32) -> None:
    for rows in slices(len(targets), ROWS):
        np.matmul(targets[rows], bank.T)


def fit_and_apply(method: SinkhornNormalisation, bank: F32, targets: F32) -> tuple[FittedCorrection, F32]:
    fitted = method.fit(bank, targets)
    return fitted, fitted.offsets(targets)


def processor_time(work: Callable[[], T]) -> tuple[T, float]:
    """What some work returns, and its processor time in seconds."""
    start = time.process_time()
    return work(), time.process_time() - start


def tables(result: dict[str, Any]) -> list[list[list[str]]]:
    """One table, the exact fit of each set and temperature first."""
    columns = ["set, τ", "sample", "top 10 as exact", "R@1", "× product"]
    lines = [
        [
            f"{row['set']}, {row['targets']:,} × {row['bank']:,}, τ {row['temperature']:.3f}",
            row["sample"] if row["sample"] == "all" else f"{row['sample']:,}",
            f"{row['agreement']:.3f}",
            f"{100 * row['recall_at_1']:.1f}",
            f"{row['products']:.1f}",
        ]
        for row in result["rows"]
    ]
    return [[columns, *lines]]


def plot(result: dict[str, Any], figure: Any) -> None:
    """Draw agreement over the size of the sample."""
    axes = figure.subplots()
    sampled = [row for row in result["rows"] if row["sample"] != "all"]
    for name, targets, temperature in dict.fromkeys((r["set"], r["targets"], r["temperature"]) for r in sampled):
        here = [r for r in sampled if (r["set"], r["targets"], r["temperature"]) == (name, targets, temperature)]
        label = f"{name}, {targets:,}, τ {temperature:.3f}"
        axes.plot([r["sample"] for r in here], [r["agreement"] for r in here], "o-", label=label)
    axes.set(xlabel="targets in the sample", ylabel="top 10 as exact", xscale="log")
    axes.legend(fontsize=7)


def main() -> None:
    """Measure all sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--made", nargs="*", type=int, default=[10_000, 50_000])
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--samples", nargs="*", type=int, default=SAMPLES)
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for folder in given.folders:
        split = trial(open_set(folder), None, 0)
        if split is not None:
            sides = (split.query_bank, split.targets, split.queries, split.relevant)
            rows += measure(folder.resolve().name, *sides, given.samples)
    for count in given.made:
        rows += measure("made up", *made(count, given.dim), given.samples)
    harness.write("sinkhorn_sample", {"rows": rows}, plot, tables=tables)


if __name__ == "__main__":
    main()
