"""Ten million targets on two cores: `python -m benchmarks.ten_million [--targets 10000000] [--real FOLDER]`.

Vectors of a real set, reduced, mixed in pairs and jittered; a query bank of 2,000. `own memory` is what the process
holds at most, without mapped files. `wrk` asks on the same machine.
"""

import argparse
import json
import sys
import tempfile
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, thread_time
from unittest.mock import patch

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hubless
from benchmarks import harness, wrk
from benchmarks.build_stages import Watch
from benchmarks.graphs import mixed
from benchmarks.http_service import PACKAGES, hubless_service
from benchmarks.index_recipes import open_folder
from benchmarks.peer_figures import memory, recall
from benchmarks.segments import in_child, put
from hubless.builder import build as job, lifecycle
from hubless.builder.inputs.bases import fit_directions
from hubless.kernels.reductions import rankings
from hubless.knn.exhaustive import openmp_threads
from hubless.vectors.comparing import OF_TARGETS
from hubless.vectors.sources import ArrayVectors, as_source, under_metric

SHAPES = {"128-float32": (128, np.float32), "256-float16": (256, np.float16)}
NAME, BANK, QUERIES, K, SINGLES, PARTS = "large", 2000, 500, 10, 200, 100
"""A filter lets a part of so many parts through."""
CONNECTIONS, SECONDS, ROUNDS = (1, 8, 32), 5, 3
WRITES, MERGED, BATCH = 50, 10_000, 1000
SERVED = {"merge_at": 0, "default_timeout_ms": 60_000, "log_level": "warning"}
"""A service that merges nothing by itself."""
FILTER = {"field": "part", "eq": 7}
PASSES = ("reading the inputs", "fitting the correction", "computing offsets")
"""Stages of a build that Ray shares out."""
BILLION, CORES, MACHINES = 10**9, 16, 10


def prepare(folder, count, dim, dtype, real):
    """Write targets, in blocks, with payload; bank and test queries; and some targets to write later."""
    made = {"targets": count, "bank": BANK, "queries": QUERIES, "more": MERGED}
    for name, blocks in (jittered if real else planted)(made, dim, real):
        rows = np.lib.format.open_memmap(folder / f"{name}.npy", "w+", dtype, (made[name], dim))
        start = 0
        for block in blocks:
            rows[start : start + len(block)] = block
            start += len(block)
        rows.flush()
    part = np.arange(count, dtype=np.int32) % PARTS
    pq.write_table(pa.table({"part": part}), folder / "payload.parquet")


def jittered(made, dim, real):
    """Yield blocks of each side, of real vectors that are reduced first."""
    targets, bank, queries = open_folder(real)
    basis = fit_directions(as_source(bank, "bank"), as_source(targets, "targets"), "cosine")[:, :dim]
    rng = np.random.default_rng(0)
    sides = {"targets": (targets, 0.7), "bank": (bank, 0.5), "queries": (queries, 0.5), "more": (targets, 0.7)}
    for name, (rows, share) in sides.items():
        yield name, mixed(rows @ basis, made[name], share, rng)


def planted(made, dim, _):
    """Yield blocks of each side, made up."""
    for number, (name, count) in enumerate(made.items()):
        lean = harness.LEAN if name in ("bank", "queries") else 0.0
        sizes = [min(2**16, count - start) for start in range(0, count, 2**16)]
        yield (
            name,
            (harness.low_rank(size, dim, 1000 * number + place, lean) for place, size in enumerate(sizes)),
        )


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def watched(work):
    """Return what the work returns, and time and memory of this process: of all, and of its stages."""
    before = harness.status("RssAnon")
    watch = Watch()
    with watch.sampling():
        found = work(watch)
    stages = {name: dict(stage) for name, stage in watch.stages.items()}
    total = {key: sum(each[key] for each in stages.values()) for key in ("seconds", "processor_seconds")}
    own = max(each.get("own", 0) for each in stages.values()) - before
    mapped = max(each.get("resident", 0) - each.get("own", 0) for each in stages.values())
    return found, {**total, "own_bytes": own, "mapped_bytes": mapped, "stages": stages}


def build(folder):
    """Build the collection, and return what it took."""

    def work(watch):
        with patch.object(job, "progress_bars", lambda progress: nullcontext(watch)):
            files = (folder / f"{name}.npy" for name in ("targets", "bank"))
            return hubless.build(folder / "catalog", NAME, *files, payload=folder / "payload.parquet")

    manifest, found = watched(work)
    return {**found, **about(folder, manifest)}


def about(folder, manifest):
    """Return what a version is: its index, the recall that it promises, and its size."""
    place = folder / "catalog" / NAME / "segments"
    index = manifest.index
    return {
        "disk_bytes": sum(size_of(place / each.name) for each in manifest.segments),
        "index": index.model_dump(mode="json", exclude={"curve"}),
        "segments": len(manifest.segments),
        "promised": manifest.measured.recall_at_10,
    }


