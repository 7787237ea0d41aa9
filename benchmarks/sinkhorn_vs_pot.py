"""Sinkhorn beside POT: `python -m benchmarks.sinkhorn_vs_pot [--rows 10000]`.

`sn`, fitted on all targets or with half of the steps on a sample, beside `ot.sinkhorn` as the published code of DBSN
calls it (scaling), and in POT's log domain. Memory is the peak above the inputs.
"""

import argparse
from functools import partial

import numpy as np

from benchmarks import harness
from hubless import CORRECTIONS
from hubless.kernels.reductions import rankings
from hubless.vectors.sources import as_source

DIM, TEMPERATURE, STEPS, QUERIES = 512, 0.01, 10, 1000
WARM = 100
SMALL = 1024
PRODUCT, SCALING, LOG_DOMAIN = "product alone", "POT, scaling", "POT, log domain"
OURS = {f"sample of {SMALL:,}": SMALL, "all": "all"}
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


def costs(result):
    """Return columns and rows of the costs."""
    yield [
        f"{result['rows']:,} × {result['rows']:,}, d={result['dim']}, τ={result['temperature']}",
        "processor s",
        "POT takes",
        "MB",
        "top 10 as exact",
    ]
    scaling = result["sides"][SCALING]
    for name, side in result["sides"].items():
        yield [
            name,
            f"{side['processor_seconds']:.2f}",
            f"{scaling['processor_seconds'] / side['processor_seconds']:.1f} ×",
            *([f"{side['peak_bytes'] / 1e6:,.0f}", f"{side['top_10_agreement']:.3f}"] if name != PRODUCT else [""] * 2),
        ]


def tables(result):
    return [list(costs(result))]


def plot(result, figure):
    """Draw the cost of the sides."""
    axes = figure.subplots()
    sides = {name: side for name, side in result["sides"].items() if name != PRODUCT}
    places = np.arange(len(sides))
    axes.barh(places + 0.2, [side["processor_seconds"] for side in sides.values()], 0.4, label="processor seconds")
    axes.barh(places - 0.2, [side["peak_bytes"] / 1e8 for side in sides.values()], 0.4, label="memory, 100 MB")
    axes.set(yticks=places, yticklabels=list(sides))
    axes.legend()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    measured, offsets = harness.in_children(partial(in_child, rows=given.rows), SIDES, given.repeats)
    targets, _, queries = vectors(given.rows)
    sides = {
        side: cost
        if side == PRODUCT
        else cost | {"top_10_agreement": agreement(queries, targets, offsets[side], offsets["all"])}
        for side, cost in measured.items()
    }
    harness.write(
        "sinkhorn_vs_pot",
        {"rows": given.rows, "dim": DIM, "temperature": TEMPERATURE, "steps": STEPS} | {"sides": sides},
        plot,
        tables=tables,
    )


if __name__ == "__main__":
    main()
