"""NNN by a Faiss index over the bank: `python -m benchmarks.bank_index [--bank 10000 100000] [--folder F]`.

Table A5 of its paper, from builds: for each `bank_index`, processor time of the offsets beside that of `flat`, the
share of the nearest bank queries that it finds, and R@1. Vectors are made up, of low rank with hubs, or jittered, from
a folder.
"""

import argparse
import tempfile
from pathlib import Path
from time import process_time

import numpy as np

import hubless
from benchmarks import harness
from hubless import CORRECTIONS

MOST_FOR_GRAPHS = 20_000
K, TARGETS, DIM, QUERIES, NOISE = 128, 100_000, 512, 1_000, 2.5
KINDS = ("flat", "fastscan", "ivf", "hnsw")
COLUMNS = ("bank", "bank_index", "offsets s", "× flat", "recall of the bank", "R@1")


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def jittered(rows, count, rng, cosine=0.9):
    """Return `count` rows drawn from some, each turned by the same angle in a direction of its own."""
    found = unit(rows[rng.integers(len(rows), size=count)])
    noise = unit(rng.standard_normal(found.shape, np.float32))
    return unit(cosine * found + np.sqrt(1 - cosine**2) * noise)


def made_up(bank, targets):
    """Return targets, query bank, test queries and the row of each one's right target."""
    items = harness.low_rank(targets, DIM, 0)
    lean = unit(harness.low_rank(2_000, DIM, 1, harness.LEAN).mean(axis=0, keepdims=True))
    rng = np.random.default_rng(0)

    def asked(rows, seed):
        return unit(rows + NOISE * harness.low_rank(len(rows), DIM, seed) + lean)

    right = rng.choice(targets, QUERIES, replace=False)
    return items, asked(harness.low_rank(bank, DIM, 2), 3), asked(items[right], 4), right


def of_folder(folder, bank, targets):
    queries, items, right = (np.load(folder / f"{name}.npy") for name in ("queries", "targets", "gt"))
    rng = np.random.default_rng(0)
    # half of the queries test, the others are the bank
    order = rng.permutation(len(queries))
    tests, others = np.array_split(order, 2)
    more = jittered(items, max(0, targets - len(items)), rng)
    every = np.concatenate([unit(items), more])
    return every, jittered(queries[others], bank, rng), unit(queries[tests]), right[tests]


def measured(data, kind):
    """Return the processor time of the offsets, and recall and R@1 of a build."""
    targets, bank, queries, right = data
    parameters = {"k": K, "bank_index": kind}
    start = process_time()
    CORRECTIONS["nnn"](**parameters).fit(bank, targets).offsets(targets)
    seconds = process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        given = {"query_bank": bank, "metric": "cosine", "correction": "nnn", "parameters": parameters}
        hubless.build(folder, "photos", targets, index="flat", **given)
        with hubless.open(folder, "photos") as built:
            details = built.manifest.correction.details
            found = np.array(built.query(queries, 1).ids)[:, 0]
    return {
        "bank": len(bank),
        "bank_index": details.get("bank_index", "flat"),
        "seconds": seconds,
        "recall": details.get("bank_recall", 1.0),
        "recall_at_1": float(np.mean(found == right)),
    }


def tables(result):
    lines = result["lines"]
    flat = {line["bank"]: line["seconds"] for line in lines if line["bank_index"] == "flat"}
    rows = [
        [
            f"{line['bank']:,}",
            line["bank_index"],
            f"{line['seconds']:.1f}",
            f"{line['seconds'] / flat[line['bank']]:.2f}",
            f"{line['recall']:.3f}",
            f"{100 * line['recall_at_1']:.1f}",
        ]
        for line in lines
    ]
    return [[COLUMNS, *rows]]


def plot(result, figure):
    """Draw the time of each index beside that of `flat`."""
    axes = figure.subplots()
    banks = list(dict.fromkeys(line["bank"] for line in result["lines"]))
    for place, bank in enumerate(banks):
        seconds = {line["bank_index"]: line["seconds"] for line in result["lines"] if line["bank"] == bank}
        heights = [each / seconds["flat"] for each in seconds.values()]
        axes.barh(np.arange(len(heights)) + 0.3 * place, heights, 0.3, label=f"bank of {bank:,}")
    axes.axvline(1, color="grey")
    axes.set(yticks=range(len(KINDS)), yticklabels=KINDS, xlabel="processor time of the offsets, × flat")
    axes.invert_yaxis()
    axes.legend()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bank", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--targets", type=int, default=TARGETS)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    lines = []
    for bank in given.bank:
        data = made_up(bank, given.targets) if given.folder is None else of_folder(given.folder, bank, given.targets)
        for kind in KINDS if bank <= MOST_FOR_GRAPHS else KINDS[:-1]:
            lines.append(measured(data, kind))
            print(lines[-1], flush=True)
    harness.write("bank_index", {"targets": given.targets, "lines": lines}, plot, tables=tables)


if __name__ == "__main__":
    main()