def compact(folder):
    """Train the index anew, as a compaction does, and return what it took."""

    def work(watch):
        with patch.object(lifecycle, "needs_training", lambda parts: True):
            return lifecycle.compact(folder / "catalog", NAME, keep=1, progress=watch)

    manifest, found = watched(work)
    return {**found, **about(folder, manifest)}


def exact(folder):
    """Keep the exact best targets of each query, of all and of those that the filter lets through."""
    targets = ArrayVectors(np.load(folder / "targets.npy", mmap_mode="r"), "targets")
    offsets = hubless.open(folder / "catalog", NAME).offsets
    queries = np.load(folder / "queries.npy").astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    units = under_metric(targets, "cosine", OF_TARGETS)
    ((_, rows),) = rankings(queries, units, K, offsets)
    some = np.arange(FILTER["eq"], len(offsets), PARTS)
    ((_, filtered),) = rankings(queries, as_source(units.take(some), "targets"), K, offsets[some])
    np.savez(folder / "exact.npz", all=rows, filtered=some[filtered])


def asked(folder):
    """Return seconds to open the collection, then milliseconds and recall of queries without a filter and with one."""
    queries = np.load(folder / "queries.npy").astype(np.float32)
    wanted = np.load(folder / "exact.npz")
    with openmp_threads(1):
        started = perf_counter()
        collection = hubless.open(folder / "catalog", NAME)
        opened = perf_counter() - started
        collection.query(queries[0])
        found = {"open_s": opened, "first_query_s": perf_counter() - started - opened}
        for name, filtered in (("all", {}), ("filtered", {"filter": FILTER})):
            answers = collection.query(queries, limit=K, **filtered)
            found[f"{name}_recall"] = recall(answers.rows, wanted[name])
            times = []
            walls = []
            for query in queries[:SINGLES]:
                wall = perf_counter()
                before = thread_time()
                collection.query(query, limit=K, **filtered)
                times.append(thread_time() - before)
                walls.append(perf_counter() - wall)
            found[f"{name}_ms"], found[f"{name}_wall_ms"] = 1000 * median(times), 1000 * median(walls)
        started = thread_time()
        collection.query(queries, limit=K)
        found["batch_per_s"] = len(queries) / (thread_time() - started)
    return found


