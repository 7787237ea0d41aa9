"""A query over HTTP: `python -m benchmarks.http_goals [--part flat 100k 1m] [--catalog DIR]`.

`wrk` asks on this machine for ten hits by JSON of 512 numbers. `own µs` is an answer's time without the
library's query; empty routes and `twenty lines` (`benchmarks/bare_service.py`) take turns with it; `together` are the
library's batches on all threads. `auto` took indexes, recall 0.99.
"""

import argparse
import gc
import operator
import shutil
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter

import httpx
import numpy as np
import orjson

import hubless
from benchmarks import harness, opening, wrk
from benchmarks.http_service import PACKAGES, PATH, PAUSE, Side, free_port, hubless_service, in_process, process
from hubless.kernels.threads import cores
from hubless.knn.exhaustive import openmp_threads

DIM, BANK, QUERIES, RECALL_QUERIES, FIRST = 512, 2000, 500, 200, 200
PARTS = ("flat", "100k", "1m")
RECALL = 0.99
OF_FASTAPI, OF_BATCHES, LONGER_MS, MEDIANS = {8: 1.15, 1: 1.6}, 0.85, 0.15, 3
OF_ONE, RERANK_US = 1.5, 300
"""Goals: own processor time over that of an empty route, by the number of connections; answers a second of the
library's batches; milliseconds more than the library; a first query over the median; answers a second of two workers
over one; and microseconds to correct and fuse three lists."""
CATEGORIES, LISTS, LISTED = 10, 3, 50
FILTER = {"field": "category", "eq": 3}
RERANK, PUT = f"rerank {LISTS} × {LISTED}", "PUT of one point"
COLUMNS = ("what", "measured", "beside", "×", "goal", "load/others")


def build(catalog, kind, targets):
    """Return a folder with one collection of a kind, and its name; build it unless it is there."""
    name = f"{kind}-{targets}"
    if not (catalog / name / name).exists():
        rows = harness.low_rank(targets, DIM, 0)
        bank = harness.low_rank(BANK, DIM, 1, harness.LEAN)
        payload = [{"category": row % CATEGORIES} for row in range(targets)] if kind == "flat" else None
        options = {"correction": "csls", "index": kind, "recall": RECALL, "payload": payload}
        hubless.build(catalog / name, name, rows, bank, **options, progress=False)
    return catalog / name, name


@contextmanager
def empty(kind):
    """Run a service that does nothing."""
    port = free_port()
    url = f"http://127.0.0.1:{port}{PATH.format('empty')}"
    with process(f"http://127.0.0.1:{port}/docs", ["-m", "benchmarks.empty_service", kind, str(port)]) as pid:
        yield Side(url, pid)


