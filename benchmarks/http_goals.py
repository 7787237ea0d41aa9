"""A query over HTTP: `python -m benchmarks.http_goals [--part flat 100k 1m] [--catalog DIR]`.

`wrk`, on the same machine, asks for ten hits by JSON with 512 numbers; the best of several runs. `library` is the same
query in process, on one thread; `together` are its batches on all of them. `load` is that of the machine. The index is
what `auto` takes for a recall of 0.99. Goals are what the figures were meant to be.
"""

import argparse
import gc
import operator
import os
import sys
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

import hubless
from benchmarks import harness, opening, wrk
from benchmarks.http_service import PACKAGES, PATH, PAUSE, Side, free_port, hubless_service, in_process, process
from hubless.kernels.threads import cores
from hubless.knn.exhaustive import openmp_threads

DIM, BANK, QUERIES, RECALL_QUERIES = 512, 2000, 500, 200
PARTS = ("flat", "100k", "1m")
RECALL = 0.99
OF_FASTAPI, OF_BATCHES, LONGER_MS, MEDIANS = 1.8, 0.85, 0.25, 3
OF_LIBRARY = {1: 0.75, 2: 1.0}
"""Goals: processor time beside the search over that of an empty route; answers a second of the library's batches,
and of the library by the number of workers; milliseconds more than the library; and a first query over the
median."""
COLUMNS = ("what", "measured", "beside", "×", "goal", "load")


def build(catalog, kind, targets):
    """Return a folder with one collection of a kind, and its name; build it unless it is there."""
    name = f"{kind}-{targets}"
    if not (catalog / name / name).exists():
        rows = harness.low_rank(targets, DIM, 0)
        bank = harness.low_rank(BANK, DIM, 1, harness.LEAN)
        options = {"correction": "csls", "index": kind, "recall": RECALL}
        hubless.build(catalog / name, name, rows, bank, **options, progress=False)
    return catalog / name, name


@contextmanager
def empty(kind):
    """Run a service that does nothing."""
    port = free_port()
    url = f"http://127.0.0.1:{port}{PATH.format('empty')}"
    with process(f"http://127.0.0.1:{port}/docs", ["-m", "benchmarks.empty_service", kind, str(port)]) as pid:
        yield Side(url, pid)


def line(sign, what, measured, beside, of, goal):
    """One goal: what was measured, what it stands beside, and the bound of it."""
    return {"what": what, "measured": measured, "beside": beside, "of": of, "goal": [sign, goal]}


at_most, at_least = partial(line, "≤"), partial(line, "≥")


def is_reached(found):
    """Return if a goal is reached."""
    sign, goal = found["goal"]
    return (operator.le if sign == "≤" else operator.ge)(found["measured"], goal)


