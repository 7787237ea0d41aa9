"""Filtered search: `python -m benchmarks.filters [--targets 20000 ...] [--rows 1000000]`.

Recall@10 among the matches, and the time of a query beside that without a filter, by the share of targets that match:
at random or far from all queries, whichever is worse.
"""

import argparse
import tempfile
from pathlib import Path
from time import thread_time

import faiss
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks import harness
from hubless import CORRECTIONS
from hubless.builder.indexing import ExactAnswers, IndexOrder, build_index
from hubless.filters import parse_filter
from hubless.kernels.reductions import rankings
from hubless.knn.aims import Aims
from hubless.knn.augment import centre
from hubless.knn.exhaustive import openmp_threads
from hubless.progress import Silent
from hubless.search.bitmap import Bitmap
from hubless.search.ranker import Question, Ranker
from hubless.vectors.payload import Payload
from hubless.vectors.sources import as_source

DIM, BANK, QUERIES, K, SINGLES, REPEATS = 256, 1000, 200, 10, 20, 3
KINDS = ("flat", "flat_fp16", "fastscan", "ivf", "ivf_fastscan", "hnsw")
SHARES = (0.5, 0.1, 0.01, 0.001)
FILTERS = {
    "whole numbers": {"field": "year", "gte": 1990, "lt": 2000},
    "floats": {"field": "price", "lt": 0.1},
    "few strings": {"field": "lang", "eq": "de"},
    "many strings": {"field": "title", "eq": "title word7 word8"},
    "prefix": {"field": "title", "prefix": "title word12"},
    "in": {"field": "title", "in": [f"title word{i} word{i + 1}" for i in range(100)]},
    "list": {"field": "tags", "contains": "word7"},
    "several": {
        "and": [
            {"field": "year", "gte": 1990},
            {"or": [{"field": "lang", "in": ["de", "fr"]}, {"field": "tags", "contains": "word7"}]},
            {"not": {"field": "title", "prefix": "title word1"}},
        ]
    },
}


def masks(targets, queries, shares):
    """Yield name, share and mask of each filter."""
    rng = np.random.default_rng(7)
    towards = targets @ queries.mean(axis=0)
    for share in shares:
        yield "random", share, rng.permutation(len(targets)) < share * len(targets)
        yield "far", share, towards <= np.quantile(towards, share)


def measured(count, kinds, shares):
    """Yield a row for each kind and filter."""
    targets, bank, queries = harness.with_hubs(count, BANK, QUERIES, DIM)
    source = as_source(targets, "targets")
    bank_source = as_source(bank, "bank")
    offsets = centre(CORRECTIONS["auto"]().fit(bank_source, source).offsets(source))
    ((_, rows),) = rankings(queries, source, K, offsets)
    exact = queries @ targets.T - offsets
    raw = faiss.IndexFlatIP(DIM)
    raw.add(targets)
    lines = []
    for name in kinds:
        with tempfile.TemporaryDirectory() as folder:
            asked = ExactAnswers(queries, rows)
            order = IndexOrder(
                targets=source, offsets=offsets, bank=bank_source, answers=asked, aims=Aims(0.99), index=name
            )
            built = build_index(order, lambda _, folder=folder: Path(folder), Silent())
            ranker = Ranker(built.targets)
        for which, share, mask in masks(targets, queries, shares):
            line = {"targets": count, "kind": name, "filter": which, "share": share}
            line |= ask(ranker, raw, queries, mask, exact)
            lines.append(line)
            print(f"{line['kind']}, {which} {100 * share:.1f} %: {line['ms']:.3f} ms", flush=True)
    return lines