def served(folder):
    """Return how long the service takes to start, its answers a second and its memory; write, and keep the writes."""
    queries = np.load(folder / "queries.npy").astype(np.float32)
    more = np.load(folder / "more.npy").astype(np.float32)
    bodies = wrk.json_bodies(queries)
    started = perf_counter()
    with hubless_service(folder / "catalog", NAME, **SERVED) as side, httpx.Client(timeout=600) as client:
        found = {"start_s": perf_counter() - started, "connections": {}}
        for count in CONNECTIONS:
            runs = [wrk.load(side, bodies, count, SECONDS) for _ in range(ROUNDS)]
            found["connections"][str(count)] = sorted(runs, key=lambda run: run["rate"])[ROUNDS // 2]
        found["memory_bytes"] = memory(side.pid)
        url = side.url.removesuffix("/query")
        times = []
        first = 10**9
        for number in range(WRITES):
            point = {"id": first + number, "vector": more[number].tolist(), "payload": {"part": 0}}
            begun = perf_counter()
            client.put(f"{url}/points", json={"points": [point]}).raise_for_status()
            times.append(perf_counter() - begun)
        found["write_ms"] = 1000 * median(times)
        begun = perf_counter()
        for start in range(WRITES, MERGED, BATCH):
            rows = range(start, min(start + BATCH, MERGED))
            put(client, url, [first + row for row in rows], more[rows.start : rows.stop])
        found["upload_per_s"] = (MERGED - WRITES) / (perf_counter() - begun)
        beside = wrk.load(side, bodies, 1, SECONDS)
        found["written_p50_ms"] = beside["p50_ms"]
    return found


def merge(folder):
    """Merge what was written, and return what it took."""
    manifest, found = watched(lambda watch: hubless.merge(folder / "catalog", NAME))
    assert manifest is not None
    return found


STEPS = {"build": build, "exact": exact, "asked": asked, "served": served, "merge": merge, "compact": compact}


def measured(folder, given, shape):
    """Take the steps that an earlier run has not taken; each in a process of its own."""
    dim, dtype = SHAPES[shape]
    kept = folder / "measured.json"
    found = json.loads(kept.read_text()) if kept.is_file() else {}
    if not found:
        in_child(prepare, folder, given.targets, dim, dtype, given.real)
        found = {"shape": shape, "targets": given.targets, "real": given.real and given.real.name}
        kept.write_text(json.dumps(found))
    for name in given.steps:
        if name not in found:
            found[name] = in_child(STEPS[name], folder)
            kept.write_text(json.dumps(found))
            print(shape, name, found[name], flush=True)
    return found


def index_of(each):
    index = each["build"]["index"]
    codes = f" of {index['code_bytes']} bytes" if index.get("code_bytes") else ""
    return ", ".join([index["type"] + codes, *(f"{name} {value}" for name, value in index["parameters"].items())])


def answers(each, count):
    return f"{each['served']['connections'][count]['rate']:,.0f}"


def costs(name):
    """Return rows of the time and memory of a step, in processes that do nothing else."""
    return {
        f"{name}, processor min": lambda each: f"{each[name]['processor_seconds'] / 60:.1f}",
        f"{name}, own memory, GB": lambda each: gigabytes(each[name]["own_bytes"]),
    }


ROWS = {
    **costs("build"),
    "index": index_of,
    "on disk, GB": lambda each: gigabytes(each["build"]["disk_bytes"]),
    "recall@10": lambda each: f"{each['asked']['all_recall']:.3f}",
    "single, processor ms": lambda each: f"{each['asked']['all_ms']:.2f}",
    "batch/s, one thread": lambda each: f"{each['asked']['batch_per_s']:,.0f}",
    "filter of 1 %: processor ms": lambda each: f"{each['asked']['filtered_ms']:.2f}",
    "start of the service, s": lambda each: f"{each['served']['start_s']:.1f}",
    "HTTP, 1 connection: p50 ms": lambda each: f"{each['served']['connections']['1']['p50_ms']:.2f}",
    **{f"HTTP, {count} conn.: answers/s": partial(answers, count=str(count)) for count in CONNECTIONS[1:]},
    "service, all memory, GB": lambda each: gigabytes(each["served"]["memory_bytes"]),
    "merge of 10,000, s": lambda each: f"{each['merge']['seconds']:.1f}",
    **costs("compact"),
}


def gigabytes(size):
    return f"{size / 1e9:.2f}"


def shown(figure, each):
    try:
        return figure(each)
    except KeyError:  # that step was not taken
        return ""


def tables(result):
    every = result["measured"]
    columns = ["", *(f"{each['targets'] / 1e6:g} M × {each['shape'].replace('-', ' ')}" for each in every)]
    rows = [[name, *(shown(figure, each) for each in every)] for name, figure in ROWS.items()]
    return [[columns, *(row for row in rows if any(row[1:]))]]


def sentence(result):
    """Return what the first of the measured shapes takes, and a billion targets, if all grows as their number."""
    each = result["measured"][0]
    stages = each["build"]["stages"]
    build = each["build"]
    passes = sum(stages[name]["processor_seconds"] for name in PASSES) / 3600
    hours = build["processor_seconds"] / 3600
    times = BILLION / each["targets"]
    shared = passes / (CORES * MACHINES) + (hours - passes) / CORES
    return (
        f"{each['targets'] / 1e6:g} million × {each['shape'].split('-')[0]} take {_short(hours)} core-hours, "
        f"{_short(build['disk_bytes'] / 1e9)} GB of files, and {_short(each['asked']['all_ms'])} ms a query. If all "
        f"grows as their number, a billion takes {_short(times * hours / CORES)} hours on {CORES} cores, "
        f"{_short(times * shared)} on {MACHINES} such machines."
    )


def _short(value):
    return f"{value:,.0f}" if value >= 20 else f"{value:.2g}"


def plot(result, figure):
    """Draw where the time of the builds goes."""
    axes = figure.subplots()
    every = result["measured"]
    for place, each in enumerate(every):
        left = 0.0
        stages = each["build"]["stages"]
        for name, stage in stages.items():
            minutes = stage["seconds"] / 60
            label = name if place == 0 and minutes > 0.2 else None
            axes.barh(place, minutes, left=left, label=label)
            left += minutes
    axes.set(yticks=range(len(every)), yticklabels=[f"{each['targets'] / 1e6:g} M × {each['shape']}" for each in every])
    axes.set(xlabel="minutes of the build")
    axes.legend(fontsize=6)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=10_000_000)
    parser.add_argument("--shape", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--real", type=Path, help="a folder with targets.npy, queries.npy, and perhaps bank.npy")
    parser.add_argument("--folder", type=Path, help="where the files are, and are left for another run")
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS))
    given = parser.parse_args()
    if not wrk.is_installed():
        sys.exit("wrk is not installed: apt-get install wrk")
    every = []
    for shape in given.shape:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) if given.folder is None else given.folder / f"{given.targets}-{shape}"
            folder.mkdir(parents=True, exist_ok=True)
            every.append(measured(folder, given, shape))
    harness.write("ten_million", {"measured": every}, plot, PACKAGES, tables)


if __name__ == "__main__":
    main()
