"""Graphs of the query bank: `python -m benchmarks.graphs [--targets 100000] [--jittered FOLDER ...]`.

Targets that a bank query finds together get edges, in place of those of Faiss' HNSW. Processor ms of a query on one
thread, at the cheapest setting with the recall@10. Real vectors are mixed and jittered until there are so many.
"""

# after Chen et al., "RoarGraph", VLDB 2024 (arXiv 2408.08933), and Jaiswal et al., "OOD-DiskANN" (arXiv 2211.12850)
import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import thread_time
from typing import Any

import faiss
import numpy as np

from benchmarks import harness
from benchmarks.index_recipes import DIM, GRAPHS, QUERIES, K, open_folder
from hubless import CORRECTIONS
from hubless.kernels.reductions import rankings
from hubless.knn import INDEXES
from hubless.knn.augment import AugmentedVectors, Columns, centre, folded_queries, pivot_of, pivoted
from hubless.knn.exhaustive import openmp_threads
from hubless.knn.index_files import make_index
from hubless.knn.tuning import agreement
from hubless.vectors.sources import as_source

BANK, FITTED, LIST, DEGREE, CONSIDERED = 20_000, 2_000, 32, 64, 128
LIST_FACTOR = 16
FOLDED, PARTS = "folded", {"half bank edges": 0.5, "bank edges": 1.0}
RECALLS = (0.95, 0.99)
EF = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
COLUMNS = ("data, targets", "index", *(f"ms at {recall}" for recall in RECALLS), "best recall")


def chosen(candidates, vectors, row, most):
    """Return the nearest candidates that are not nearer to one that was taken (RoarGraph's edge selection)."""
    distances = ((vectors[candidates] - vectors[row]) ** 2).sum(axis=1)
    order = np.argsort(distances)[:CONSIDERED]
    candidates, distances = candidates[order], distances[order]
    rows = vectors[candidates]
    between = distances_between(rows)
    free = np.ones(len(rows), bool)
    taken = []
    while free.any() and len(taken) < most:
        nearest = int(np.argmax(free))
        taken.append(nearest)
        free &= between[nearest] >= distances
        free[nearest] = False
    return candidates[taken]


def distances_between(rows):
    """Return squared distances of all pairs of rows."""
    lengths = (rows * rows).sum(axis=1)
    return lengths[:, np.newaxis] + lengths - 2 * rows @ rows.T


def bank_edges(lists, vectors, most):
    """Return for each target the targets to lead to: those that stand in a bank query's list with it.

    The list's first leads to the others and they to it, as RoarGraph projects its graph of queries and targets.
    """
    found = {}
    for line in lists:
        for place, row in enumerate(line):
            found.setdefault(int(row), []).append(line if place == 0 else line[:place])
    return {
        row: chosen(candidates, vectors, row, most)
        for row, some in found.items()
        if len(candidates := np.setdiff1d(np.concatenate(some), [row]))
    }


def write_edges(graph, own_links, edges, share):
    """Write edges into the graph's ground level: at most `share` of a target's places, before those of its own."""
    hnsw = graph_of(graph)
    links = own_links.copy()
    offsets = faiss.vector_to_array(hnsw.offsets).astype(np.int64)
    places = hnsw.nb_neighbors(0)
    for row, more in edges.items():
        own = links[offsets[row] : offsets[row] + places]
        first = more[: int(share * places)]
        kept = own[(own >= 0) & ~np.isin(own, first)]
        line = np.concatenate([first, kept])[:places]
        links[offsets[row] : offsets[row] + places] = -1
        links[offsets[row] : offsets[row] + len(line)] = line
    faiss.copy_array_to_vector(links, hnsw.neighbors)


def graph_of(index):
    return faiss.downcast_index(getattr(index, "base_index", index)).hnsw


def measured(name, data, graph, sides):
    """Return a line for each index of the targets."""
    targets, bank, queries = data
    source = as_source(targets, "targets")
    bank_source = as_source(bank[:FITTED], "bank")
    offsets = centre(CORRECTIONS["auto"]().fit(bank_source, source).offsets(source))
    pivot = pivot_of(bank_source, source, offsets)
    lines = []
    kinds = {"fastscan": INDEXES["fastscan"], graph.name: graph}

    def folded(values, steered):
        return AugmentedVectors(source, values, steered)

    def add(label, kind, index, asked, exact, build):
        lines.append({"data": name, "targets": len(targets), "index": label, "build_s": build})
        lines[-1]["at"] = {str(recall): at_recall(kind, index, asked, exact, recall) for recall in RECALLS}
        lines[-1]["best"] = max(found[2] for found in lines[-1]["at"].values())
        print(lines[-1], flush=True)

    for label in sides:
        values = offsets if label == FOLDED else np.zeros_like(offsets)
        ((_, rows),) = rankings(queries, source, K, values)
        for kind in kinds:
            steered = pivot if kind == "fastscan" and label == FOLDED else None
            vectors = folded(values, steered)
            asked = asking(queries, steered)
            exact = -np.sort(-np.einsum("md,mkd->mk", asked, vectors.take(rows.ravel()).reshape(*rows.shape, -1)))
            start = thread_time()
            index = None  # the memory of the last one is free before the next one is built
            index = make_index(kinds[kind], vectors, 0, Columns(*2 * targets.shape[1:]))
            add(f"{kind}, {label}", kind, index, asked, exact, thread_time() - start)
            if kind == "fastscan":
                start = thread_time()
                asked = asking(bank, steered)
                _, lists = kinds[kind].search(index, asked, LIST, {"k_factor": LIST_FACTOR})
                took = thread_time() - start
    start = thread_time()
    edges = bank_edges(lists, targets, DEGREE)
    took, own_links = took + thread_time() - start, faiss.vector_to_array(graph_of(index).neighbors)
    for label, share in PARTS.items():
        write_edges(index, own_links, edges, share)
        add(f"{graph.name}, {label}", graph.name, index, asked, exact, took)
    return lines


