"""Writes over HTTP beside bare SQLite that syncs as often: `python -m benchmarks.writes`.

Each request writes one target into a collection of 20,000 × 512, and waits for the disk. The merge is of 10,000.
"""

import argparse
import sqlite3
import tempfile
import threading
from pathlib import Path
from statistics import median
from time import perf_counter

import httpx
import numpy as np

import hubless
from benchmarks import harness
from benchmarks.harness import with_hubs
from benchmarks.http_service import hubless_service
from hubless_service.maintaining.work import is_running

NAME = "written"


def sqlite_alone(folder, body, seconds):
    """Commits a second of rows as large as a write, each synced."""
    connection = sqlite3.connect(Path(folder) / "alone.sqlite", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE writes (body BLOB)")
    count = 0
    started = perf_counter()
    while perf_counter() - started < seconds:
        connection.execute("INSERT INTO writes VALUES (?)", [body])
        count += 1
    connection.close()
    return count / seconds


def puts(url, vectors, writers, points, seconds):
    """Targets a second that so many connections store, so many a request."""
    done = [0] * writers
    end = perf_counter() + seconds

    def write(writer):
        number = 0
        with httpx.Client(timeout=60) as client:
            while perf_counter() < end:
                sent = [
                    {"id": f"{writers}-{writer}-{number + i}", "vector": vectors[(number + i) % len(vectors)].tolist()}
                    for i in range(points)
                ]
                client.put(f"{url}/points", json={"points": sent}).raise_for_status()
                number += points
                done[writer] += points

    threads = [threading.Thread(target=write, args=[writer]) for writer in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / seconds


def query_ms(url, queries):
    """Median milliseconds of a query over one connection."""
    with httpx.Client(timeout=60) as client:
        return median(asked(client, url, query) for query in queries)


def while_merging(folder, queries):
    """Latencies of queries before, during and after a merge by the service."""
    home = Path(folder) / NAME
    with hubless_service(folder, NAME, merge_at=1000) as side:
        # the first look for what is due comes as the service starts, so this begins with the merge
        url = side.url.removesuffix("/query")
        version = hubless.Catalog(folder).current(NAME)
        during = []
        started = perf_counter()
        with httpx.Client(timeout=60) as client:
            while is_running(home) or hubless.Catalog(folder).current(NAME) == version:
                during.append(asked(client, url, queries[len(during) % len(queries)]))
            seconds = perf_counter() - started
            while added(url):
                pass
            after = [asked(client, url, queries[n % len(queries)]) for n in range(len(during))]
    with hubless_service(folder, NAME, merge_at=0) as side, httpx.Client(timeout=60) as client:
        hubless.Catalog(folder).rollback(NAME)
        while not added(url := side.url.removesuffix("/query")):
            pass
        before = [asked(client, url, queries[n % len(queries)]) for n in range(len(during))]
    p99 = np.percentile(before, 99)
    rows = [("queries", "p50, ms", "p99, ms", "of before")]
    for name, times in (("before the merge", before), (f"during it, {seconds:.1f} s", during), ("after it", after)):
        low, high = np.percentile(times, [50, 99])
        rows.append((name, f"{low:.2f}", f"{high:.2f}", f"{high / p99:.2f}"))
    return rows


def asked(client, url, query):
    """Milliseconds of a query."""
    started = perf_counter()
    headers = {"content-type": "application/octet-stream"}
    client.post(f"{url}/query", content=query.tobytes(), headers=headers).raise_for_status()
    return 1000 * (perf_counter() - started)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, default=20_000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=3)
    given = parser.parse_args(arguments)
    targets, bank, queries = with_hubs(given.targets, 2000, 400, given.dim)
    vectors = with_hubs(10_000, 10, 10, given.dim, seed=3)[0]
    with tempfile.TemporaryDirectory() as folder:
        ids = [f"t{row}" for row in range(given.targets)]
        hubless.build(folder, NAME, targets, bank, ids=ids, index="fastscan", progress=False)
        alone = sqlite_alone(folder, bytes(4 * given.dim + 600), given.seconds)
        rows = [("writes", "a second", "of SQLite alone"), ("SQLite alone, one row a commit", f"{alone:,.0f}", "1")]
        with hubless_service(folder, NAME, merge_at=0) as side:
            url = side.url.removesuffix("/query")
            before = query_ms(url, queries)
            cost = [("targets beside the index", "query, ms", "of none"), ("0", f"{before:.2f}", "1")]
            for writers, points in ((1, 1), (8, 1)):
                found = puts(url, vectors, writers, points, given.seconds)
                rows.append(
                    (f"{writers} connection{'s' if writers > 1 else ''}", f"{found:,.0f}", f"{found / alone:.2f}")
                )
            for wanted in (1000, 10_000):
                while (stored := added(url)) < wanted:
                    count = min(500, wanted - stored)
                    sent = [
                        {"id": f"more-{stored + i}", "vector": vectors[(stored + i) % 10_000].tolist()}
                        for i in range(count)
                    ]
                    put = httpx.put(f"{url}/points", json={"points": sent}, timeout=60)
                    put.raise_for_status()
                after = query_ms(url, queries)
                cost.append((f"{added(url):,}", f"{after:.2f}", f"{after / before:.2f}"))
            found = puts(url, np.asarray(vectors), 8, 1, given.seconds)
            rows.append(("8 connections, 10,000 beside the index", f"{found:,.0f}", f"{found / alone:.2f}"))
        merged = while_merging(folder, queries)
    harness.write("writes", {"tables": [rows, cost, merged]}, plot, tables=tables)


def tables(result):
    return result["tables"]


def plot(result, figure):
    """Draw the p99 of queries before, during and after the merge."""
    axes = figure.subplots()
    _, *lines = result["tables"][-1]
    axes.barh([line[0] for line in lines], [float(line[2]) for line in lines])
    axes.invert_yaxis()
    axes.set(xlabel="p99 of a query, ms")


def added(url):
    """Return how many targets stand beside the index."""
    return httpx.get(url, timeout=60).json()["writes"]["added"]


if __name__ == "__main__":
    main()
