"""NNN by an index over the bank: `python -m benchmarks.bank_index [--bank 20000 500000] [--folder F]`.

Table A5 of its paper, by the size of the bank: by how much the processor time of exact offsets is longer (Factor), the
share of ten best targets that stay, and R@1 of exact ones and of these. Vectors are made up, with hubs, or jittered,
from a folder. A copy of the right target is right.
"""

import argparse
import tempfile
from functools import partial
from itertools import product
from pathlib import Path
from time import process_time

import numpy as np

import hubless
from benchmarks import harness
from hubless import CORRECTIONS

K, TARGETS, DIM, QUERIES, TOP, NOISE = 128, 20_000, 512, 2_000, 10, 2.5
KINDS = ("flat", "cells")
COLUMNS = ("Factor", "ten best", "R@1")


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def jittered(rows, count, rng, cosine=0.9):
    """Return `count` rows drawn from some, each turned by the same angle, and the numbers of those drawn."""
    drawn = rng.integers(len(rows), size=count)
    found = unit(rows[drawn])
    noise = unit(rng.standard_normal(found.shape, np.float32))
    return unit(cosine * found + np.sqrt(1 - cosine**2) * noise), drawn


def made_up(bank, targets, seed):
    """Return targets, what each is a copy of, query bank, test queries, and what is right for each."""
    items = harness.low_rank(targets, DIM, 0)
    lean = unit(harness.low_rank(2_000, DIM, 1, harness.LEAN).mean(axis=0, keepdims=True))

    def asked(rows, seed):
        return unit(rows + NOISE * harness.low_rank(len(rows), DIM, seed) + lean)

    right = np.random.default_rng(seed).choice(targets, QUERIES, replace=False)
    return items, np.arange(targets), asked(harness.low_rank(bank, DIM, 2), 3), asked(items[right], 4), right


def of_folder(folder, bank, targets, seed):
    queries, items, right = (np.load(folder / f"{name}.npy") for name in ("queries", "targets", "gt"))
    rng = np.random.default_rng(seed // 2)
    halves = np.array_split(rng.permutation(len(queries)), 2)
    tests, others = halves if seed % 2 else halves[::-1]
    more, origins = jittered(items, max(0, targets - len(items)), rng)
    copies = np.concatenate([np.arange(len(items)), origins])
    return (
        np.concatenate([unit(items), more]),
        copies,
        jittered(queries[others], bank, rng)[0],
        queries[tests],
        right[tests],
    )


def ranked(targets, queries, offsets):
    """Return the ten best targets of each query, from a build with these offsets."""
    with tempfile.TemporaryDirectory() as folder:
        given = {"metric": "cosine", "correction": "offsets", "offsets": offsets, "index": "flat"}
        hubless.build(folder, "photos", targets, **given)
        with hubless.open(folder, "photos") as built:
            parts = np.array_split(queries, 20)
            return np.concatenate([np.array(built.query(part.astype(np.float32), TOP).ids) for part in parts])


def measured(make, bank, targets, seeds):
    """Yield a line of each kind: sums of seconds, and means of the others, over as many seeds."""
    found = {kind: [] for kind in KINDS}
    for seed in range(seeds):
        items, copies, queries, tests, right = make(bank, targets, seed)
        for kind in KINDS:
            start = process_time()
            fitted = CORRECTIONS["nnn"](k=K, bank_index=kind).fit(queries, items)
            offsets = fitted.offsets(items)
            seconds = process_time() - start
            best = ranked(items, tests, offsets)
            if kind == "flat":
                exact, best_of_exact = offsets, best
            stay = np.mean([len(np.intersect1d(*pair)) / TOP for pair in zip(best, best_of_exact, strict=True)])
            same = np.corrcoef(offsets, exact)[0, 1]
            found[kind].append((seconds, same, stay, np.mean(copies[best[:, 0]] == right)))
            print(kind, fitted.details, found[kind][-1], flush=True)
    names = ("seconds", "correlation", "top_10", "recall_at_1")
    for kind, lines in found.items():
        yield {"bank": bank, "bank_index": kind} | dict(zip(names, np.mean(lines, axis=0).tolist(), strict=True))


def factors(result):
    """Yield the vectors, the bank, the Factor, and what cells and exact offsets found."""
    for flat, cells in zip(result["lines"][::2], result["lines"][1::2], strict=True):
        yield cells["vectors"], cells["bank"], flat["seconds"] / cells["seconds"], cells, flat


def tables(result):
    rows = {}
    banks = dict.fromkeys(line["bank"] for line in result["lines"])
    for name, _, factor, cells, flat in factors(result):
        recalls = "/".join(f"{100 * side['recall_at_1']:.1f}" for side in (flat, cells))
        rows.setdefault(name, [name.partition("_")[0]]).extend([f"{factor:.1f}", f"{cells['top_10']:.3f}", recalls])
    columns = [f"{name}, {bank:,}" if name == COLUMNS[0] else name for bank in banks for name in COLUMNS]
    return [[["vectors", *columns], *rows.values()]]


def plot(result, figure):
    """Draw the Factor of each."""
    axes = figure.subplots()
    names, banks, times, *_ = zip(*factors(result), strict=True)
    axes.barh(range(len(times)), times)
    labels = [f"{name.partition('_')[0]}, {bank:,}" for name, bank in zip(names, banks, strict=True)]
    axes.set_yticks(range(len(times)), labels)
    axes.axvline(1, color="grey")
    axes.set(xlabel="processor time of flat offsets, × that of cells")
    axes.invert_yaxis()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bank", type=int, nargs="+", default=[20_000, 500_000])
    parser.add_argument("--targets", type=int, default=TARGETS)
    parser.add_argument("--folder", type=Path, nargs="*", default=[], help="real sets, beside what is made up")
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    sets = [(folder.name, partial(of_folder, folder), given.seeds) for folder in given.folder]
    lines = []
    for bank, (name, make, seeds) in product(given.bank, [*sets, ("made up", made_up, 1)]):
        for line in measured(make, bank, given.targets, seeds):
            lines.append({"vectors": name} | line)
            print(lines[-1], flush=True)
    harness.write("bank_index", {"targets": given.targets, "lines": lines}, plot, tables=tables)


if __name__ == "__main__":
    main()