def ask(ranker, raw, queries, mask, exact):
    """Return recall, and times beside search without a filter and raw flat search."""
    targets = ranker.targets
    bits = Bitmap(mask)
    matches = targets.matching([bits, Bitmap(mask[:0])])
    k = min(K, matches.count)
    selected = faiss.SearchParameters(sel=bits.selector)
    singles = [queries[i : i + 1] for i in range(SINGLES)]
    sides = {
        "filtered": lambda: [ranker.rank(Question(query, 1.0, {}, matches), k) for query in singles],
        "no filter": lambda: [ranker.rank(Question(query, 1.0), K) for query in singles],
        "raw flat": lambda: [raw.search(query, k, params=selected) for query in singles],
    }
    seconds = harness.medians(harness.interleaved(sides, REPEATS, thread_time))
    asked = Question(queries, 1.0, {}, matches)
    found = np.concatenate([ranker.rank(asked.of(np.array([i])), k).rows for i in range(len(queries))])
    scores = np.where(mask, exact, -np.inf)
    least = -np.partition(-scores, k - 1, axis=1)[:, k - 1 : k]
    return {
        "matches": matches.count,
        "recall": float(np.mean(np.take_along_axis(scores, found, axis=1) >= least - 1e-3)),
        "ms": 1000 * seconds["filtered"] / SINGLES,
        "to_no_filter": seconds["filtered"] / seconds["no filter"],
        "to_raw_flat": seconds["filtered"] / seconds["raw flat"],
    }


SHOWN = ("flat", "fastscan", "hnsw")


def rows(lines):
    """Yield columns, and a row for each kind of index: by the share of matches the worse of all filters."""
    shares = sorted({line["share"] for line in lines}, reverse=True)
    yield ("targets and kind", *(f"{100 * share:g} %" for share in shares))
    for targets, kind in dict.fromkeys((line["targets"], line["kind"]) for line in lines if line["kind"] in SHOWN):
        alike = [line for line in lines if (line["targets"], line["kind"]) == (targets, kind)]
        yield (f"{targets:,}, {kind}", *(worst([line for line in alike if line["share"] == share]) for share in shares))


def worst(lines):
    return f"{min(line['recall'] for line in lines):.3f}, {max(line['to_no_filter'] for line in lines):.2f} ×"


def tables(result):
    return [list(rows(result["lines"]))]


def plot(result, figure):
    """Draw time against the share that matches, one curve a kind, for the most targets."""
    axes = figure.subplots()
    most = max(line["targets"] for line in result["lines"])
    lines = [line for line in result["lines"] if line["filter"] == "random" and line["targets"] == most]
    for kind in dict.fromkeys(line["kind"] for line in lines):
        points = sorted((100 * line["share"], line["ms"]) for line in lines if line["kind"] == kind)
        axes.plot(*zip(*points, strict=True), "o-", label=kind)
    axes.set(xscale="log", yscale="log", xlabel="% of the targets that match", ylabel="ms of processor a query")
    axes.legend(fontsize=7, ncols=2)


def payload_of(count, path):
    """Return made-up payload of many rows, mapped."""
    rng = np.random.default_rng(0)
    words = pa.array([f"word{i}" for i in range(5000)])

    def some(n, among):
        return words.take(pa.array(rng.integers(0, among, n)))

    titles = pc.binary_join_element_wise(pa.scalar("title"), some(count, 5000), some(count, 5000), pa.scalar(" "))
    tags = pa.ListArray.from_arrays(pa.array(np.arange(0, 3 * count + 1, 3, dtype=np.int32)), some(3 * count, 200))
    table = pa.table(
        {
            "year": rng.integers(1900, 2026, count),
            "price": rng.random(count),
            "lang": pa.array(["de", "en", "es", "fr", "it"]).take(pa.array(rng.integers(0, 5, count))),
            "title": titles,
            "tags": tags,
        }
    )
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=2**17)
    return Payload.open(path)


def evaluated(count):
    """Return milliseconds for each filter, from its JSON to the bitmap."""
    with tempfile.TemporaryDirectory() as folder:
        payload = payload_of(count, Path(folder) / "payload.arrow")
        sides = {
            name: lambda each=each: Bitmap(payload.mask(parse_filter(each, payload.schema)))
            for name, each in FILTERS.items()
        }
        found = {name: side() for name, side in sides.items()}
        seconds = harness.medians(harness.interleaved(sides, 5, thread_time))
    return [
        {"rows": count, "filter": name, "matches": found[name].count, "ms": 1000 * seconds[name]} for name in FILTERS
    ]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, nargs="*", default=[20_000])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--shares", type=float, nargs="*", default=list(SHARES))
    given = parser.parse_args(arguments)
    with openmp_threads(1):
        timed = evaluated(given.rows)
        lines = [line for count in given.targets for line in measured(count, given.kinds, given.shares)]
    result = {"dim": DIM, "lines": lines, "evaluated": timed}
    for table in tables(result):
        print(f"\n{harness.markdown(table)}")
    harness.write("filters", result, plot)


if __name__ == "__main__":
    main()
