"""Exact search beside Faiss' Panorama: `python -m benchmarks.exact_search [--targets 100000] [--folder F ...]`.

Panorama (`IndexFlatIPPanorama`) is exact, too: it turns vectors to their uncentred principal axes, and passes over a
vector as soon as its leading coordinates show that it is too far away. The leading coordinates of real vectors do not
show that early: `read` is the share of all coordinates that Panorama looked at. Below about a quarter it would be
faster. So `flat` stays without it.

The figures are milliseconds of processor a query, on one thread, with folded offsets, for so many queries at once.
`filtered` is one query among a random half of the targets. Vectors that are `drawn` have the mean and the covariance
of a folder with fewer. `python_code` is what `benchmarks.python_code` makes of Python packages.
"""

import argparse
from functools import partial
from pathlib import Path
from time import thread_time

import faiss
import numpy as np

from benchmarks import harness
from benchmarks.index_recipes import open_folder
from hubless import CORRECTIONS
from hubless.knn.augment import augment_queries, augment_targets, centre
from hubless.knn.base import openmp_threads
from hubless.knn.exhaustive import search_all
from hubless.vectors.arrays import unit_rows
from hubless.vectors.sources import as_source

DIM, BANK, QUERIES, K, REPEATS, SAMPLE = 512, 2000, 512, 10, 3, 20_000
LEVELS, BATCH, ONE_BY_ONE = 8, 128, 8
TOGETHER = (1, 8, 32, 256)
COLUMNS = ("targets", "side", "read", *(f"{count} together" for count in TOGETHER), "filtered")


def drawn(targets, count):
    """Return unit vectors with the mean and the covariance of some targets."""
    rng = np.random.default_rng(0)
    variances, directions = np.linalg.eigh(np.cov(targets.T.astype(np.float64)))
    scales = np.sqrt(np.maximum(variances, 0)).astype(np.float32)
    rows = (rng.standard_normal((count, len(scales)), np.float32) * scales) @ directions.T.astype(np.float32)
    return unit_rows(rows + targets.mean(axis=0), "targets", 0)


def compare(targets, bank, queries):
    """Return milliseconds of both sides, and the share of coordinates that Panorama read."""
    source = as_source(targets, "targets")
    offsets = centre(CORRECTIONS["auto"]().fit(as_source(bank, "bank"), source).offsets(source))
    folded, asked = augment_targets(targets, offsets), augment_queries(queries, 1.0)
    sample = folded[:: max(1, len(folded) // SAMPLE)]
    axes = np.ascontiguousarray(np.linalg.eigh((sample.T @ sample).astype(np.float64))[1][:, ::-1], np.float32)
    flat = faiss.IndexFlatIP(folded.shape[1])
    panorama = faiss.IndexFlatIPPanorama(folded.shape[1], LEVELS, BATCH)
    flat.add(folded)
    panorama.add(folded @ axes)
    half = faiss.IDSelectorBitmap(np.packbits(np.random.default_rng(0).random(len(folded)) < 0.5, bitorder="little"))

    def ask_flat(rows, selector=None):
        return search_all(flat, asked[rows], K, selector)

    def ask_panorama(rows, selector=None):
        # turning the queries is a part of the cost
        return panorama.search(asked[rows] @ axes, K, params=faiss.SearchParameters(sel=selector))

    sides = {"flat": ask_flat, "Panorama": ask_panorama}
    with openmp_threads(1):
        faiss.cvar.indexPanorama_stats.reset()
        found = [ask(slice(64)) for ask in sides.values()]
        read = faiss.cvar.indexPanorama_stats.ratio_dims_scanned
        tolerance = 1e-5 * np.abs(found[0][0]).max()
        assert np.allclose(found[0][0], found[1][0], atol=tolerance), "one of them is not exact"
        ms = {name: [] for name in sides}
        for count, selector in (*((each, None) for each in TOGETHER), (1, half)):
            rows = [slice(start, start + count) for start in range(0, max(ONE_BY_ONE, count), count)]
            timed = {name: partial(run, ask, rows, selector) for name, ask in sides.items()}
            for name, seconds in harness.medians(harness.interleaved(timed, REPEATS, thread_time)).items():
                ms[name].append(1000 * seconds / (len(rows) * count))
    return {"ms": ms, "read": read}


def run(ask, rows, selector):
    for each in rows:
        ask(each, selector)


def tables(result):
    return [[COLUMNS, *(row for line in result["lines"] for row in rows_of(line))]]


def rows_of(line):
    for side, values in line["ms"].items():
        read = f"{line['read']:.2f}" if side == "Panorama" else ""
        yield [f"{line['data']}, {line['targets']:,} × {line['dim']}", side, read, *(f"{each:.2f}" for each in values)]


def plot(result, figure):
    """Draw how many times as long as flat Panorama takes."""
    axes = figure.subplots()
    for line in result["lines"]:
        ratios = np.divide(line["ms"]["Panorama"], line["ms"]["flat"])
        axes.plot([*map(str, TOGETHER), "filtered"], ratios, "o-", label=line["data"])
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set(yscale="log", xlabel="queries together", ylabel="Panorama / flat, processor time")
    axes.legend(fontsize=7)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, nargs="*", default=[])
    given = parser.parse_args(arguments)
    data = {"low rank": lambda: harness.with_hubs(given.targets, BANK, QUERIES, DIM)}
    data |= {folder.resolve().name: lambda folder=folder: open_folder(folder) for folder in given.folder}
    lines = []
    for name, load in data.items():
        targets, bank, queries = load()
        if len(targets) < 0.9 * given.targets:
            targets, name = drawn(targets, given.targets), f"{name}, drawn"
        compared = compare(targets[: given.targets], bank, queries)
        lines.append({"data": name, "targets": min(len(targets), given.targets), "dim": targets.shape[1], **compared})
        print(name, flush=True)
    harness.write("exact_search", {"lines": lines}, plot, tables=tables)


if __name__ == "__main__":
    main()
