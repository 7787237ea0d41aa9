"""Offsets beside the bare float32 product of the same shape: `python -m benchmarks.offsets_vs_gemm`.

Every correction needs NumPy's product of targets and bank, those that are fitted two. Faiss' own top k stands beside
our kernel. Small banks: `--bank 1000 2000 --targets 10000 50000 --dim 512`.
"""

import argparse
import itertools
from functools import cache, partial

import faiss
import numpy as np

from benchmarks import harness
from hubless import CORRECTIONS
from hubless.kernels.reductions import log_sum_exp, top_k_mean_each
from hubless.vectors.sources import ArrayVectors

TEMPERATURE, K, WARM = 0.05, 128, 200
TARGETS_AT_ONCE = 2048
FITTED = ("sn", "dbsn", "auto")


def product(bank, targets):
    for start in range(0, len(targets), TARGETS_AT_ONCE):
        targets[start : start + TARGETS_AT_ONCE] @ bank.T
    return np.zeros(len(targets))


def fitted(correction, bank, targets):
    extra = target_bank(*bank.shape) if correction == "dbsn" else None
    return CORRECTIONS[correction]().fit(bank, targets, extra).offsets(targets)


@cache
def target_bank(rows, dim):
    return harness.low_rank(rows, dim, 2)


def sums(bank, targets):
    return log_sum_exp(ArrayVectors(bank, "bank"), None, ArrayVectors(targets, "targets"), TEMPERATURE)


def mean_of_top_k(bank, targets):
    return top_k_mean_each([ArrayVectors(bank, "bank")], ArrayVectors(targets, "targets"), [K])[0]


def by_faiss(bank, targets):
    """The exact top-k mean by a flat index of Faiss."""
    index = faiss.IndexFlatIP(bank.shape[1])
    index.add(bank)
    found = np.empty(len(targets))
    for start in range(0, len(targets), TARGETS_AT_ONCE):
        here = slice(start, start + TARGETS_AT_ONCE)
        found[here] = index.search(targets[here], K)[0].mean(axis=1, dtype=np.float64)
    return found


SIDES = {
    "product": product,
    "log-sum-exp": sums,
    f"top-k mean, k={K}": mean_of_top_k,
    f"the same by flat Faiss, k={K}": by_faiss,
    **{f"{name}, fit and offsets": partial(fitted, name) for name in FITTED},
}


def in_child(side, shape, path):
    """Measure in a child process; leave the offsets in a file."""
    targets, bank, _ = vectors(shape)
    warm = partial(SIDES[side], bank[:WARM], targets[:WARM])
    offsets, cost = harness.cost(partial(SIDES[side], bank, targets), warm)
    np.save(path, offsets)
    return cost


def vectors(shape):
    return harness.with_hubs(shape["targets"], shape["bank"], 1, shape["dim"])


def tables(result):
    """One table: processor time of each side over that of the product, a column a shape."""
    shapes = [each["shape"] for each in result["shapes"]]
    columns = ["× product", *(f"b={each['bank']:,}, n={each['targets']:,}, d={each['dim']}" for each in shapes)]
    sides = zip(*(each["lines"] for each in result["shapes"]), strict=True)
    return [[columns, *([of[0]["what"], *(f"{line['processor_ratio']:.2f}" for line in of)] for of in sides)]]


def plot(result, figure):
    """Draw processor time of each side over that of the product."""
    axes = figure.subplots()
    height = 0.8 / len(result["shapes"])
    for place, each in enumerate(result["shapes"]):
        ratios = [line["processor_ratio"] for line in each["lines"]]
        label = "b={bank}, n={targets}, d={dim}".format(**each["shape"])
        axes.barh(np.arange(len(ratios)) + height * place, ratios, height, label=label)
    axes.set(yticks=range(len(SIDES)), yticklabels=list(SIDES), xlabel="processor time, × the product")
    axes.invert_yaxis()
    axes.legend()


def measure(shape, repeats):
    """Measure all sides at one shape."""
    peaks, _ = harness.in_children(partial(in_child, shape=shape), SIDES, 1)
    targets, bank, _ = vectors(shape)
    wall, processor = harness.on_both_clocks(
        {name: partial(side, bank, targets) for name, side in SIDES.items()}, repeats
    )
    return [
        {
            "what": name,
            "seconds": wall[name],
            "ratio": wall[name] / wall["product"],
            "processor_seconds": processor[name],
            "processor_ratio": processor[name] / processor["product"],
            "peak_bytes": peaks[name]["peak_bytes"],
        }
        for name in SIDES
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bank", type=int, nargs="+", default=[10_000])
    parser.add_argument("--targets", type=int, nargs="+", default=[20_000])
    parser.add_argument("--dim", type=int, nargs="+", default=[256, 512])
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    sizes = itertools.product(given.dim, given.targets, given.bank)
    shapes = [{"bank": bank, "targets": targets, "dim": dim} for dim, targets, bank in sizes]
    measured = [{"shape": shape, "lines": measure(shape, given.repeats)} for shape in shapes]
    harness.write("offsets_vs_gemm", {"shapes": measured}, plot, tables=tables)


if __name__ == "__main__":
    main()
