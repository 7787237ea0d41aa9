"""Offsets against the bare float32 matrix product of the same shape: `python -m benchmarks.offsets_vs_gemm`."""

import argparse
from functools import partial
from time import process_time

from benchmarks import harness
from hubless.kernels import log_sum_exp, top_k_mean
from hubless.sources import ArrayVectors

TEMPERATURE, K = 0.05, 128
TARGETS_AT_ONCE = 2048


def product(bank, targets):
    for start in range(0, len(targets), TARGETS_AT_ONCE):
        targets[start : start + TARGETS_AT_ONCE] @ bank.T


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bank", type=int, default=10_000)
    parser.add_argument("--targets", type=int, default=20_000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    targets, bank, _ = harness.with_hubs(given.targets, given.bank, 1, given.dim)
    sources = ArrayVectors(bank, "bank"), ArrayVectors(targets, "targets")
    sides = {
        "product": partial(product, bank, targets),
        "log-sum-exp": partial(log_sum_exp, *sources, TEMPERATURE),
        f"top-k mean, k={K}": partial(top_k_mean, *sources, K),
    }
    wall = harness.medians(harness.interleaved(sides, given.repeats))
    processor = harness.medians(harness.interleaved(sides, given.repeats, process_time))
    lines = [
        {
            "what": name,
            "seconds": wall[name],
            "ratio": wall[name] / wall["product"],
            "processor_ratio": processor[name] / processor["product"],
        }
        for name in sides
    ]
    print(f"b={given.bank} n={given.targets} d={given.dim}: seconds, × the product, × its processor time")
    for line in lines:
        print(f"{line['what']:20} {line['seconds']:8.2f} {line['ratio']:6.2f} {line['processor_ratio']:6.2f}")
    shape = {"bank": given.bank, "targets": given.targets, "dim": given.dim}
    print(harness.write("offsets_vs_gemm", {"shape": shape, "lines": lines}).name)


if __name__ == "__main__":
    main()
