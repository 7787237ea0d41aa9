"""The cost of the correction for a query: `python -m benchmarks.correction_is_free [--targets 20000 100000]`.

The same kind of index with and without folded offsets, each at a recall of 0.99 of its own exact ranking. Times are
processor time of one thread.
"""

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import thread_time
from typing import cast

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
from hubless.knn.ivf import list_count
from hubless.knn.tuning import Setting, cheapest_setting, recall_curve
from hubless.progress import Silent
from hubless.search.engines.embedded import FaissIndex
from hubless.vectors.sources import as_source

DIM, BANK, QUERIES, K, SINGLES, REPEATS = 512, 2000, 1000, 10, 50, 31
RECALL = 0.99
SIDES = ("corrected", "raw", "plain Faiss")
KINDS = ("flat", "fastscan", "ivf_fastscan")
FAISS = {"flat": "Flat", "fastscan": "IVF1,PQ{codes}x4fs,RFlat", "ivf_fastscan": "IVF{lists},PQ{codes}x4fs,RFlat"}
"""What Faiss calls the same, a code for 4 dimensions."""


@dataclass(frozen=True)
class Side:
    """A side to measure: `ask(query, parameters)`, and its settings around the recall."""

    ask: Callable[..., object]
    settings: list[Setting]


def hubless_side(kind, source, bank, offsets, queries, folder):
    """Build an index of vectors with these offsets, tuned to their ranking."""
    ((_, rows),) = rankings(queries, source, K, offsets)
    path = Path(folder) / f"{kind}.{int(offsets.any())}"
    path.mkdir()
    answers = ExactAnswers(queries, rows)
    order = IndexOrder(targets=source, offsets=offsets, bank=bank, answers=answers, aims=Aims(), index=kind)
    built = build_index(order, lambda _: path, Silent())
    strength = float(offsets.any())
    index = cast(FaissIndex, built.targets.first.index)

    def ask(query, parameters):
        # augmenting the query is a part of the cost
        index.approximate(folded_queries(query, strength), K, parameters)

    return Side(ask, around(built.curve))


def faiss_side(name, source, queries):
    """Build Faiss' own index of the raw vectors."""
    count, dim = source.shape
    kind = INDEXES[name]
    index = faiss.index_factory(
        dim, FAISS[name].format(codes=dim // 4, lists=list_count(count)), faiss.METRIC_INNER_PRODUCT
    )
    index.train(source.array[: kind.training_rows(count)])
    index.add(source.array)
    ((scores, _),) = rankings(queries, source, K, np.zeros(count, np.float32))

    def search(queries, k, parameters):
        return kind.search(index, queries, k, parameters)

    curve = recall_curve(search, kind.ladder(count), queries, np.asarray(scores, np.float32), RECALL)
    return Side(lambda query, parameters: search(query, K, parameters), around(curve))


def around(curve):
    """Return the best setting below the recall and the cheapest that reaches it."""
    below = [setting for setting in curve if setting.recall < RECALL]
    return [*sorted(below, key=lambda setting: setting.recall)[-1:], cheapest_setting(curve, Aims(RECALL))]


def mixed(settings):
    """Return a setting for each timed query, so that all together reach the recall."""
    first = settings[0]
    last = settings[-1]
    gained = last.recall - first.recall
    share = min(1.0, (RECALL - first.recall) / gained) if gained else 0.0
    # evenly spread: so many of the dearer by each place
    dearer = np.diff(np.floor(share * np.arange(SINGLES + 1))) > 0
    return [(last if each else first).parameters for each in dearer]


def compare(kind, source, bank, offsets, queries, folder):
    """Return milliseconds a query of each side at the recall."""
    sides = {
        "corrected": hubless_side(kind, source, bank, offsets, queries, folder),
        "raw": hubless_side(kind, source, bank, np.zeros_like(offsets), queries, folder),
        "plain Faiss": faiss_side(kind, source, queries),
    }

    def run(side, parameters):
        for query, given in zip(queries[:SINGLES, np.newaxis], parameters, strict=True):
            side.ask(query, given)

    timed = {name: partial(run, side, mixed(side.settings)) for name, side in sides.items()}
    with openmp_threads(1):
        times = harness.interleaved(timed, REPEATS, thread_time)
    ratios = np.array(times["corrected"]) / np.array(times["raw"])
    return {
        "ms": {name: 1000 * value / SINGLES for name, value in harness.medians(times).items()},
        "ratio": float(np.median(ratios)),
        "settings": {name: side.settings[-1].parameters for name, side in sides.items()},
        "recall": {name: side.settings[-1].recall for name, side in sides.items()},
    }


def table(result):
    most = max(line["targets"] for line in result["lines"])
    yield [
        f"{most:,} targets",
        "corrected ms",
        "raw ms",
        "corrected / raw",
    ]
    for line in (line for line in result["lines"] if line["targets"] == most):
        yield [
            line["kind"],
            *(f"{line['ms'][side]:.3f}" for side in ("corrected", "raw")),
            f"{line['ratio']:.3f}",
        ]


def tables(result):
    return [list(table(result))]


def plot(result, figure):
    """Draw corrected over raw, one bar each."""
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
        source = as_source(targets, "targets")
        bank = as_source(bank_rows, "bank")
        offsets = centre(CORRECTIONS["auto"]().fit(bank, source).offsets(source))
        for kind in KINDS:
            with tempfile.TemporaryDirectory() as folder:
                line = {"kind": kind, "targets": count, **compare(kind, source, bank, offsets, queries, folder)}
            lines.append(line)
            print(kind, count, flush=True)
    harness.write("correction_is_free", {"lines": lines}, plot, tables=tables)


if __name__ == "__main__":
    main()
