"""The first queries after opening: `python -m benchmarks.opening [--targets 400000]`.

Each row opens the collection in a new process and asks one query after the other, on one thread. The files of the index
are in the system's memory, or not, as after a start of the machine. `warmed` is after `Parts.warm`, which the
service calls before it answers; its seconds are those of opening and warming.
"""

import argparse
import multiprocessing
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from time import perf_counter

import faiss
import numpy as np

import hubless
from benchmarks import harness
from hubless.search.collection import open_collection
from hubless.store import bundle

DIM, QUERIES, ROUNDS = 512, 200, 5
SIDES = {
    "in memory": (True, False),
    "not in memory": (False, False),
    "not in memory, warmed": (False, True),
}
"""Whether the files are in memory, and whether to warm."""
COLUMNS = ("opening", "seconds to open", "first ms", "second ms", "median ms", "first / median")


def alone(catalog, name, queries, *, cached, warmed):
    """Return what `first_queries` does, from a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(first_queries, catalog, name, queries, cached, warmed).result()


def first_queries(catalog, name, queries, cached, warmed):
    """Open, and return the seconds of opening and of each query."""
    harness.read_or_forget(Path(catalog), cached=cached)
    faiss.omp_set_num_threads(1)
    started = perf_counter()
    if warmed:
        bundle.warm(hubless.Catalog(catalog).folder(name))
    collection = open_collection(catalog, name, hashes=False)
    collection.check_canaries()
    opened = perf_counter() - started
    seconds = []
    for query in queries:
        started = perf_counter()
        collection.query(query)
        seconds.append(perf_counter() - started)
    return opened, seconds


def measure(catalog, queries):
    found = {name: [] for name in SIDES}
    for _ in range(ROUNDS):
        for name, (cached, warmed) in SIDES.items():
            found[name].append(alone(catalog, "c", queries, cached=cached, warmed=warmed))
    lines = []
    for name, rounds in found.items():
        opened, seconds = (np.array([each[place] for each in rounds]) for place in (0, 1))
        usual = np.median(seconds[:, QUERIES // 2 :], axis=1)
        firsts = [float(1000 * np.median(seconds[:, place])) for place in (0, 1)]
        ratio = float(np.median(seconds[:, 0] / usual))
        ms = [*firsts, float(1000 * np.median(usual))]
        lines.append({"side": name, "opened": float(np.median(opened)), "ms": ms, "ratio": ratio})
    return lines


def tables(result):
    return [[COLUMNS, *map(row, result["lines"])]]


def row(line):
    return [line["side"], f"{line['opened']:.2f}", *(f"{each:.2f}" for each in line["ms"]), f"{line['ratio']:.1f}"]


def plot(result, figure):
    """Draw the first query of each side over the median."""
    axes = figure.subplots()
    axes.barh([line["side"] for line in result["lines"]], [line["ratio"] for line in result["lines"]])
    axes.axvline(3, color="black", linewidth=0.8)
    axes.invert_yaxis()
    axes.set(xlabel="first query / median")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, default=400_000)
    given = parser.parse_args(arguments)
    targets, bank, queries = harness.with_hubs(given.targets, 1000, QUERIES, DIM)
    with tempfile.TemporaryDirectory() as folder:
        hubless.build(folder, "c", targets, bank, correction="none", index="fastscan", progress=False)
        del targets
        os.sync()  # what is not on the disk yet stays in memory
        lines = measure(folder, queries)
    harness.write("opening", {"targets": given.targets, "dim": DIM, "lines": lines}, plot, tables=tables)


if __name__ == "__main__":
    main()
