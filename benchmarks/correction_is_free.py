"""What the correction costs a query: `python -m benchmarks.correction_is_free [--targets 20000 100000]`.

The same kind of index over the same vectors, with offsets folded in and without, each at the cheapest setting that
reaches the recall of its own exact ranking. They take turns; times are processor time of one thread, augmenting the
query included.
"""

import argparse
import tempfile
from pathlib import Path
from time import thread_time

import faiss
import numpy as np

from benchmarks import harness
from hubless import CORRECTIONS
from hubless.augment import augment_queries, centre
from hubless.indexing import Asked, build_index
from hubless.kernels import rankings
from hubless.knn import Aims
from hubless.knn.base import openmp_threads
from hubless.progress import Silent
from hubless.sources import as_source

DIM, BANK, QUERIES, K, SINGLES, REPEATS = 512, 2000, 300, 10, 50, 9
SIDES = ("corrected", "raw")
KINDS = ("flat", "fastscan", "ivf_fastscan")


def build(kind, source, bank, offsets, queries, folder):
    """An index of vectors with these offsets, tuned to their ranking."""
    ((_, rows),) = rankings(queries, source, K, offsets)
    path = Path(folder) / f"{kind}.{int(offsets.any())}"
    return build_index(kind, source, offsets, bank, Asked(queries, rows), Aims(), path, 0, Silent())


def compare(kind, source, bank, offsets, queries, folder):
    """Milliseconds a query, corrected and raw, at the recall that both reach."""
    corrected = build(kind, source, bank, offsets, queries, folder)
    raw = build(kind, source, bank, np.zeros_like(offsets), queries, folder)
    plain = faiss.IndexFlatIP(source.shape[1])
    for block in source.blocks(2**14):
        plain.add(block)

    def ask(built, strength):
        # augmenting the query is a part of the cost
        for query in queries[:SINGLES, np.newaxis]:
            built.kind.search(built.index, augment_queries(query, strength, built.pivot), K, built.setting.parameters)

    sides = {"corrected": lambda: ask(corrected, 1.0), "raw": lambda: ask(raw, 0.0)}
    if kind == "flat":
        sides["plain Faiss"] = lambda: [plain.search(query, K) for query in queries[:SINGLES, np.newaxis]]
    with openmp_threads(1):
        times = harness.interleaved(sides, REPEATS, thread_time)
    ratios = np.array(times["corrected"]) / np.array(times["raw"])
    found = {name: 1000 * value / SINGLES for name, value in harness.medians(times).items()}
    settings = {name: built.setting.parameters for name, built in (("corrected", corrected), ("raw", raw))}
    recall = {"corrected": corrected.setting.recall, "raw": raw.setting.recall}
    return {"ms": found, "ratio": float(np.median(ratios)), "settings": settings, "recall": recall}


def table(result):
    yield ["kind", "targets", "corrected ms", "raw ms", "corrected / raw", "recall", "setting", "raw setting"]
    for line in result["lines"]:
        yield [
            line["kind"],
            f"{line['targets']:,}",
            f"{line['ms']['corrected']:.3f}",
            f"{line['ms']['raw']:.3f}",
            f"{line['ratio']:.3f}",
            " / ".join(f"{line['recall'][side]:.4f}" for side in ("corrected", "raw")),
            *(", ".join(f"{name} {value}" for name, value in line["settings"][side].items()) for side in SIDES),
        ]


def tables(result):
    return [list(table(result))]


def plot(result, figure):
    """Corrected over raw, a bar each."""
    axes = figure.subplots()
    names = [f"{line['kind']}\n{line['targets']:,}" for line in result["lines"]]
    axes.bar(names, [line["ratio"] for line in result["lines"]])
    axes.axhline(1.03, color="black", linewidth=0.8)
    axes.set(ylabel="corrected / raw time", ylim=(0.8, None))
    axes.tick_params(axis="x", labelsize=7)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, nargs="*", default=[20_000, 100_000])
    given = parser.parse_args(arguments)
    lines = []
    for count in given.targets:
        targets, bank_rows, queries = harness.with_hubs(count, BANK, QUERIES, DIM)
        source, bank = as_source(targets, "targets"), as_source(bank_rows, "bank")
        offsets = centre(CORRECTIONS["auto"]().fit(bank, source).offsets(source))
        for kind in KINDS:
            with tempfile.TemporaryDirectory() as folder:
                line = {"kind": kind, "targets": count, **compare(kind, source, bank, offsets, queries, folder)}
            lines.append(line)
            print(kind, count, flush=True)
    harness.write("correction_is_free", {"lines": lines}, plot, tables=tables)


if __name__ == "__main__":
    main()
