"""`auto` beside each kind by hand: `python -m benchmarks.auto_choice [--targets N ...] [--jittered F ...]`.

`ms` is of a single query, at the cheapest setting that reaches the recall@10 on held-out bank queries; `beside` is that
time over the one of the fastest by hand; `least recall` is that of other queries. On four sets, made up and real.
"""

import argparse
import tempfile
from functools import partial
from pathlib import Path
from time import process_time, thread_time

import numpy as np

import hubless
from benchmarks import harness
from benchmarks.graphs import jittered
from benchmarks.index_recipes import DIM, QUERIES, K
from hubless.knn.augment import folded_queries
from hubless.knn.exhaustive import openmp_threads

BANK, SINGLES, RACES = 3000, 100, 5
BY_HAND = ("fastscan", "ivf_fastscan", "hnsw_sq8")
MOST_FOR_GRAPHS = 100_000
COLUMNS = ("targets", "recall", "auto takes", "ms", "beside", "build s", "least recall")


def built(folder, data, kind, recall):
    """Return an opened collection, and the processor seconds of its build."""
    targets, bank, _ = data
    start = process_time()
    hubless.build(folder, kind.replace("_", "-"), targets, bank, metric="cosine", index=kind, recall=recall)
    return hubless.open(folder, kind.replace("_", "-"), hashes=False), process_time() - start


def race(sides, queries):
    """Return the processor milliseconds of a single query of each collection: the least of several rounds in turn."""
    least = dict.fromkeys(sides, float("inf"))
    with openmp_threads(1):
        for _ in range(RACES):
            for name, side in sides.items():
                asked = folded_queries(queries[:SINGLES], 1.0)
                how = side.manifest.index.parameters
                start = thread_time()
                for row in asked:
                    side.parts.targets.find(row[np.newaxis], K, how, None)
                least[name] = min(least[name], 1000 * (thread_time() - start) / SINGLES)
    return least


def measured(name, data, kinds, recall):
    queries = data[2]
    with tempfile.TemporaryDirectory() as folder:
        sides = {}
        seconds = {}
        for kind in ("auto", *kinds):
            sides[kind], seconds[kind] = built(folder, data, kind, recall)
            print(name, len(data[0]), recall, kind, f"{seconds[kind]:.0f} s", flush=True)
        times = race(sides, queries)
        auto = sides["auto"]
        found, exact = (auto.query(queries, K, parameters=each).scores for each in ({}, {"exact": True}))
        index = auto.manifest.index
        return {
            "data": name,
            "targets": len(data[0]),
            "recall": recall,
            "takes": index.type,
            "code_bytes": index.code_bytes,
            "parameters": index.parameters,
            "ms": times,
            "promised": auto.manifest.measured.recall_at_10,
            "recall_of_others": float(np.mean(found >= exact[:, -1:] - 1e-4)),
            "build_s": seconds,
        }


def beside(line):
    """Return the time of what `auto` takes over that of the fastest by hand."""
    return line["ms"]["auto"] / min(time for kind, time in line["ms"].items() if kind != "auto")


def tables(result):
    groups = {}
    for line in result["lines"]:
        groups.setdefault((line["targets"], line["recall"]), []).append(line)
    return [[COLUMNS, *(row(targets, recall, lines) for (targets, recall), lines in groups.items())]]


def row(targets, recall, lines):
    """Return the cells of what was measured with one number of targets and one recall."""
    takes = " or ".join(sorted({each["takes"] for each in lines}))
    figures = [
        ([each["ms"]["auto"] for each in lines], ".2f"),
        ([beside(each) for each in lines], ".2f"),
        ([each["build_s"]["auto"] for each in lines], ".0f"),
    ]
    spans = [" to ".join(f"{end(values):{form}}" for end in (min, max)) for values, form in figures]
    return [f"{targets:,}", f"{recall}", takes, *spans, f"{min(each['recall_of_others'] for each in lines):.3f}"]


def plot(result, figure):
    """Draw the time of each kind by hand over that of what `auto` takes."""
    axes = figure.subplots()
    names = [f"{line['data']}, {line['targets']:,}, {line['recall']:g}" for line in result["lines"]]
    for kind in BY_HAND:
        points = [
            (line["ms"][kind] / line["ms"]["auto"], name)
            for line, name in zip(result["lines"], names, strict=True)
            if kind in line["ms"]
        ]
        axes.plot(*zip(*points, strict=True), "o", label=kind)
    axes.axvline(1, color="0.6")
    axes.set(xlabel="time of a query, × what auto takes")
    axes.legend(fontsize=7)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, nargs="*", default=[100_000])
    parser.add_argument("--jittered", type=Path, nargs="*", default=[])
    parser.add_argument("--recall", type=float, nargs="*", default=[0.95, 0.99])
    parser.add_argument("--go-on", action="store_true", help="add to the result that is there")
    given = parser.parse_args(arguments)
    lines = list(harness.earlier("auto_choice", "lines")) if given.go_on else []
    for count in given.targets:
        kinds = BY_HAND if count <= MOST_FOR_GRAPHS else BY_HAND[:-1]
        real = {each.resolve().name: partial(jittered, each, count) for each in given.jittered}
        for name, data in (real or {"low rank": partial(harness.with_hubs, count, BANK, QUERIES, DIM)}).items():
            targets, bank, queries = data()
            for recall in given.recall:
                lines.append(measured(name, (targets, bank[:BANK], queries), kinds, recall))
                harness.write("auto_choice", {"lines": lines}, plot, tables=tables)


if __name__ == "__main__":
    main()
