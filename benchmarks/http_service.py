"""The cost of HTTP, and the gain of searching together: `python -m benchmarks.http_service [--targets 100000]`.

Server and load generator share a machine.

- One connection: HTTP beside the library in process, asked without pauses, and as seldom as over HTTP (a core that
  sleeps has to fill its caches again).
- 8 connections: this service beside a plain FastAPI endpoint over the same index (`plain`).
- 32 connections: requests searched together beside one by one (`apart`).
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import NamedTuple

import faiss
import httpx
import numpy as np

import hubless
from benchmarks import harness

DIM, RANK, BANK, QUERIES = 512, 64, 2000, 500
PAUSE = 0.0004
"""Seconds that a request and its answer are on their way, in which the library has nothing to do."""
PACKAGES = (*harness.PACKAGES, "fastapi", "uvicorn")
PATH = "/v1/collections/{}/query"


def vectors(rows, seed, lean=0.0):
    """Return low-rank vectors. With `lean` all lean one way, which makes hubs of the targets there."""
    basis = np.random.default_rng(0).normal(size=(RANK, DIM)).astype(np.float32)
    weights = np.random.default_rng(seed).normal(size=(rows, RANK)).astype(np.float32)
    weights[:, 0] += lean
    noise = np.random.default_rng(seed + 1).normal(size=(rows, DIM)).astype(np.float32)
    return weights @ basis + noise


def build(catalog, targets, kind):
    """Build a collection over an index of this kind, named after it."""
    bank = vectors(BANK, 2, lean=2)
    rows = vectors(targets, 4)
    hubless.build(catalog, kind, rows, bank, correction="csls", index=kind, progress=False)


class Side(NamedTuple):
    """A running server."""

    url: str
    pid: int


@contextmanager
def process(url, command, **settings):
    """Run a server until the block ends, at a known address; its log goes to a file, as that of a service does."""
    environment = {**os.environ, **{f"HUBLESS_{name.upper()}": str(value) for name, value in settings.items()}}
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen([sys.executable, *command], env=environment, stdout=log, stderr=log)
        try:
            with httpx.Client() as client:  # making one takes longer than asking
                while True:
                    if server.poll() is not None:
                        log.seek(0)
                        raise SystemExit(f"the server did not start: {log.read().decode()}")
                    try:
                        if client.get(url).status_code == 200:
                            break
                    except httpx.TransportError:
                        pass
                    sleep(0.02)
            yield server.pid
        finally:
            server.terminate()
            server.wait(30)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@contextmanager
def hubless_service(catalog, kind, *, apart=False, **settings):
    """Run this service with one search thread a processor; give the address of its queries."""
    port = free_port()
    start = "from hubless_service.settings import Settings; Settings.max_together = 1; " if apart else ""
    start += "import typer; from hubless_service.command import serve; typer.run(serve)"
    command = ["-c", start, "--catalog", str(catalog), "--port", str(port)]
    base = f"http://127.0.0.1:{port}"
    with process(f"{base}/readyz", command, grace_seconds=0, **settings) as pid:
        yield Side(base + PATH.format(kind), pid)


@contextmanager
def plain_service(catalog, kind):
    """Run the plain way; give the address of its queries."""
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    with process(f"{base}/openapi.json", ["-m", "benchmarks.plain_service", str(catalog), kind, str(port)]) as pid:
        yield Side(f"{base}/query", pid)


def load(side, queries, connections, seconds, *more):
    """Measure from a process of its own. `cpu_ms` is the server's processor time for each answer."""
    options = ["--connections", str(connections), "--seconds", str(seconds), *more]
    command = [sys.executable, "-m", "benchmarks.load", side.url, str(queries), *options]
    before = processor_seconds(side.pid)
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(ended.stdout)
    return {**found, "cpu_ms": 1e3 * (processor_seconds(side.pid) - before) / found["answers"]}


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def in_process(catalog, kind, queries, seconds, pause=0.0):
    """Return latencies of the library: one query at a time with a pause between, one OpenMP thread."""
    faiss.omp_set_num_threads(1)
    collection = hubless.open(catalog, kind)
    rows = np.load(queries)
    taken = []
    end = perf_counter() + seconds
    i = 0
    before = process_time()
    while (started := perf_counter()) < end:
        collection.query(rows[i % len(rows)])
        taken.append(perf_counter() - started)
        i += 1
        if pause:
            sleep(pause)
    cpu_ms = 1e3 * (process_time() - before) / len(taken)
    return {"p50_ms": 1e3 * float(np.median(taken)), "rate": len(taken) / seconds, "cpu_ms": cpu_ms}


