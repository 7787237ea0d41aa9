"""Sinkhorn beside POT: `python -m benchmarks.sinkhorn_vs_pot [--rows 10000] [--folder F ...]`.

`sn`, fitted on all targets or on a sample, beside `ot.sinkhorn` as the published code of DBSN calls it (scaling), and
POT's log domain, which small temperatures need. All include the product of bank and targets: no side can gain more than
`product alone`. Memory is the peak above the inputs. The second table shows what the sample costs: how far the top 10
agrees with the exact fit, and the change of R@1.
"""

import argparse
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import harness
from benchmarks.real_sets import hits, open_set, trial
from hubless import CORRECTIONS
from hubless.kernels.reductions import rankings
from hubless.lab.entries import Entry
from hubless.vectors.sources import as_source

DIM, TEMPERATURE, STEPS, QUERIES, SEEDS = 512, 0.01, 10, 1000, 10
WARM = 100
SAMPLES = (256, 512, 1024, 2048, 4096)
SMALL, DEFAULT = 1024, CORRECTIONS["sn"]().fit_sample
PRODUCT, SCALING, LOG_DOMAIN = "product alone", "POT, scaling", "POT, log domain"
OURS = {f"sample of {SMALL:,}": SMALL, f"sample of {DEFAULT:,}, the default": DEFAULT, "all": None}
SIDES = (PRODUCT, *OURS, SCALING, LOG_DOMAIN)


def ours(bank, targets, sample):
    fitted = CORRECTIONS["sn"](temperature=TEMPERATURE, iterations=STEPS, fit_sample=sample).fit(bank, targets)
    return fitted.offsets(targets)


def pot(bank, targets, method):
    import ot

    products = targets @ bank.T
    rows, columns = (np.full(count, 1 / count) for count in products.shape)
    _, log = ot.sinkhorn(rows, columns, 1 - products, TEMPERATURE, method, numItermax=STEPS, log=True, warn=False)
    return -TEMPERATURE * (log["log_u"] if method == "sinkhorn_log" else np.log(log["u"]))


def offsets_of(side, bank, targets):
    if side == PRODUCT:
        return (targets @ bank.T)[:, 0]  # no offsets, its time is all that matters
    if side in OURS:
        return ours(bank, targets, OURS[side])
    return pot(bank, targets, "sinkhorn_log" if side == LOG_DOMAIN else "sinkhorn")


def vectors(rows):
    return harness.with_hubs(rows, rows, QUERIES, DIM)


def in_child(side, rows, path):
    """Measure in a child process; leave the offsets in a file."""
    targets, bank, _ = vectors(rows)
    warm = partial(offsets_of, side, bank[:WARM], targets[:WARM])
    offsets, cost = harness.cost(partial(offsets_of, side, bank, targets), warm)
    np.save(path, np.asarray(offsets, np.float32))
    return cost


def agreement(queries, targets, offsets, exact):
    """Return the mean share of the top 10 that two sets of offsets have in common."""
    (_, ours_), (_, theirs) = rankings(queries, as_source(targets, "targets"), 10, offsets, exact)
    return float(np.mean([len(np.intersect1d(*pair)) / 10 for pair in zip(ours_, theirs, strict=True)]))


def real(folder, samples):
    """Return R@1 of the raw ranking, and its change with potentials fitted on samples and on all targets, in points."""
    data = open_set(folder)
    most = len(trial(data, None, 0).targets) + (0 if data.bank is not None else len(trial(data, None, 0).target_bank))
    sizes = [size for size in samples if size < most]
    method = "sn" if data.bank is not None else "dbsn"
    entries = [Entry(method, {"fit_sample": size}) for size in (*sizes, None)]
    changes = {size: [] for size in (*sizes, None)}
    raw = []
    for seed in range(1 if data.bank is not None else SEEDS):
        found = list(hits(trial(data, None, seed), [Entry("none"), *entries]).values())
        raw.append(100 * found[0].mean())
        for size, right in zip(changes, found[1:], strict=True):
            changes[size].append(100 * right.mean() - raw[-1])
    means = {"all" if size is None else str(size): float(np.mean(values)) for size, values in changes.items()}
    return {"folder": data.name, "method": method, "targets": most, "raw": float(np.mean(raw)), "changes": means}


