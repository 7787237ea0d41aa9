"""Offsets of `nnn` beside the published package: `python -m benchmarks.nnn_vs_package [--bank 566000]`.

`nnn-retrieval` (torch, on the CPU) beside our offsets. Ratios are of processor time; memory is the peak above the
inputs.
"""

import argparse
import tempfile
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks import harness
from benchmarks.offsets_vs_gemm import product
from hubless import CORRECTIONS

DIM, K, WEIGHT, WARM = 512, 128, 0.75, 1000
PACKAGE = "nnn-retrieval"
PACKAGES = (*harness.PACKAGES, PACKAGE, "torch")


def ours(bank, targets):
    return CORRECTIONS["nnn"](K, WEIGHT).fit(bank, targets).offsets(targets)


def package(bank, targets):
    from nnn import NNNRanker, NNNRetriever

    ranker = NNNRanker(NNNRetriever(DIM), targets, bank, alternate_ks=K, alternate_weight=WEIGHT, batch_size=256)
    return WEIGHT * np.asarray(ranker.alignment_means).ravel()


SIDES = {
    "product": product,
    "exact": ours,
    PACKAGE: package,
}


def in_child(side, folder, path):
    """Measure in a child process; leave the offsets in a file."""
    bank, targets = (np.load(Path(folder) / f"{name}.npy") for name in ("bank", "targets"))
    warm = partial(SIDES[side], bank[:WARM], targets[:WARM])
    offsets, cost = harness.cost(partial(SIDES[side], bank, targets), warm)
    np.save(path, np.asarray(offsets, np.float32))
    return cost


def table(result):
    yield [
        f"b={result['bank']:,}, n={result['targets']:,}, d={result['dim']}, k={result['k']}",
        "processor s",
        "package takes",
        "MB",
        "largest error",
    ]
    for name, side in result["sides"].items():
        error = "" if side["error"] is None else f"{side['error']['most']:.1g}"
        package = "" if side["package_ratio"] is None else f"{side['package_ratio']:.2f} ×"
        figures = (f"{side['processor_seconds']:.1f}", package)
        yield [name, *figures, f"{side['peak_bytes'] / 1e6:,.0f}", error]


def tables(result):
    return [list(table(result))]


def plot(result, figure):
    """Draw processor time of the sides, in units of the product's."""
    axes = figure.subplots()
    lines = result["sides"]
    axes.barh(list(lines), [line["ratio"] for line in lines.values()])
    axes.invert_yaxis()
    axes.set_xlabel(f"processor time, × the product of {result['targets']:,} × {result['bank']:,}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bank", type=int, default=566_000)
    parser.add_argument("--targets", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=1)
    given = parser.parse_args()
    sides = [side for side in SIDES if side != PACKAGE or find_spec("nnn")]
    if PACKAGE not in sides:
        print(f"without {PACKAGE}: it is not installed")
    with tempfile.TemporaryDirectory() as folder:
        targets, bank, _ = harness.with_hubs(given.targets, given.bank, 1, DIM)
        np.save(Path(folder) / "bank.npy", bank)
        np.save(Path(folder) / "targets.npy", targets)
        del bank
        costs, offsets = harness.in_children(partial(in_child, folder=folder), sides, given.repeats)
    against = {side: costs[side]["processor_seconds"] for side in sides}
    for side, cost in costs.items():
        cost["ratio"] = cost["processor_seconds"] / against["product"]
        cost["package_ratio"] = against[PACKAGE] / cost["processor_seconds"] if PACKAGE in against else None
        error = None if side == "product" else np.abs(offsets[side] - offsets["exact"])
        cost["error"] = None if error is None else {"mean": float(error.mean()), "most": float(error.max())}
    result = {"bank": given.bank, "targets": given.targets, "dim": DIM, "k": K}
    result |= {"spread": float(offsets["exact"].std()), "sides": costs}
    harness.write("nnn_vs_package", result, plot, PACKAGES, tables)


if __name__ == "__main__":
    main()