def at_recall(kind, index, queries, exact, recall):
    """Return the cheapest setting that reaches the recall, milliseconds a query (None if none does), and its recall."""
    ladder = [{"ef": ef} for ef in EF] if kind in GRAPHS else INDEXES[kind].ladder(index.ntotal)

    def search(rows, how):
        return INDEXES[kind].search(index, rows, K, how)[0]

    for how in ladder:
        if (found := agreement(search(queries, how), exact)) >= recall:
            singles = partial(singly, search, queries[:100], how)
            return how, 10 * min(harness.interleaved({"it": singles}, 5, thread_time)["it"]), found
    return how, None, found


def singly(search, queries, how):
    for row in queries:
        search(row[np.newaxis], how)


def jittered(folder, count):
    """Return real vectors, mixed in pairs and jittered, so that there are as many as wanted."""
    rng = np.random.default_rng(0)

    def many(rows, number, share):
        found = np.empty((number, rows.shape[1]), np.float32)
        start = 0
        for block in mixed(rows, number, share, rng):
            found[start : start + len(block)] = block
            start += len(block)
        return found

    targets, bank, queries = open_folder(folder)
    return many(targets, count, 0.7), many(bank, BANK, 0.5), many(queries, QUERIES, 0.5)


def mixed(rows, number, share, rng):
    """Yield blocks of vectors, so many in all: each is one of these and a share of another, jittered."""
    first, second = rng.integers(len(rows), size=(2, number))
    mean = rows.mean(axis=0)
    spread = 0.3 * rows.std(axis=0)
    for start in range(0, number, 2**16):
        here = slice(start, start + 2**16)
        block = rows[first[here]] + share * (rows[second[here]] - mean)
        block += rng.standard_normal(block.shape, np.float32) * spread
        block /= np.linalg.norm(block, axis=1, keepdims=True)
        yield block


def plot(result, figure):
    """Draw the time of each index at a recall of 0.95 over that of `fastscan` on the same data."""
    axes = figure.subplots()
    data = list(dict.fromkeys(map(named, result["lines"])))
    for each in data:
        times = {line["index"]: line["at"]["0.95"][1] for line in result["lines"] if named(line) == each}
        reached = {name: time / times[f"fastscan, {FOLDED}"] for name, time in times.items() if time is not None}
        axes.plot(list(reached.values()), list(reached), "o", label=f"{each[0]}, {each[1]:,}")
    axes.set(xlabel="time of a query at a recall of 0.95, × fastscan, folded", xlim=(0, None))
    axes.legend(fontsize=7)


def named(line):
    return line["data"], line["targets"]


def tables(result):
    rows = []
    before = None
    for line in result["lines"]:
        times = ["–" if line["at"][str(each)][1] is None else f"{line['at'][str(each)][1]:.3f}" for each in RECALLS]
        size = "" if named(line) == before else f"{line['data']}, {line['targets']:,}"
        before = named(line)
        rows.append([size, line["index"], *times, f"{line['best']:.3f}"])
    return [[COLUMNS, *rows]]


def asking(queries, pivot):
    augmented = folded_queries(queries, 1.0)
    return augmented if pivot is None else pivoted(augmented, pivot)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, nargs="*", default=[100_000])
    parser.add_argument("--jittered", type=Path, nargs="*", default=[])
    parser.add_argument("--graph", choices=("hnsw", "hnsw_sq8"), default="hnsw")
    parser.add_argument("--construction", type=int, default=200, help="efConstruction of the graph")
    parser.add_argument("--sides", nargs="*", default=["raw", FOLDED])
    parser.add_argument("--go-on", action="store_true", help="add to the result that is there")
    given = parser.parse_args()
    lines = list(harness.earlier("graphs", "lines")) if given.go_on else []
    kind: Any = INDEXES[given.graph]
    graph = replace(kind, construction=given.construction)
    for count in given.targets:
        real = {each.resolve().name: partial(jittered, each, count) for each in given.jittered}
        for name, data in (real or {"low rank": partial(harness.with_hubs, count, BANK, QUERIES, DIM)}).items():
            with openmp_threads(1):
                lines += measured(name, data(), graph, given.sides)
            harness.write("graphs", {"lines": lines}, plot, tables=tables)  # a run takes long: keep what there is


if __name__ == "__main__":
    main()
