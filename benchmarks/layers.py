"""What the library adds to a search of Faiss: `python -m benchmarks.layers [--targets 100000] [--together 1 8 32]`.

Microseconds of processor of one call on one thread. Each layer contains the one above it. `Faiss` is the search of the
index alone, with the parameters that the build chose. The layers add: parameters of Faiss for the number of hits, a
check of the answer, the query with strength and offsets folded in, ids, a check of the query and its length, and hits
as Python objects. The data are low-rank vectors with hubs.
"""

import argparse
import tempfile
from functools import partial
from time import thread_time

import faiss
import numpy as np

import hubless
from benchmarks import harness
from hubless.knn.base import openmp_threads
from hubless.knn.exhaustive import stored
from hubless.search.collection import open_collection

DIM, BANK, K, REPEATS = 512, 2000, 10, 301
COLUMNS = ("targets, kind, queries at once", "layer", "µs", "adds µs", "× Faiss")


def bare(kind, index, queries, parameters):
    """Return a search of Faiss alone, with its parameters made beforehand."""
    if kind.name == "flat":
        vectors = stored(index)
        return lambda: faiss.knn(queries, vectors, K, faiss.METRIC_INNER_PRODUCT)
    lists = faiss.SearchParametersIVF(nprobe=1)
    given = faiss.IndexRefineSearchParameters(k_factor=float(parameters["k_factor"]), base_index_params=lists)
    distances, rows = np.empty((len(queries), K), np.float32), np.empty((len(queries), K), np.int64)
    return lambda: index.search_c(
        len(queries), faiss.swig_ptr(queries), K, faiss.swig_ptr(distances), faiss.swig_ptr(rows), given
    )


def layers(collection, queries):
    """Return a function for each layer."""
    ranker = collection.parts.ranker
    targets = ranker.targets
    kind, index, parameters = targets.kind, targets.index, targets.defaults
    prepared = collection.prepare(queries)
    augmented = targets.augmented(prepared, 1.0)
    return {
        "Faiss": bare(kind, index, augmented, parameters),
        "kind of index": partial(kind.search, index, augmented, K, parameters),
        "answer checked": partial(targets.find, augmented, K, parameters, None),
        "query folded, similarities": partial(ranker.rank, prepared, K, 1.0, {}),
        "ids": partial(collection.query, prepared, K, prepared=True),
        "query checked": partial(collection.query, queries, K),
        "hits as objects": lambda: list(collection.query(queries, K)),
    }


def measure(collection, queries, repeats):
    """Return microseconds of each layer."""
    with openmp_threads(1):
        times = harness.interleaved(layers(collection, queries), repeats, thread_time)
    return {name: 1e6 * value for name, value in harness.medians(times).items()}


def tables(result):
    return [[COLUMNS, *(row for line in result["lines"] for row in rows_of(line))]]


def rows_of(line):
    what = f"{line['targets']:,}, {line['kind']}, {line['together']}"
    least, before = line["us"]["Faiss"], 0.0
    for name, value in line["us"].items():
        yield [what, name, f"{value:,.1f}", f"{value - before:,.1f}", f"{value / least:.2f}"]
        before = value


def plot(result, figure):
    """Draw what the layers take, one bar a line."""
    axes = figure.subplots()
    names = [f"{line['kind']}, {line['together']}" for line in result["lines"]]
    axes.bar(names, [list(line["us"].values())[-1] / line["us"]["Faiss"] for line in result["lines"]])
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set(ylabel="library / Faiss")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, default=100_000)
    parser.add_argument("--together", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--kinds", nargs="+", default=["fastscan"])
    given = parser.parse_args(arguments)
    targets, bank, queries = harness.with_hubs(given.targets, BANK, max(given.together), DIM)
    lines = []
    for kind in given.kinds:
        with tempfile.TemporaryDirectory() as folder:
            hubless.build(folder, "c", targets, bank, correction="csls", index=kind, progress=False)
            collection = open_collection(folder, "c", hashes=False)
            for together in given.together:
                us = measure(collection, queries[:together], max(9, REPEATS // together))
                lines.append({"targets": given.targets, "kind": kind, "together": together, "us": us})
    harness.write("layers", {"lines": lines}, plot, tables=tables)


if __name__ == "__main__":
    main()