def in_turn(rounds, **sides):
    """Measure the sides in turn, several times. Return the median run of each by its rate."""
    runs = {name: [] for name in sides}
    for _ in range(rounds):
        for name, measure in sides.items():
            runs[name].append(measure())
    return {name: sorted(several, key=lambda run: run["rate"])[rounds // 2] for name, several in runs.items()}


def compare(catalog, kind, queries, options):
    """Measure one kind of index."""
    found = {}
    with hubless_service(catalog, kind) as url, plain_service(catalog, kind) as plain:
        found["one connection"] = in_turn(
            options.rounds,
            library=lambda: in_process(catalog, kind, queries, options.seconds),
            **{"library, with pauses": lambda: in_process(catalog, kind, queries, options.seconds, PAUSE)},
            json=lambda: load(url, queries, 1, options.seconds),
            binary=lambda: load(url, queries, 1, options.seconds, "--binary"),
        )
        found["8 connections"] = in_turn(
            options.rounds,
            plain=lambda: load(plain, queries, 8, options.seconds),
            json=lambda: load(url, queries, 8, options.seconds),
            binary=lambda: load(url, queries, 8, options.seconds, "--binary"),
        )
    if kind == "flat":
        with hubless_service(catalog, kind) as together, hubless_service(catalog, kind, apart=True) as apart:
            found["32 connections"] = in_turn(
                options.rounds,
                apart=lambda: load(apart, queries, 32, options.seconds),
                together=lambda: load(together, queries, 32, options.seconds),
            )
    return found


def lines(result):
    for kind, cases in result["measured"].items():
        for case, sides in cases.items():
            for side, run in sides.items():
                yield kind, case, side, run


def tables(result):
    columns = [f"{result['targets']:,} × {DIM}", "side", "answers/s", "p50 ms", "processor ms"]
    figures = (
        [f"{kind}, {case}", side, f"{run['rate']:,.0f}", f"{run['p50_ms']:.2f}", f"{run['cpu_ms']:.3f}"]
        for kind, case, side, run in lines(result)
    )
    return [[columns, *figures]]


def plot(result, figure):
    """Draw answers a second of every side."""
    axes = figure.subplots()
    bars = {f"{kind}, {case}: {side}": run["rate"] for kind, case, side, run in lines(result)}
    axes.barh(list(bars), list(bars.values()))
    axes.invert_yaxis()
    axes.tick_params(axis="y", labelsize=6)
    axes.set_xlabel("answers a second")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=100_000)
    parser.add_argument("--indexes", nargs="+", default=["flat", "fastscan"])
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--catalog", type=Path, help="where the collections are, or are to be built")
    options = parser.parse_args()
    measured = {}
    with tempfile.TemporaryDirectory() as temporary:
        catalog = options.catalog or Path(temporary) / "catalog"
        queries = Path(temporary) / "queries.npy"
        np.save(queries, vectors(QUERIES, 6, lean=2))
        for kind in options.indexes:
            if not (catalog / kind).exists():
                build(catalog, options.targets, kind)
            measured[kind] = compare(catalog, kind, queries, options)
            print(kind, flush=True)
    result = {"targets": options.targets, "measured": measured}
    harness.write("http_service", result, plot, PACKAGES, tables)


if __name__ == "__main__":
    main()