@contextmanager
def twenty_lines(catalog, name):
    """Run a service that only answers."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    with process(url, ["-m", "benchmarks.bare_service", str(catalog), name, str(port)]) as pid:
        yield Side(url, pid)


def with_corrections(side):
    """Learn corrections of lists, and give the address that corrects and fuses."""
    base = side.url.partition("/v1/")[0]
    rng = np.random.default_rng(0)
    lists = [random_list(rng) for _ in range(100)]
    for number in range(LISTS):
        httpx.put(f"{base}/v1/scores/list{number}", json={"lists": lists}).raise_for_status()
    return side._replace(url=f"{base}/v1/rerank")


def random_list(rng):
    return {"ids": rng.permutation(4 * LISTED)[:LISTED].tolist(), "scores": np.sort(rng.random(LISTED))[::-1].tolist()}


def line(sign, what, measured, beside, of, goal):
    """One goal: what was measured, what it stands beside, and the bound of it."""
    return {"what": what, "measured": measured, "beside": beside, "of": of, "goal": [sign, goal]}


at_most, at_least = partial(line, "≤"), partial(line, "≥")
aside = partial(line, "", goal=None)


def request_of(what, connections, run):
    """Processor time of a request, which has no goal of its own."""
    return {"request": what, "connections": connections, "us": 1e3 * run["cpu_ms"]}


def is_reached(found):
    """Return if a goal is reached."""
    sign, goal = found["goal"]
    return (operator.le if sign == "≤" else operator.ge)(found["measured"], goal)


def of_one(about, one, two):
    """Answers a second of two workers; and the bound of it, as `wrk` takes a part of two processors."""
    rate, alone = two["rate"], one["rate"]
    yield at_least(f"answers/s, 8 conn., two workers, {about}", rate, "one worker", alone, OF_ONE * alone)
    server, client = one["cpu_ms"], one["wrk_ms"]
    bound = 2 * max(server, client) / (server + client)
    yield aside(f"two workers over one, {about}", rate / alone, f"bound, with wrk's {1e3 * client:.0f} µs", bound)


def rates(runs):
    return [run["rate"] for run in runs]


class Measuring:
    """Asks servers and the library for the same queries."""

    def __init__(self, catalog, folder, options):
        self.catalog, self.options = catalog, options
        self.rows = harness.low_rank(QUERIES, DIM, 2, harness.LEAN)
        self.bodies = wrk.json_bodies(self.rows)
        self.folder = Path(folder)
        self.path = self.folder / "queries.npy"
        np.save(self.path, self.rows)
        self.loads = []

    def undisturbed(self, run, rates=rates):
        """Several runs that nothing disturbs, or the least disturbed."""
        found, load = harness.undisturbed(
            lambda: [run() for _ in range(self.options.rounds)], rates, self.options.tries
        )
        self.loads.append(load)
        return found

    def best(self, run):
        """The best of several runs: what other work takes away is not the service's."""
        runs = self.undisturbed(run)
        best = max(runs, key=lambda each: each["rate"])
        return {
            **best,
            **{name: min(each[name] for each in runs) for name in ("p50_ms", "cpu_ms", "wrk_ms") if name in best},
        }

    def served(self, side, connections, bodies=None, **how):
        return self.best(lambda: wrk.load(side, bodies or self.bodies, connections, self.options.seconds, **how))

    def in_turn(self, sides, connections):
        """Runs of servers that take turns, so that what slows one slows all: those of the round of the median ratio."""

        def run():
            return [wrk.load(side, self.bodies, connections, self.options.seconds) for side in sides]

        def over_route(found):
            *_, route, ours = found
            return ours["cpu_ms"] / route["cpu_ms"]

        runs = self.undisturbed(run, lambda runs: [*map(over_route, runs)])
        return sorted(runs, key=over_route)[len(runs) // 2]

    def library(self, catalog, name, pause=0.0):
        """The library in this process."""
        return self.best(lambda: in_process(catalog, name, self.path, self.options.seconds, pause))

    def batches(self, catalog, name, size):
        """Queries a second of the library in batches, on all processors."""
        collection = hubless.open(catalog, name)

        def run():
            started = perf_counter()
            count = 0
            while perf_counter() - started < self.options.seconds:
                first = count % (QUERIES - size)
                collection.query(self.rows[first : first + size])
                count += size
            return {"rate": count / (perf_counter() - started)}

        with openmp_threads(cores()):
            return max(rates(self.undisturbed(run)))

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
        about = f"{self.options.small:,} targets, flat"
        library = self.library(catalog, name)
        route = {}
        for count, share in OF_FASTAPI.items():
            where = f"{count} conn., {about}"
            with ExitStack() as stack:
                services = twenty_lines(catalog, name), empty("bare"), empty("fastapi"), self.alone(catalog, name)
                lines, bare, route[count], found = self.in_turn([*map(stack.enter_context, services)], count)
            yield request_of("empty, uvicorn", count, bare)
            yield request_of("empty, FastAPI", count, route[count])
            yield request_of("query, twenty lines", count, lines)
            yield request_of("query", count, found)
            own, beside = (1e3 * each for each in (found["cpu_ms"] - library["cpu_ms"], route[count]["cpu_ms"]))
            yield at_most(f"own µs, {where}", own, "empty route", beside, share * beside)
            if count == 1:
                yield self.latency(about, found["p50_ms"], self.library(catalog, name, PAUSE)["p50_ms"])
            else:
                with hubless_service(catalog, name, workers=2) as side:
                    yield from of_one(about, found, self.served(side, count))
        yield from self.other_requests(catalog, name, about, 1e3 * route[1]["cpu_ms"])

    def alone(self, catalog, name):
        return hubless_service(catalog, name, workers=1, merge_at=0)

    def other_requests(self, catalog, name, about, route):
        """Other requests than a query of a vector, to a copy of the collection."""
        rng = np.random.default_rng(1)

        def lists():
            return [{**random_list(rng), "correction": f"list{number}"} for number in range(LISTS)]

        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            copied = shutil.copytree(catalog, Path(folder) / "catalog")
            with self.alone(copied, name) as side:
                points = side._replace(url=side.url.removesuffix("query") + "points")
                stored = [{"points": [{"id": row, "vector": each.tolist()}]} for row, each in enumerate(self.rows)]
                requests = {
                    "query with payload": (side, wrk.json_bodies(self.rows, **{"with": ["payload"]})),
                    "query with filter": (side, wrk.json_bodies(self.rows, filter=FILTER)),
                    RERANK: (with_corrections(side), [orjson.dumps({"lists": lists()}) for _ in self.rows]),
                    PUT: (points, [orjson.dumps(each) for each in stored]),
                }
                for what, (at, bodies) in requests.items():
                    for count in OF_FASTAPI:
                        found = self.served(at, count, bodies, method="PUT" if what == PUT else "POST")
                        assert not found["refused"], what
                        yield request_of(what, count, found)
                        if (what, count) == (RERANK, 1):
                            us = 1e3 * found["cpu_ms"]
                            yield at_most(f"µs, {what}, 1 conn.", us, "empty route", route, RERANK_US)

    def hundred_thousand(self):
        catalog, name = build(self.catalog, "auto", self.options.medium)
        about = self.described(catalog, name, self.options.medium)
        library = self.library(catalog, name)
        with_pauses = self.library(catalog, name, PAUSE)
        with hubless_service(catalog, name, workers=1) as side:
            one = self.served(side, 8)
            alone = self.served(side, 1)["p50_ms"]
        with hubless_service(catalog, name, workers=2) as side:
            two = self.served(side, 8)
        yield aside(f"answers/s, 8 conn., one worker, {about}", one["rate"], "library", library["rate"])
        about = f"{self.options.medium:,}"
        yield from of_one(about, one, two)
        yield self.latency(about, alone, with_pauses["p50_ms"])
        catalog, name = build(self.catalog, "flat", self.options.medium)
        library = self.library(catalog, name)["rate"]
        with hubless_service(catalog, name) as side:
            rate = self.served(side, 32)["rate"]
        yield aside(f"answers/s, 32 conn., {self.options.medium:,}, flat", rate, "library", library)

    def latency(self, about, found, library):
        return at_most(f"p50 ms, 1 conn., {about}", found, "library", library, library + LONGER_MS)

    def million(self):
        catalog, name = build(self.catalog, "auto", self.options.large)
        targets = f"{self.options.large:,}"
        about = self.described(catalog, name, self.options.large)
        with_pauses = self.library(catalog, name, PAUSE)
        with hubless_service(catalog, name) as side:
            found = {connections: self.served(side, connections)["rate"] for connections in (8, 32)}
            alone = self.served(side, 1)["p50_ms"]
        for count, rate in found.items():
            library = self.batches(catalog, name, count)
            what = f"answers/s, {count} conn., {about}"
            about = targets
            yield at_least(what, rate, f"{count} together", library, OF_BATCHES * library)
        yield self.latency(about, alone, with_pauses["p50_ms"])
        gc.collect()  # what is mapped here would stay in memory
        lines = {
            "after the start of the service": (at_most, partial(self.after_start, catalog, name)),
            "of the library, not warmed": (aside, partial(self.not_warmed, catalog, name)),
        }
        for what, (made, ask) in lines.items():
            seconds = min(self.undisturbed(ask, rates=lambda found: ()), key=lambda each: each[0])
            usual = 1e3 * float(np.median(seconds[len(seconds) // 2 :]))
            goal = {"goal": MEDIANS * usual} if made is at_most else {}
            yield made(f"first query's ms {what}, {targets}", 1e3 * seconds[0], "median", usual, **goal)

    def after_start(self, catalog, name):
        """Seconds of the first queries, of a service that starts when no file is in memory."""
        harness.read_or_forget(catalog, cached=False)
        seconds = []
        with hubless_service(catalog, name) as side, httpx.Client(timeout=60) as client:
            for body in self.bodies[:FIRST]:
                started = perf_counter()
                client.post(side.url, content=body, headers={"content-type": wrk.JSON}).raise_for_status()
                seconds.append(perf_counter() - started)
        return seconds

    def not_warmed(self, catalog, name):
        """The same of the library, which reads nothing beforehand here."""
        return opening.alone(catalog, name, self.rows[:FIRST], cached=False, warmed=False)[1]

    def measure(self, part):
        """Yield the lines of a part, each with the worst load since the line before."""
        measures = (self.flat, self.hundred_thousand, self.million)
        for found in dict(zip(PARTS, measures, strict=True))[part]():
            if self.loads:
                load = {name: max(each[name] for each in self.loads) for name in harness.BOUNDS}
                self.loads.clear()
            print({**found, "load": load}, flush=True)
            yield {**found, "load": load}


def tables(result):
    goals = [COLUMNS, *(row(each, load) for each, load in _lines(result) if each["goal"][1] is not None)]
    requests = {}
    for measured in result["parts"].values():
        for each in measured["lines"]:
            if "request" in each:
                requests.setdefault(each["request"], []).append(_figure(each["us"]))
    columns = ("processor µs", *(f"{count} conn." for count in OF_FASTAPI))
    return [goals, [columns, *([what, *cells] for what, cells in requests.items())]] if requests else [goals]


def row(found, load):
    sign, goal = found["goal"]
    return [
        found["what"].replace(" targets", ""),
        _figure(found["measured"]),
        f"{found['beside']}: {_figure(found['of'])}",
        f"{found['measured'] / found['of']:.2f}",
        f"{sign} {_figure(goal)}{'' if is_reached(found) else ', missed'}",
        harness.shown_load(load),
    ]


def by_two_workers(result):
    """Return how many times as many answers two workers give as one."""
    one, two, *_ = result["parts"]["100k"]["lines"]
    return f"{two['measured'] / one['measured']:.1f}"


def _lines(result):
    """Return each line of a goal with the load of the machine during it, or in an earlier benchmark after its part."""
    return [
        (each, each.get("load", measured.get("load")))
        for measured in result["parts"].values()
        for each in measured["lines"]
        if "goal" in each
    ]


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
    parser.add_argument("--tries", type=int, default=harness.TRIES, help="how often to measure what was disturbed")
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
            parts[part] = {"rounds": options.rounds, "lines": list(measuring.measure(part))}
        if options.build:
            return
        parts = {part: parts[part] for part in PARTS if part in parts}
    harness.write("http_goals", {"parts": parts}, plot, PACKAGES, tables)


if __name__ == "__main__":
    main()
