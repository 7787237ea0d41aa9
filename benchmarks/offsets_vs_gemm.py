"""Offsets beside the bare float32 product of the same shape: `python -m benchmarks.offsets_vs_gemm`.

The mean of the top k, a log-sum-exp, and the whole of `sn` from fit to offsets, beside NumPy's product of targets and
bank, which all of them have to make. The sides take turns. Memory is the peak above the inputs, of each side in a
process of its own.
"""

import argparse
from functools import partial

import numpy as np

from benchmarks import harness
from hubless import CORRECTIONS
from hubless.kernels import log_sum_exp, top_k_mean
from hubless.sources import ArrayVectors

TEMPERATURE, K, WARM = 0.05, 128, 200
TARGETS_AT_ONCE = 2048


def product(bank, targets):
    for start in range(0, len(targets), TARGETS_AT_ONCE):
        targets[start : start + TARGETS_AT_ONCE] @ bank.T
    return np.zeros(len(targets))


def sn(bank, targets):
    return CORRECTIONS["sn"]().fit(bank, targets).offsets(targets)


def reduced(kernel, parameter, bank, targets):
    return kernel(ArrayVectors(bank, "bank"), ArrayVectors(targets, "targets"), parameter)


SIDES = {
    "product": product,
    "log-sum-exp": partial(reduced, log_sum_exp, TEMPERATURE),
    f"top-k mean, k={K}": partial(reduced, top_k_mean, K),
    "sn, fit and offsets": sn,
}


def in_child(side, shape, path):
    """What a child measures; offsets are left in a file."""
    targets, bank, _ = vectors(shape)
    warm = partial(SIDES[side], bank[:WARM], targets[:WARM])
    offsets, cost = harness.cost(partial(SIDES[side], bank, targets), warm)
    np.save(path, offsets)
    return cost


def vectors(shape):
    return harness.with_hubs(shape["targets"], shape["bank"], 1, shape["dim"])


def table(result):
    shape = result["shape"]
    yield [
        f"b={shape['bank']:,}, n={shape['targets']:,}, d={shape['dim']}",
        "seconds",
        "× the product",
        "processor seconds",
        "× the product's",
        "MB above the inputs",
    ]
    for line in result["lines"]:
        yield [
            line["what"],
            f"{line['seconds']:.2f}",
            f"{line['ratio']:.2f}",
            f"{line['processor_seconds']:.2f}",
            f"{line['processor_ratio']:.2f}",
            f"{line['peak_bytes'] / 1e6:,.0f}",
        ]


def tables(result):
    return [list(table(result))]


def plot(result, figure):
    """Processor time of each side over that of the product."""
    axes = figure.subplots()
    axes.barh([line["what"] for line in result["lines"]], [line["processor_ratio"] for line in result["lines"]])
    axes.invert_yaxis()
    axes.set_xlabel("processor time, × the product")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bank", type=int, default=10_000)
    parser.add_argument("--targets", type=int, default=20_000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    shape = {"bank": given.bank, "targets": given.targets, "dim": given.dim}
    peaks, _ = harness.in_children(partial(in_child, shape=shape), SIDES, 1)
    targets, bank, _ = vectors(shape)
    sides = {name: partial(side, bank, targets) for name, side in SIDES.items()}
    wall, processor = harness.on_both_clocks(sides, given.repeats)
    lines = [
        {
            "what": name,
            "seconds": wall[name],
            "ratio": wall[name] / wall["product"],
            "processor_seconds": processor[name],
            "processor_ratio": processor[name] / processor["product"],
            "peak_bytes": peaks[name]["peak_bytes"],
        }
        for name in sides
    ]
    harness.write("offsets_vs_gemm", {"shape": shape, "lines": lines}, plot, tables=tables)


if __name__ == "__main__":
    main()