def costs(result):
    """Return columns and rows of the costs."""
    yield [
        f"{result['rows']:,} × {result['rows']:,}, d={result['dim']}, τ={result['temperature']}",
        "processor s",
        "POT takes",
        "seconds",
        "MB",
        "top 10 as exact",
    ]
    scaling = result["sides"][SCALING]
    for name, side in result["sides"].items():
        yield [
            name,
            f"{side['processor_seconds']:.2f}",
            f"{scaling['processor_seconds'] / side['processor_seconds']:.1f} ×",
            f"{side['seconds']:.2f}",
            *([f"{side['peak_bytes'] / 1e6:,.0f}", f"{side['top_10_agreement']:.3f}"] if name != PRODUCT else [""] * 2),
        ]


def price(result):
    """Return columns and rows of what the sample costs in quality."""
    sizes = [*result["samples"], "all"]
    yield ["targets in the sample", *(f"{int(size):,}" if size.isdecimal() else size for size in sizes)]
    agreements = [*result["samples"].values(), 1.0]
    yield ["top 10 as exact", *(f"{each:.3f}" for each in agreements)]
    for line in result["real"]:
        changes = (f"{line['changes'][size]:+.1f}" if size in line["changes"] else "" for size in sizes)
        yield [f"{line['folder']}, {line['method']}, raw R@1 {line['raw']:.1f}", *changes]


def tables(result):
    return [list(costs(result)), list(price(result))]


def plot(result, figure):
    """Draw the cost of the sides, and what the sample does to R@1."""
    left, right = figure.subplots(1, 2)
    sides = {name: side for name, side in result["sides"].items() if name != PRODUCT}
    places = np.arange(len(sides))
    left.barh(places + 0.2, [side["processor_seconds"] for side in sides.values()], 0.4, label="processor seconds")
    left.barh(places - 0.2, [side["peak_bytes"] / 1e8 for side in sides.values()], 0.4, label="memory, 100 MB")
    left.set(yticks=places, yticklabels=list(sides))
    left.legend()
    for line in result["real"]:
        sizes = [size for size in line["changes"] if size != "all"]
        right.plot([int(size) for size in sizes], [line["changes"][size] for size in sizes], "o-", label=line["folder"])
        right.axhline(line["changes"]["all"], linewidth=0.6, color="black")
    right.set(xlabel="targets in the sample (line: all)", ylabel="change of R@1, points")
    if result["real"]:
        right.set_xscale("log", base=2)
        right.legend(fontsize=7)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--samples", type=int, nargs="*", default=SAMPLES)
    parser.add_argument("--folder", type=Path, nargs="*", default=[])
    given = parser.parse_args()
    measured, offsets = harness.in_children(partial(in_child, rows=given.rows), SIDES, given.repeats)
    targets, bank, queries = vectors(given.rows)
    sides = {
        side: cost
        if side == PRODUCT
        else cost | {"top_10_agreement": agreement(queries, targets, offsets[side], offsets["all"])}
        for side, cost in measured.items()
    }
    samples = {
        str(size): agreement(queries, targets, ours(bank, targets, size), offsets["all"])
        for size in given.samples
        if size < given.rows
    }
    found = [real(folder, given.samples) for folder in given.folder]
    harness.write(
        "sinkhorn_vs_pot",
        {"rows": given.rows, "dim": DIM, "temperature": TEMPERATURE, "steps": STEPS}
        | {"sides": sides, "samples": samples, "real": found},
        plot,
        tables=tables,
    )


if __name__ == "__main__":
    main()
