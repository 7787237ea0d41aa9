"""Processes that serve one port: `python -m benchmarks.workers [--part flat 100k 1m] [--catalog DIR]`.

One worker and several serve the same collection, each with its share of the processors as search threads. Memory is
that of all processes, each shared page counted once.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter, sleep

import httpx

from benchmarks import harness, wrk
from benchmarks.http_goals import DIM, QUERIES, add_sizes, build
from benchmarks.http_service import PACKAGES, hubless_service
from hubless.kernels.threads import cores

PARTS = {"flat": ("flat", "small"), "100k": ("fastscan", "medium"), "1m": ("fastscan", "large")}
WORKERS, CONNECTIONS = (1, 2, 4), (1, 8, 32)
WRITES, PAUSE = 20, 0.15
"""How many writes, and the seconds after which all workers have followed the last one."""
MIB = 2**20
LARGEST_COPY = 64 * MIB
COLUMNS = (
    "collection",
    "workers × threads",
    "memory MiB",
    *(f"answers/s, {count} conn." for count in CONNECTIONS),
    "p99 ms, 1 conn.",
)


def memory(pid):
    """Bytes of a process and its children: all that they hold, and what of it is no page of a mapped file."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    sizes = {field: 1024 * int(size) for field, size, *_ in (line.split() for line in lines[1:])}
    found = [sizes["Pss:"], sizes["Pss_Anon:"] + sizes["Pss_Shmem:"]]
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [sum(all_of) for all_of in zip(found, *map(memory, children), strict=True)]


def serve(catalog, name, workers, bodies, seconds):
    """Start a server, load it, and return what it took."""
    threads = max(1, cores() // workers)
    started = perf_counter()
    with hubless_service(catalog, name, workers=workers, search_threads=threads) as side:
        found = {"threads": threads, "ready": perf_counter() - started, "runs": {}}
        for count in CONNECTIONS:
            found["runs"][str(count)] = wrk.load(side, bodies, count, seconds)
        found["memory"], found["own"] = memory(side.pid)
    return found


def unseen(catalog, name, workers):
    """The share of writes to a copy of a small collection that the next connection does not find; None for others."""
    if sum(path.stat().st_size for path in catalog.rglob("*") if path.is_file()) > LARGEST_COPY:
        return None
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copytree(catalog, Path(folder) / "catalog")
        with hubless_service(copy, name, workers=workers) as side:
            points = side.url.removesuffix("/query") + "/points"
            for number in range(WRITES):
                point = {"id": 10**6 + number, "vector": [1.0] * DIM}
                httpx.put(points, json={"points": [point]}).raise_for_status()
                missed += httpx.get(f"{points}/{point['id']}").status_code == 404
                sleep(PAUSE)
    return missed / WRITES


def one_round(catalog, name, bodies, options):
    """All sides in turn."""
    return {
        str(workers): serve(catalog, name, workers, bodies, options.seconds)
        | {"unseen": unseen(catalog, name, workers)}
        for workers in options.workers
    }


def together(rounds):
    """The median of each figure; how many writes were not seen in all."""
    found = {name: median(one[name] for one in rounds) for name in ("ready", "memory", "own")}
    for count in map(str, CONNECTIONS):
        runs = [one["runs"][count] for one in rounds]
        found[count] = {name: median(run[name] for run in runs) for name in ("rate", "p50_ms", "p99_ms")}
    unseen_each = [one["unseen"] for one in rounds if one["unseen"] is not None]
    return found | {"unseen": sum(unseen_each) / len(unseen_each) if unseen_each else None}


def sides(measured):
    """The figures of each number of workers."""
    return {
        f"{workers} × {first['threads']}": together([one[workers] for one in measured["rounds"]])
        for workers, first in measured["rounds"][0].items()
    }


def tables(result):
    rows = []
    for measured in result["parts"].values():
        for side, line in sides(measured).items():
            if int(side.split()[0]) > result["machine"]["cores"]:
                continue
            runs = [line[str(count)] for count in CONNECTIONS]
            rows.append(
                [
                    f"{measured['targets']:,}, {measured['kind']}",
                    side,
                    f"{line['memory'] / MIB:,.0f}",
                    *(f"{run['rate']:,.0f}" for run in runs),
                    f"{runs[0]['p99_ms']:.2f}",
                ]
            )
    return [[COLUMNS, *rows]]


def plot(result, figure):
    """Draw answers a second of all sides beside those of the first."""
    parts = result["parts"]
    for axes, (part, measured) in zip(figure.subplots(1, len(parts), squeeze=False)[0], parts.items(), strict=True):
        lines = sides(measured)
        first = next(iter(lines.values()))
        for side, line in lines.items():
            rates = [line[str(count)]["rate"] / first[str(count)]["rate"] for count in CONNECTIONS]
            axes.plot([str(count) for count in CONNECTIONS], rates, marker="o", label=side)
        axes.set(xlabel="connections", ylabel="answers/s beside the first", title=part, ylim=(0, None))
        axes.legend(title="workers × threads", fontsize=6)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--workers", nargs="+", type=int, default=WORKERS)
    add_sizes(parser)
    options = parser.parse_args()
    if not wrk.is_installed():
        sys.exit("wrk is not installed: apt-get install wrk")
    bodies = wrk.json_bodies(harness.low_rank(QUERIES, DIM, 2, harness.LEAN))
    with tempfile.TemporaryDirectory() as temporary:
        for part in options.part:
            kind, size = PARTS[part]
            targets = getattr(options, size)
            catalog, name = build(options.catalog or Path(temporary), kind, targets)
            for _ in range(options.rounds):
                found = one_round(catalog, name, bodies, options)
                parts = harness.earlier("workers", "parts")
                known = parts.get(part, {"targets": targets, "rounds": []})
                before = [one for one in known["rounds"] if one.keys() == found.keys() and known["targets"] == targets]
                parts[part] = {"targets": targets, "kind": kind, "rounds": [*before, found]}
                whole = {"parts": {part: parts[part] for part in PARTS if part in parts}}
                harness.write("workers", whole, plot, PACKAGES)
    print(harness.markdown(tables(whole)[0]))


if __name__ == "__main__":
    main()
