"""What more load than can be answered does: `python -m benchmarks.overload [--targets 100000]`.

The peak is what 128 connections get that ask again as soon as they are answered. Then requests come at a rate of their
own, up to four times that peak, to a server with the usual deadline and to one with a short one. Of each load: answers
a second against the peak of the same run, the p99 of the accepted against their deadline, and what the others were
told.

Server and load generator share a machine, so that a part of what is lost at a high load is the generator's.
Prints a table, writes `benchmarks/results/overload.json` and a plot beside it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import harness
from benchmarks.http_service import PACKAGES, QUERIES, build, hubless_service, load, vectors

KIND, CONNECTIONS = "flat", 128
LOADS = (0.5, 1.0, 2.0, 4.0)
DEADLINES_MS = (10_000, 500)


def offer(side, queries, rate, seconds):
    """Requests at a rate, from a process of its own."""
    options = ["--rate", str(rate), "--seconds", str(seconds)]
    command = [sys.executable, "-m", "benchmarks.open_load", side.url, str(queries), *options]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def peak_of(catalog, queries, options):
    """Answers a second without a deadline that matters."""
    with hubless_service(catalog, KIND) as side:
        return load(side, queries, CONNECTIONS, options.seconds, "--binary")["rate"]


def measure(catalog, queries, deadline_ms, peak, options):
    """What becomes of each load."""
    with hubless_service(catalog, KIND, default_timeout_ms=deadline_ms) as side:
        runs = [{"load": times, **offer(side, queries, times * peak, options.seconds)} for times in options.loads]
    for run in runs:
        run["of_peak"] = run["goodput"] / peak
        run["p99_ms"] = run["statuses"].get("200", {}).get("p99_ms")
    return {"deadline_ms": deadline_ms, "runs": runs}


def tables(result):
    columns = ["deadline", "requests / peak", "answers a second", "of the peak", "p99", "200", "429", "504", "other"]
    rows = []
    for measured in result["measured"]:
        for run in measured["runs"]:
            counts = {status: entry["answers"] for status, entry in run["statuses"].items()}
            known = [counts.pop(status, 0) for status in ("200", "429", "504")]
            p99 = "" if run["p99_ms"] is None else f"{run['p99_ms']:,.0f} ms"
            figures = [f"{run['load']:g}", f"{run['goodput']:,.0f}", f"{run['of_peak']:.2f}", p99]
            each = [f"{count:,}" for count in (*known, sum(counts.values()))]
            rows.append([f"{measured['deadline_ms']:,} ms", *figures, *each])
    return [[columns, *rows]]


def plot(result, figure):
    """Answers a second against the load, both as shares of the peak."""
    axes = figure.subplots()
    for measured in result["measured"]:
        loads, shares = zip(*((run["load"], run["of_peak"]) for run in measured["runs"]), strict=True)
        axes.plot(loads, shares, marker="o", label=f"deadline {measured['deadline_ms']:,} ms")
    axes.axhline(0.8, linestyle=":", color="grey")
    axes.set(xlabel="requests / peak", ylabel="answers in time / peak", ylim=(0, None))
    axes.legend()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--loads", type=float, nargs="+", default=LOADS, help="in peaks")
    parser.add_argument("--deadlines", type=int, nargs="+", default=DEADLINES_MS, help="in milliseconds")
    parser.add_argument("--catalog", type=Path, help="where the collection is, or is to be built")
    options = parser.parse_args()
    measured = []
    with tempfile.TemporaryDirectory() as temporary:
        catalog = options.catalog or Path(temporary) / "catalog"
        queries = Path(temporary) / "queries.npy"
        np.save(queries, vectors(QUERIES, 6, lean=2))
        if not (catalog / KIND).exists():
            build(catalog, options.targets, KIND)
        peak = peak_of(catalog, queries, options)
        print(f"peak {peak:,.0f}/s", flush=True)
        for deadline in options.deadlines:
            measured.append(measure(catalog, queries, deadline, peak, options))
            print(f"deadline {deadline} ms", flush=True)
    harness.write("overload", {"targets": options.targets, "peak": peak, "measured": measured}, plot, PACKAGES, tables)


if __name__ == "__main__":
    main()