class Measuring:
    """Asks servers and the library for the same queries."""

    def __init__(self, catalog, folder, options):
        self.catalog, self.options = catalog, options
        self.rows = harness.low_rank(QUERIES, DIM, 2, harness.LEAN)
        self.bodies = wrk.json_bodies(self.rows)
        self.path = Path(folder) / "queries.npy"
        np.save(self.path, self.rows)

    def served(self, side, connections):
        """The best of several runs: what other work takes away is not the service's."""
        runs = [wrk.load(side, self.bodies, connections, self.options.seconds) for _ in range(self.options.rounds)]
        best = max(runs, key=lambda run: run["rate"])
        return {**best, **{name: min(run[name] for run in runs) for name in ("p50_ms", "cpu_ms")}}

    def library(self, catalog, name, pause=0.0):
        """The library in this process."""
        rounds = range(self.options.rounds)
        runs = [in_process(catalog, name, self.path, self.options.seconds, pause) for _ in rounds]
        best = max(runs, key=lambda run: run["rate"])
        return {**best, **{name: min(run[name] for run in runs) for name in ("p50_ms", "cpu_ms")}}

    def batches(self, catalog, name, size):
        """Queries a second of the library in batches, on all processors."""
        collection = hubless.open(catalog, name)
        best = 0.0
        with openmp_threads(cores()):
            for _ in range(self.options.rounds):
                started = perf_counter()
                count = 0
                while perf_counter() - started < self.options.seconds:
                    first = count % (QUERIES - size)
                    collection.query(self.rows[first : first + size])
                    count += size
                best = max(best, count / (perf_counter() - started))
        return best

    def recall(self, catalog, name):
        """Recall@10 of the collection's own corrected ranking."""
        collection = hubless.open(catalog, name)
        rows = self.rows[:RECALL_QUERIES]
        pairs = zip(collection.query(rows).rows, collection.query(rows, parameters={"exact": True}).rows, strict=True)
        return float(np.mean([len(set(found) & set(best)) / len(best) for found, best in pairs]))

    def described(self, catalog, name, targets):
        """Return a collection's size, kind of index and recall."""
        kind = hubless.open(catalog, name).manifest.index.type
        return f"{targets:,} targets, {kind}, recall {self.recall(catalog, name):.3f}"

    def build_all(self, part):
        """Build what a part needs."""
        medium = self.options.medium
        large = self.options.large
        needed = {"flat": [("flat", self.options.small)], "1m": [("auto", large)]}
        needed["100k"] = [("auto", medium), ("flat", medium)]
        for kind, targets in needed.get(part, ()):
            build(self.catalog, kind, targets)

    def flat(self):
        catalog, name = build(self.catalog, "flat", self.options.small)
        library = self.library(catalog, name)
        empties = {}
        for kind in ("bare", "fastapi"):
            with empty(kind) as side:
                empties[kind] = self.served(side, 8)
        with hubless_service(catalog, name) as side:
            found = self.served(side, 8)
        more = 1e3 * (found["cpu_ms"] - library["cpu_ms"])
        targets = f"{self.options.small:,} targets, flat"
        route = 1e3 * empties["fastapi"]["cpu_ms"]
        goal = OF_FASTAPI * route
        bare = empties["bare"]["rate"]
        return [
            at_most(f"processor µs beside the search, {targets}", more, "empty FastAPI route", route, goal),
            line("", f"answers/s, 8 conn., {targets}", found["rate"], "empty uvicorn", bare, None),
        ]

    def hundred_thousand(self):
        catalog, name = build(self.catalog, "auto", self.options.medium)
        about = self.described(catalog, name, self.options.medium)
        library = self.library(catalog, name)
        with_pauses = self.library(catalog, name, PAUSE)
        lines = []
        for workers, share in OF_LIBRARY.items():
            with hubless_service(catalog, name, workers=workers) as side:
                rate = self.served(side, 8)["rate"]
                if workers == 1:
                    alone = self.served(side, 1)["p50_ms"]
            what = f"answers/s, 8 conn., {workers} worker{'s' * (workers > 1)}, {about}"
            lines.append(at_least(what, rate, "library", library["rate"], share * library["rate"]))
        lines.append(self.latency(about, alone, with_pauses["p50_ms"]))
        catalog, name = build(self.catalog, "flat", self.options.medium)
        library = self.library(catalog, name)["rate"]
        with hubless_service(catalog, name) as side:
            rate = self.served(side, 32)["rate"]
        return [*lines, line("", f"answers/s, 32 conn., {self.options.medium:,}, flat", rate, "library", library, None)]

    def latency(self, about, found, library):
        return at_most(f"p50 ms, 1 conn., {about}", found, "library", library, library + LONGER_MS)

    def million(self):
        catalog, name = build(self.catalog, "auto", self.options.large)
        targets = f"{self.options.large:,}"
        about = self.described(catalog, name, self.options.large)
        with_pauses = self.library(catalog, name, PAUSE)
        with hubless_service(catalog, name) as side:
            rates = {connections: self.served(side, connections)["rate"] for connections in (8, 32)}
            alone = self.served(side, 1)["p50_ms"]
        lines = []
        for count, rate in rates.items():
            library = self.batches(catalog, name, count)
            what = f"answers/s, {count} conn., {about}"
            lines.append(at_least(what, rate, f"{count} together", library, OF_BATCHES * library))
        lines.append(self.latency(about, alone, with_pauses["p50_ms"]))
        gc.collect()  # what is mapped here would stay in memory
        for warmed in (False, True):
            runs = [opening.alone(catalog, name, self.rows, cached=False, warmed=warmed) for _ in range(2)]
            seconds = min((seconds for _, seconds in runs), key=lambda each: each[0])
            usual = 1e3 * float(np.median(seconds[len(seconds) // 2 :]))
            what = f"first query's ms, files not in memory, {'warmed' if warmed else 'not warmed'}, {targets}"
            lines.append(at_most(what, 1e3 * seconds[0], "median", usual, MEDIANS * usual))
        return lines

    def measure(self, part):
        measures = (self.flat, self.hundred_thousand, self.million)
        return dict(zip(PARTS, measures, strict=True))[part]()


def tables(result):
    return [[COLUMNS, *(row(*each) for each in _lines(result))]]


def row(found, load):
    sign, goal = found["goal"]
    return [
        found["what"].replace(" targets", ""),
        _figure(found["measured"]),
        f"{found['beside']}: {_figure(found['of'])}",
        f"{found['measured'] / found['of']:.2f}",
        "" if goal is None else f"{sign} {_figure(goal)}{'' if is_reached(found) else ', missed'}",
        f"{load:.0f}",
    ]


def by_two_workers(result):
    """Return how many times as many answers two workers give as one."""
    one, two, *_ = result["parts"]["100k"]["lines"]
    return f"{two['measured'] / one['measured']:.1f}"


def _lines(result):
    """Return each line with the load of the machine after its part."""
    return [(each, measured["load"]) for measured in result["parts"].values() for each in measured["lines"]]


def _figure(value):
    return f"{value:,.0f}" if abs(value) >= 20 else f"{value:.2f}"


def plot(result, figure):
    """Draw for each goal what was measured beside what it stands beside."""
    axes = figure.subplots()
    lines = [each for each, _ in _lines(result)]
    axes.barh([each["what"] for each in lines], [each["measured"] / each["of"] for each in lines])
    axes.tick_params(axis="y", labelsize=6)
    axes.invert_yaxis()
    axes.set(xlabel="measured / beside")


def add_sizes(parser):
    """Add what says where the collections are, how large they are, and how long they are asked."""
    parser.add_argument("--catalog", type=Path, help="where the collections are, or are to be built")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--small", type=int, default=1000, metavar="TARGETS")
    parser.add_argument("--medium", type=int, default=100_000, metavar="TARGETS")
    parser.add_argument("--large", type=int, default=1_000_000, metavar="TARGETS")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--build", action="store_true", help="only build what the parts need")
    add_sizes(parser)
    options = parser.parse_args()
    if not wrk.is_installed():
        sys.exit("wrk is not installed: apt-get install wrk")
    with tempfile.TemporaryDirectory() as temporary:
        measuring = Measuring(options.catalog or Path(temporary) / "catalog", temporary, options)
        parts = harness.earlier("http_goals", "parts")
        for part in options.part:
            if options.build:
                measuring.build_all(part)
                continue
            lines = measuring.measure(part)
            parts[part] = {"load": os.getloadavg()[0], "rounds": options.rounds, "lines": lines}
        if options.build:
            return
        parts = {part: parts[part] for part in PARTS if part in parts}
    harness.write("http_goals", {"parts": parts}, plot, PACKAGES, tables)


if __name__ == "__main__":
    main()
