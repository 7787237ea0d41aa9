"""What a query costs over HTTP, by a load generator that costs little: `python -m benchmarks.http_goals ROW ...`.

The load is `wrk`'s, JSON with 512 numbers, ten hits, no payload; `peak` in the rows is what the library does in the
same run. Where the machine has other work, trust the ratios.

- `beside`: processor time of an answer beside that of its search, and beside an empty route of FastAPI.
- `small`: 1,000 targets, flat, one worker. `graph`: 100,000 targets, fastscan, by workers.
- `shared`: 100,000 targets, flat, 32 connections. `million`: 1,000,000 targets, fastscan, 8 and 32 connections.
"""

import argparse
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import faiss
import numpy as np

import hubless
from benchmarks import harness, wrk
from benchmarks.http_service import PACKAGES, PATH, PAUSE, Side, free_port, hubless_service, in_process, process

DIM, BANK, QUERIES = 512, 2000, 500
COLLECTIONS = {
    "small": (1000, "flat"),
    "graph": (100_000, "fastscan"),
    "shared": (100_000, "flat"),
    "million": (1_000_000, "fastscan"),
}
ROWS = ("beside", *COLLECTIONS)


def build(catalog, name):
    targets, kind = COLLECTIONS[name]
    if not (catalog / name).exists():
        rows, bank = harness.low_rank(targets, DIM, 0), harness.low_rank(BANK, DIM, 1, harness.LEAN)
        hubless.build(catalog, name, rows, bank, correction="csls", index=kind, progress=False)


@contextmanager
def empty(kind):
    """Run a service that does nothing."""
    port = free_port()
    url = f"http://127.0.0.1:{port}{PATH.format('empty')}"
    with process(f"http://127.0.0.1:{port}/docs", ["-m", "benchmarks.empty_service", kind, str(port)]) as pid:
        yield Side(url, pid)


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
        return max(runs, key=lambda run: run["rate"])

    def library(self, name, pause=0.0):
        runs = [
            in_process(self.catalog, name, self.path, self.options.seconds, pause) for _ in range(self.options.rounds)
        ]
        return max(runs, key=lambda run: run["rate"])

    def batches(self, name, size):
        """Queries a second of the library in batches, on all processors."""
        collection, best = hubless.open(self.catalog, name), 0.0
        faiss.omp_set_num_threads(len(self.rows) and faiss.omp_get_num_procs())
        for _ in range(self.options.rounds):
            started, count = perf_counter(), 0
            while perf_counter() - started < self.options.seconds:
                first = count % (QUERIES - size)
                collection.query(self.rows[first : first + size])
                count += size
            best = max(best, count / (perf_counter() - started))
        faiss.omp_set_num_threads(1)
        return {"rate": best}

    def beside(self):
        build(self.catalog, "small")
        found = {"library": self.library("small")}
        for kind in ("bare", "fastapi"):
            with empty(kind) as side:
                found[f"empty {kind}, 8 connections"] = self.served(side, 8)
        with hubless_service(self.catalog, "small") as side:
            found["hubless, 1 connection"] = self.served(side, 1)
            found["hubless, 8 connections"] = self.served(side, 8)
        return found

    def by_workers(self, name, connections, workers=(1, 2)):
        build(self.catalog, name)
        found = {"library": self.library(name), "library, with pauses": self.library(name, PAUSE)}
        for count in workers:
            with hubless_service(self.catalog, name, workers=count) as side:
                for each in connections:
                    found[f"{count} workers, {each} connections"] = self.served(side, each)
        return found

    def measure(self, row):
        if row == "beside":
            return self.beside()
        if row == "small":
            return self.by_workers(row, (1, 8), (1,))
        if row == "graph":
            return self.by_workers(row, (1, 8))
        if row == "shared":
            return self.by_workers(row, (32,))
        found = self.by_workers(row, (1, 8, 32), (1,))
        return {**found, **{f"library, batches of {size}": self.batches(row, size) for size in (8, 32)}}


def tables(result):
    columns = ["row", "side", "answers/s", "p50 ms", "processor ms"]
    lines = [columns]
    for row, sides in result["measured"].items():
        for side, run in sides.items():
            figures = (run.get(name) for name in ("p50_ms", "cpu_ms"))
            lines.append([row, side, f"{run['rate']:,.0f}", *("" if one is None else f"{one:.3f}" for one in figures)])
    return [lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}; all but million if none")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--catalog", type=Path, help="where the collections are, or are to be built")
    options = parser.parse_args()
    if unknown := set(options.rows) - set(ROWS):
        parser.error(f"no row {', '.join(sorted(unknown))}: there are {', '.join(ROWS)}")
    if not wrk.is_installed():
        sys.exit("wrk is not installed: apt-get install wrk")
    with tempfile.TemporaryDirectory() as temporary:
        measuring = Measuring(options.catalog or Path(temporary) / "catalog", temporary, options)
        measured = {row: measuring.measure(row) for row in options.rows or ROWS[:-1]}
    harness.write("http_goals", {"measured": measured}, None, PACKAGES, tables)


if __name__ == "__main__":
    main()
