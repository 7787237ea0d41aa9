"""More requests than the service can answer: `python -m benchmarks.overload [--targets 100000 400000]`.

The peak is what 128 connections get that ask again as soon as they have an answer. Then requests come at a fixed rate,
up to four times the peak. The table has the p99 of accepted requests, and the share refused (429, 504) or failed:
medians of several rounds. Server and load generator share a machine: at high load the generator slows the server.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks import harness
from benchmarks.http_service import PACKAGES, QUERIES, build, hubless_service, load, vectors
from benchmarks.wrk import processor_seconds

KIND, CONNECTIONS = "flat", 128
LOADS = (0.5, 1.0, 2.0, 4.0)
DEADLINES_MS = (10_000, 500)


def offer(side, queries, rate, seconds):
    """Send requests at a rate, from a process of its own."""
    options = ["--rate", str(rate), "--seconds", str(seconds)]
    command = [sys.executable, "-m", "benchmarks.open_load", side.url, str(queries), *options]
    before = processor_seconds(side.pid)
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {**found, "server": (processor_seconds(side.pid) - before) / seconds}


def peak_of(catalog, queries, options):
    """Return answers a second without a deadline that matters."""
    with hubless_service(catalog, KIND) as side:
        return load(side, queries, CONNECTIONS, options.seconds, "--binary")["rate"]


def one_round(catalog, queries, deadline_ms, options):
    """Measure the peak and each load with a deadline, within a minute or two."""
    peak = peak_of(catalog, queries, options)
    with hubless_service(catalog, KIND, default_timeout_ms=deadline_ms) as side:
        runs = [{"load": times, **offer(side, queries, times * peak, options.seconds)} for times in options.loads]
    for run in runs:
        run["of_peak"] = run["goodput"] / peak
        run["p99_ms"] = run["statuses"].get("200", {}).get("p99_ms")
    return peak, runs


def together(runs):
    """Combine the rounds of one load: medians, and how often each status came in all."""
    counts = Counter()
    for run in runs:
        counts.update({status: entry["answers"] for status, entry in run["statuses"].items()})
    p99s = [run["p99_ms"] for run in runs if run["p99_ms"] is not None]
    return {
        "load": runs[0]["load"],
        **{name: median(run[name] for run in runs) for name in ("goodput", "of_peak", "server", "processors")},
        "p99_ms": median(p99s) if p99s else None,
        "answers": dict(counts),
    }


def measure_all(catalog, targets, queries, options):
    """Measure each load of one collection with each deadline."""
    build(catalog, targets, KIND)
    peaks = []
    measured = []
    for deadline in options.deadlines:
        rounds = [one_round(catalog, queries, deadline, options) for _ in range(options.rounds)]
        peaks += [peak for peak, _ in rounds]
        loads = zip(*(runs for _, runs in rounds), strict=True)
        measured.append({"deadline_ms": deadline, "runs": [together(runs) for runs in loads]})
        print(f"{targets:,} targets, {deadline:,} ms", flush=True)
    return {"targets": targets, "peak": median(peaks), "measured": measured}


def tables(result):
    return [table(each) for each in result["collections"]]


def table(result):
    columns = [
        f"{result['targets']:,} targets, peak {result['peak']:,.0f}/s: deadline",
        "requests / peak",
        "answers/s",
        "/ peak",
        "p99 ms",
        "refused",
        "processors: server, generator",
    ]
    rows = []
    for measured in result["measured"]:
        for run in measured["runs"]:
            refused = 1 - run["answers"].get("200", 0) / sum(run["answers"].values())
            p99 = "" if run["p99_ms"] is None else f"{run['p99_ms']:,.0f}"
            figures = [f"{run['load']:g}", f"{run['goodput']:,.0f}", f"{run['of_peak']:.2f}", p99]
            busy = f"{run['server']:.2f}, {run['processors']:.2f}"
            rows.append([f"{measured['deadline_ms']:,} ms", *figures, f"{100 * refused:.1f} %", busy])
    return [columns, *rows]


def plot(result, figure):
    """Draw answers a second against the load, both as shares of the peak."""
    axes = figure.subplots()
    for each in result["collections"]:
        for measured in each["measured"]:
            loads, shares = zip(*((run["load"], run["of_peak"]) for run in measured["runs"]), strict=True)
            label = f"{each['targets']:,} targets, deadline {measured['deadline_ms']:,} ms"
            axes.plot(loads, shares, marker="o", label=label)
    axes.axhline(0.8, linestyle=":", color="grey")
    axes.set(xlabel="requests / peak", ylabel="answers in time / peak", ylim=(0, None))
    axes.legend()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, nargs="+", default=[100_000])
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--loads", type=float, nargs="+", default=LOADS, help="in peaks")
    parser.add_argument("--deadlines", type=int, nargs="+", default=DEADLINES_MS, help="in milliseconds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        queries = Path(temporary) / "queries.npy"
        np.save(queries, vectors(QUERIES, 6, lean=2))
        collections = [
            measure_all(Path(temporary) / str(targets), targets, queries, options) for targets in options.targets
        ]
    harness.write("overload", {"collections": collections}, plot, PACKAGES, tables)


if __name__ == "__main__":
    main()
