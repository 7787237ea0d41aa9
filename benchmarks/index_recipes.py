"""Kinds of index beside raw flat Faiss: `python -m benchmarks.index_recipes [--targets 10000 ...] [--folder F ...]`.

`faster` is beside a flat Faiss index over raw vectors, made up of low rank with hubs.
"""

import argparse
import tempfile
from pathlib import Path
from time import thread_time

import faiss
import numpy as np

from benchmarks import harness
from hubless import CORRECTIONS
from hubless.builder.indexing import ExactAnswers, IndexOrder, build_index
from hubless.kernels.reductions import rankings
from hubless.knn import INDEXES
from hubless.knn.aims import Aims
from hubless.knn.augment import centre, folded_queries
from hubless.knn.exhaustive import openmp_threads
from hubless.progress import Silent
from hubless.vectors.arrays import unit_rows
from hubless.vectors.sources import as_source

DIM, BANK, QUERIES, K, SINGLES, BATCH = 512, 2000, 500, 10, 20, 256
COLUMNS = ("targets, kind", "setting", "recall@10", "single ms", "faster", "batch/s", "build s")
GRAPHS = ("hnsw", "hnsw_fp16", "hnsw_sq8")
MOST_FOR_GRAPHS = 20_000


def measured(name, data, kinds, recall):
    """Yield a row for each kind."""
    targets, bank, queries = data
    source = as_source(targets, "targets")
    bank_source = as_source(bank, "bank")
    fitted = CORRECTIONS["auto"]().fit(bank_source, source)
    offsets = centre(fitted.offsets(source))
    ((_, rows),) = rankings(queries, source, K, offsets)
    raw = faiss.IndexFlatIP(targets.shape[1])
    raw.add(targets)
    lines = []
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            start = thread_time()
            with openmp_threads(1):
                order = IndexOrder(
                    targets=source,
                    offsets=offsets,
                    bank=bank_source,
                    answers=ExactAnswers(queries, rows),
                    aims=Aims(recall),
                    index=kind,
                )
                built = build_index(order, lambda _, folder=folder: Path(folder), Silent())
            seconds = thread_time() - start
            figures = {"kind": kind, "build_and_tune_s": seconds, **ask(built, raw, queries)}
            lines.append({"data": name, "targets": len(targets), **figures})
            print(kind, flush=True)
    return lines


def ask(built, raw, queries):
    """Return recall, and times beside raw flat search."""
    augmented = folded_queries(queries, 1.0)
    parameters = built.setting.parameters

    def timed(slices):
        sides = {
            "this": lambda: [built.targets.find(augmented[each], K, parameters, None) for each in slices],
            "raw flat": lambda: [raw.search(queries[each], K) for each in slices],
        }
        return harness.medians(harness.interleaved(sides, 3, thread_time))

    with openmp_threads(1):
        single = timed([slice(i, i + 1) for i in range(SINGLES)])
        many = timed([slice(BATCH)])
    return {
        "parameters": parameters,
        "recall": built.setting.recall,
        "curve": [[setting.parameters, setting.recall, setting.latency_ms] for setting in built.curve],
        "single_ms": 1000 * single["this"] / SINGLES,
        "single_ratio": single["raw flat"] / single["this"],
        "batch_per_s": min(BATCH, len(queries)) / many["this"],
        "batch_ratio": many["raw flat"] / many["this"],
    }


def row(line):
    return [
        f"{line['targets']:,}, {line['kind']}",
        ", ".join(f"{name} {value}" for name, value in line["parameters"].items()),
        f"{line['recall']:.4f}",
        f"{line['single_ms']:.3f}",
        f"{line['single_ratio']:.1f}",
        f"{line['batch_per_s']:,.0f}",
        f"{line['build_and_tune_s']:.1f}",
    ]


def tables(result):
    most = max(line["targets"] for line in result["lines"])
    shown = (line for line in result["lines"] if line["targets"] == most or line["kind"] in GRAPHS)
    return [[COLUMNS, *map(row, shown)]]


def open_folder(folder):
    """Return targets, bank and test queries of a folder. Without `bank.npy` half of the queries are the bank."""
    files = {path.stem: path for path in folder.glob("*.npy") if path.stem in ("targets", "queries", "bank")}
    found = {name: unit_rows(np.load(path).astype(np.float32), name) for name, path in files.items()}
    targets = found["targets"]
    queries = found["queries"]
    if "bank" in found:
        return targets, found["bank"], queries[:QUERIES]
    order = np.random.default_rng(0).permutation(len(queries))
    half = len(order) // 2
    return targets, queries[order[:half]], queries[order[half:]][:QUERIES]


def plot(result, figure):
    """Draw single-query time against the number of targets, one curve a kind."""
    axes = figure.subplots()
    lines = [line for line in result["lines"] if line["data"] == "low rank"]
    for kind in dict.fromkeys(line["kind"] for line in lines):
        points = sorted((line["targets"], line["single_ms"]) for line in lines if line["kind"] == kind)
        axes.plot(*zip(*points, strict=True), "o-", label=kind)
    axes.set(xscale="log", yscale="log", xlabel="targets", ylabel="ms of processor a query")
    axes.legend(fontsize=7, ncols=2)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--folder", type=Path, nargs="*", default=[])
    parser.add_argument("--kinds", nargs="*", default=list(INDEXES))
    parser.add_argument("--recall", type=float, default=0.99)
    given = parser.parse_args(arguments)
    lines = []
    for folder in given.folder:
        lines += measured(folder.resolve().name, open_folder(folder), given.kinds, given.recall)
    for count in given.targets:
        kinds = [kind for kind in given.kinds if count <= MOST_FOR_GRAPHS or kind not in GRAPHS]
        lines += measured("low rank", harness.with_hubs(count, BANK, QUERIES, DIM), kinds, given.recall)
    harness.write("index_recipes", {"recall": given.recall, "lines": lines}, plot, tables=tables)


if __name__ == "__main__":
    main()
