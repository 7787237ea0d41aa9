"""Targets as segments, before and after: `python -m benchmarks.segments [--label new] [--part merge ...]`.

`old` is the code before targets were segments, `new` the one after. Each figure is the median of its runs.

- merge: 30 targets replaced, 20 new, 10 removed, over HTTP; then `hubless.merge` in a process of its own.
- upload: one client, several requests of 1,000 points in flight. Bytes written are those of the server and its merges.
- query: an index alone, and after four times 60 or 250 writes with a merge; both asked in turn in one process.
- background: 12 % new targets; queries over one connection while the service merges or compacts them.
- job: 1 % of the targets comes in a file of its own, or changes in an old file.
- pull: a reader that has the version before, and one that has nothing.
- calls: functions of hubless that a query, a written point and a build call, and the files that they are in.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import threading
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from itertools import count as numbers
from pathlib import Path
from statistics import median
from time import perf_counter, process_time, sleep

import httpx
import numpy as np
import pyarrow as pa

import hubless
from benchmarks import harness
from benchmarks.http_service import PACKAGES, hubless_service
from hubless_objects.mirror import RemoteCatalog

LABELS = ("old", "new")
NAME, TINY = "written", "tiny"
BANK, BATCH, SOME = 2000, 1000, 0.01
ROUNDS, WRITES = 4, {100_000: 250}
"""How often targets are written and merged before a query, and how many at once; 60 at other sizes."""
MERGED = (30, 20, 10)
"""Targets replaced, new and removed before a merge."""
UNITS = ("processor s", "MB in new files", "MB of write calls", "MB for the disk")
MERGES, SINGLES, ASKED, MORE = 3, 1000, 2000, 0.12
QUIET, POLL, BEGINS, PAUSE = 5.0, 0.1, 120.0, 0.5
ALONE = {"merge_at": 0, "workers": 1, "default_timeout_ms": 60_000}
"""One process that never merges, and has time where others keep the processors busy."""
SERVED = {"log_level": "warning", "hubness": "false"}
ARROW = "application/vnd.apache.arrow.stream"
CLUSTERS, WIDTH, LEAN = 1000, 0.8, 0.7


def clustered(rows, dim, seed, lean=0.0):
    """Return unit vectors in clusters of different sizes. With `lean` all lean one way, as queries do."""
    common = np.random.default_rng(0)
    centres = common.standard_normal((CLUSTERS, dim), np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    towards = lean * centres.mean(axis=0) / np.linalg.norm(centres.mean(axis=0))
    sizes = 1 / np.arange(1, CLUSTERS + 1) ** 0.7
    rng = np.random.default_rng(1 + seed)
    vectors = centres[rng.choice(CLUSTERS, rows, p=sizes / sizes.sum())]
    for start in range(0, rows, 2**16):
        block = vectors[start : start + 2**16]
        block += towards
        block += rng.standard_normal(block.shape, np.float32) * np.float32(WIDTH / np.sqrt(dim))
        block /= np.linalg.norm(block, axis=1, keepdims=True)
    return vectors


def built(folder, count, dim, index, bank=BANK, name=NAME):
    """Return a catalog with a collection of so many targets; build it unless it is there. Copy it before a change."""
    catalog = folder / f"{name}-{count}-{dim}-{index}-{bank}"
    if not catalog.is_dir():
        queries = clustered(bank, dim, 2, LEAN)
        with tempfile.TemporaryDirectory(dir=folder) as staging:
            hubless.build(Path(staging) / "built", name, clustered(count, dim, 1), queries, index=index, progress=False)
            (Path(staging) / "built").rename(catalog)
    return catalog


@contextmanager
def copied(catalog):
    with tempfile.TemporaryDirectory(dir=catalog.parent) as folder:
        yield shutil.copytree(catalog, Path(folder) / "catalog")


def arrow(ids, vectors):
    """Return targets as the service takes them."""
    lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])
    table = pa.table([pa.array(ids), lists], ["id", "vector"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def put(client, url, ids, vectors):
    content = arrow(ids, vectors)
    client.put(f"{url}/points", content=content, headers={"content-type": ARROW}).raise_for_status()


@contextmanager
def served(catalog, name=NAME, **settings):
    """Serve a catalog, and give the server, a client, and the address of a collection."""
    with hubless_service(catalog, name, **SERVED, **settings) as side, httpx.Client(timeout=60) as client:
        yield side, client, side.url.removesuffix("/query")


def write(client, url, count, dim, turn, many=MERGED):
    """Replace some of `count` targets, add new ones and remove some. Other turns take other targets."""
    replaced, new, removed = many
    vectors = clustered(replaced + new, dim, 100 + turn)
    rows = np.random.default_rng(0).permutation(count)[turn * (replaced + removed) :][: replaced + removed]
    ids = [*rows[:replaced].tolist(), *range(count + turn * new, count + (turn + 1) * new)]
    for wanted, vector in zip(ids, vectors, strict=True):
        put(client, url, [wanted], vector[None])
    for wanted in rows[replaced:].tolist():
        client.post(f"{url}/points/delete", json={"ids": [wanted]}).raise_for_status()


def in_child(work, *arguments):
    """Work in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def processor_seconds():
    """Return what this process and the children that it waited for have taken."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def io(pid):
    """Return bytes of write calls, and bytes for the disk, of a process and the children that it waited for."""
    lines = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return np.array([int(lines["wchar"]), int(lines["write_bytes"])])


def tree(pid):
    """Return a process and all below it."""
    found = [pid]
    for each in found:
        try:
            for task in Path(f"/proc/{each}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            pass
    return found


def written_by(pid):
    """Return what a server and all below it have written."""
    total = np.zeros(2, np.int64)
    for each in tree(pid):
        with suppress(FileNotFoundError, ProcessLookupError):  # those above it have its figures now
            total += io(each)
    return total


def busy(pid):
    """Return processor seconds of a server and all below it, with those that have ended."""
    ticks = 0
    for each in tree(pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def files_of(catalog):
    found = [path.stat() for path in catalog.rglob("*") if path.is_file()]
    return {each.st_ino: each.st_size for each in found}


def merged(catalog):
    """Merge; processor seconds, megabytes in new files, of write calls and for the disk. Imports are not counted."""
    if hubless.merge(catalog, TINY) is None:
        raise AssertionError("nothing was written")
    before = files_of(catalog)
    bytes_before = io("self")
    started = processor_seconds()
    assert hubless.merge(catalog, NAME) is not None
    seconds, (calls, disk) = processor_seconds() - started, io("self") - bytes_before
    new = sum(size for inode, size in files_of(catalog).items() if inode not in before)
    return seconds, new / 1e6, calls / 1e6, disk / 1e6


def part_merge(folder, given):
    for count in given.targets or (10_000, 100_000, 400_000):
        for index in given.index or ("flat", "auto") if count >= 100_000 else ("flat",):
            with copied(built(folder, count, 64, index, given.bank)) as catalog:
                tiny = built(folder, 200, 64, "flat", name=TINY)
                shutil.copytree(tiny / TINY, catalog / TINY)
                found = []
                with served(catalog, **ALONE) as (_, client, url):
                    for turn in range(MERGES):
                        write(client, url.replace(NAME, TINY), 200, 64, turn, (1, 1, 1))
                        write(client, url, count, 64, turn)
                        found.append(in_child(merged, catalog))
            what = f"merge of 60 writes, {count:,} × 64, {index}"
            for unit, values in zip(UNITS, zip(*found, strict=True), strict=True):
                yield f"{what}: {unit}", median(values)


async def sent(url, bodies, flying, durability, seconds):
    """Put bodies for so long; refusals by status, bytes that were taken, and seconds. What is refused is sent again."""
    refused = Counter()
    taken = []
    waiting = iter(bodies)
    limits = httpx.Limits(max_connections=flying)

    async def send(client):
        for body in waiting:
            while perf_counter() - started < seconds:
                options = {"params": {"durability": durability}, "headers": {"content-type": ARROW}}
                answer = await client.put(f"{url}/points", content=body, **options)
                if answer.status_code == 200:
                    taken.append(len(body))
                    break
                refused[str(answer.status_code)] += 1
                if answer.status_code not in (409, 429, 503, 504):
                    answer.raise_for_status()
                await asyncio.sleep(PAUSE)

    started = perf_counter()
    async with httpx.AsyncClient(timeout=120, limits=limits) as client:
        await asyncio.gather(*(send(client) for _ in range(flying)))
    return refused, taken, perf_counter() - started


def rested(pid):
    """Wait until a server and all below it have written nothing for a while. What they have written."""
    last = written_by(pid)
    since = perf_counter()
    while perf_counter() - since < QUIET:
        sleep(POLL)
        now = written_by(pid)
        if (now - last)[0] > 2**16:
            last = now
            since = perf_counter()
    return last


def part_upload(folder, given, points=1_000_000, dim=8):
    points = given.points or points
    vectors = clustered(points, dim, 1)
    what = f"{points:,} points of {dim} over HTTP"
    ids = np.arange(points)
    bodies = [arrow(ids[at : at + BATCH], vectors[at : at + BATCH]) for at in range(0, points, BATCH)]
    with tempfile.TemporaryDirectory(dir=folder) as catalog, served(catalog) as (side, client, url):
        order = {"dim": dim, "metric": "cosine", "id_type": "int64"}
        while (answer := client.put(url, json=order)).status_code == 503:  # it has just started
            sleep(PAUSE)
        answer.raise_for_status()
        put(client, url, ids[:1], vectors[:1])  # the first one of all imports what writes need
        before = written_by(side.pid)
        worked = busy(side.pid)
        refused, taken, seconds = asyncio.run(sent(url, bodies, given.flying, given.durability, given.seconds))
        stored = client.post(f"{url}/count", json={}).raise_for_status().json()["count"]
        assert stored == min(points, len(taken) * BATCH), f"{stored} are there, and {len(taken)} requests were answered"
        yield f"{what}: stored within {given.seconds:.0f} s", stored
        yield f"{what}: points/s", stored / seconds
        yield f"{what}: refused requests", refused.total()
        for status, many in sorted(refused.items()):
            yield f"{what}: refused with {status}", many
        size = sum(taken)
        during = written_by(side.pid) - before
        in_the_end = rested(side.pid) - before
        yield f"{what}: server's processor s for 100,000, merges included", (busy(side.pid) - worked) / stored * 1e5
        for when, (calls, disk) in (("as it ends", during), ("when all is quiet", in_the_end)):
            yield f"{what}: bytes of write calls over bytes sent, {when}", calls / size
            yield f"{what}: bytes for the disk over bytes sent, {when}", disk / size


def latencies(alone, other, queries):
    """Return milliseconds of single queries of two collections, asked in turn: by the clock, and of the processors."""
    times = ([], [])
    for query in queries:
        for found, index in zip(times, (alone, other), strict=True):
            started = perf_counter()
            busy = process_time()
            index.query(query)
            found.append((1e3 * (perf_counter() - started), 1e3 * (process_time() - busy)))
    return [(*np.percentile(each, (50, 99), axis=0)[:, 0], np.median(each, axis=0)[1]) for each in map(np.array, times)]


def part_query(folder, given):
    for count in given.targets or (100_000, 400_000):
        dim = 512 if count <= 100_000 else 64
        first = built(folder, count, dim, "auto", given.bank)
        many = WRITES.get(count, 60)
        with copied(first) as catalog:
            with served(catalog, **ALONE) as (_, client, url):
                for turn in range(ROUNDS):
                    write(client, url, count, dim, turn, (many // 2, many // 3, many // 6))
                    hubless.merge(catalog, NAME)
            alone = hubless.open(first, NAME)
            other = hubless.open(catalog, NAME)
            queries = clustered(SINGLES, dim, 3, LEAN)
            latencies(alone, other, queries[:100])
            runs = [latencies(alone, other, queries) for _ in range(3)]
        what = f"query, {count:,} × {dim}, {alone.manifest.index.type}"
        for place, name in enumerate(("median", "p99", "processor")):
            before, after = (median(run[side][place] for run in runs) for side in range(2))
            yield f"{what}: {name} alone, ms", before
            yield f"{what}: {name} after {ROUNDS} × {many} writes and merges, ms", after
            yield f"{what}: {name} after over alone", median(run[1][place] / run[0][place] for run in runs)


def asked(client, url, query):
    """Return milliseconds of a query."""
    started = perf_counter()
    headers = {"content-type": "application/octet-stream"}
    client.post(f"{url}/query", content=query.tobytes(), headers=headers).raise_for_status()
    return 1e3 * (perf_counter() - started)


def part_background(folder, given):
    count = (given.targets or [100_000])[0]
    dim = 512
    queries = clustered(ASKED, dim, 3, LEAN)
    more = clustered(int(MORE * count), dim, 4)
    with copied(built(folder, count, dim, "auto", given.bank)) as catalog:
        with served(catalog, **ALONE) as (side, client, url):
            resting = len(tree(side.pid))
            for at in range(0, len(more), BATCH):
                rows = more[at : at + BATCH]
                put(client, url, count + at + np.arange(len(rows)), rows)
            before = [asked(client, url, query) for query in queries]
        during = []
        started = perf_counter()
        # the first look for what is due comes as the service starts
        with served(catalog, merge_at=min(1000, len(more) // 2), workers=1) as (side, client, url):
            while len(tree(side.pid)) <= resting:
                assert perf_counter() - started < BEGINS, "no merge begins"
                sleep(POLL / 10)
            begun = ended = perf_counter()
            for place in numbers():
                during.append(asked(client, url, queries[place % ASKED]))
                if len(tree(side.pid)) > resting:
                    ended = perf_counter()
                elif perf_counter() - ended > 1:
                    break
            # what came after the end
            during = during[: max(1, int(len(during) * (ended - begun) / (perf_counter() - begun)))]
            after = [asked(client, url, query) for query in queries]
    what = f"queries over HTTP, {count:,} × {dim}, {len(more):,} new ones merged behind them"
    yield f"{what}: seconds of the merge", ended - begun
    for place, name in ((50, "median"), (99, "p99")):
        base, within, later = (np.percentile(each, place) for each in (before, during, after))
        yield f"{what}: {name} before, ms", base
        yield f"{what}: {name} during over before", within / base
        yield f"{what}: {name} after over before", later / base


def prepared(home, count, dim, bank=BANK):
    """Write files of targets, a bank, and a job; return the job and its last file."""
    home.mkdir()
    vectors = clustered(count, dim, 1)
    np.save(home / "bank.npy", clustered(bank, dim, 2, LEAN))
    for number, part in enumerate(np.array_split(np.arange(count), max(2, count // 20_000))):
        last = home / f"part-{number:03}.npz"
        np.savez(last, vectors=vectors[part], ids=part)
    job = home / "job.yaml"
    job.write_text(json.dumps({"version": 1, "collection": NAME, "targets": "*.npz", "query_bank": "bank.npy"}))
    return job, last


def change(last, dim, some, seed):
    """Change some targets of a file."""
    with np.load(last) as held:
        vectors = held["vectors"]
        ids = held["ids"]
    vectors[:some] = clustered(some, dim, seed)
    np.savez(last, vectors=vectors, ids=ids)


def bring(home, count, dim, some, seed):
    """Bring some new targets in a file of their own."""
    np.savez(home / "more.npz", vectors=clustered(some, dim, seed), ids=count + np.arange(some))


def jobs(folder, count, dim, bank):
    """Return processor seconds of a build by a job, and of runs for 1 % of the targets. Imports are not counted."""
    home = folder / "job"
    some = int(SOME * count)
    tiny, _ = prepared(folder / "tiny", 300, dim)
    hubless.reindex(tiny, catalog=folder / "tiny-catalog", progress=False)
    bring(folder / "tiny", 300, dim, 3, 7)
    hubless.reindex(tiny, catalog=folder / "tiny-catalog", progress=False)
    job, last = prepared(home, count, dim, bank)

    def run():
        started = processor_seconds()
        assert hubless.reindex(job, catalog=folder / "catalog", progress=False).published
        return processor_seconds() - started

    whole = run()
    bring(home, count, dim, some, 7)
    new = run()
    change(last, dim, some, 8)
    return whole, new, run()


def part_job(folder, given):
    for count in given.targets or (20_000, 100_000):
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            whole, new, changed = in_child(jobs, Path(temporary), count, 512, given.bank)
        what = f"job, {count:,} × 512"
        yield f"{what}: processor s of the build", whole
        for name, seconds in (("new", new), ("changed", changed)):
            yield f"{what}: processor s of 1 % {name}", seconds
            yield f"{what}: 1 % {name} over the build", seconds / whole


def tests_support():
    """Make what tests share importable: a store like S3, and a server in this process."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))


def part_pull(folder, given):
    tests_support()
    from support import object_storage

    count = (given.targets or [20_000])[0]
    dim = 64
    some = int(SOME * count) // 2
    with tempfile.TemporaryDirectory(dir=folder) as temporary, object_storage.store() as store:
        store.empty()
        os.environ.update(store.variables, HUBLESS_CACHE=str(Path(temporary) / "copies"))
        came = [0]

        def counting(method, path, query, respond, start_response):
            if method != "GET":
                return None
            parts = list(respond())
            came[0] += sum(map(len, parts))
            return parts

        store.faults.add(counting)

        def pulled(reader):
            came[0] = 0
            RemoteCatalog(object_storage.ADDRESS, Path(temporary) / reader).pull(NAME)
            return came[0]

        job, last = prepared(Path(temporary) / "job", count, dim, given.bank)
        hubless.reindex(job, catalog=object_storage.ADDRESS, progress=False)
        pulled("old reader")
        before = sizes(store, object_storage.BUCKET)
        bring(job.parent, count, dim, some, 7)
        change(last, dim, some, 8)
        hubless.reindex(job, catalog=object_storage.ADDRESS, progress=False)
        pushed = sizes(store, object_storage.BUCKET).items() - before.items()
        again = pulled("old reader")
        whole = pulled("new reader")
        wanted = clustered(1, dim, 8)
        assert hubless.open(Path(temporary) / "old reader", NAME).query(wanted[0]).ids
    what = f"pull of a version that differs by 1 %, {count:,} × {dim}"
    yield f"{what}: MB of the whole version", whole / 1e6
    yield f"{what}: MB pulled", again / 1e6
    yield f"{what}: pulled over the whole", again / whole
    yield f"{what}: pushed over the whole", sum(size for _, (size, _) in pushed) / whole


def sizes(store, bucket):
    """Return size and tag of each object."""
    pages = store.client().get_paginator("list_objects_v2").paginate(Bucket=bucket)
    return {each["Key"]: (each["Size"], each["ETag"]) for page in pages for each in page.get("Contents", [])}


def part_calls(folder, given):
    tests_support()
    from support.serving import serving_catalog

    dim = 64
    counted = Counter()
    recording = [False]

    def profile(frame, event, argument):
        path = frame.f_code.co_filename
        if recording[0] and event == "call" and ("/hubless/" in path or "/hubless_service/" in path):
            counted[path] += 1

    def fewest(work, arguments):
        """Return the calls of a file of the quietest run: what other threads do meanwhile is no part of the work."""
        found = []
        for argument in arguments:
            sleep(POLL)  # what the run before has woken is over
            counted.clear()
            recording[0] = True
            work(argument)
            recording[0] = False
            found.append(counted.copy())
        return min(found, key=Counter.total)

    queries = clustered(20, dim, 5, LEAN).tolist()
    with copied(built(folder, 1000, dim, "flat")) as catalog:
        threading.setprofile(profile)
        sys.setprofile(profile)
        try:
            with serving_catalog(catalog, hubness=False, merge_at=0) as base, httpx.Client(timeout=60) as client:
                url = f"{base}/v1/collections/{NAME}"

                def write(vector):
                    body = {"points": [{"id": 5000, "vector": vector}]}
                    client.put(f"{url}/points", json=body).raise_for_status()

                def ask(vector):
                    client.post(f"{url}/query", json={"vector": vector}).raise_for_status()

                found = {"query over HTTP": fewest(ask, queries), "point written over HTTP": fewest(write, queries)}
            opened = hubless.open(catalog, NAME)
            found["query of the library"] = fewest(lambda vector: opened.query(np.array(vector, np.float32)), queries)
            few, bank = clustered(300, 32, 1), clustered(100, 32, 2, LEAN)
            for correction in ("csls", "auto"):
                build = partial(
                    hubless.build, catalog, targets=few, query_bank=bank, correction=correction, progress=False
                )
                found[f"build of 300 × 32 with {correction}"] = fewest(build, ["first", "second", "third"])
        finally:
            threading.setprofile(None)
            sys.setprofile(None)
    for what, calls in found.items():
        yield f"one {what}: calls", calls.total()
        yield f"one {what}: files", len(calls)


PARTS = {
    "merge": part_merge,
    "upload": part_upload,
    "upload_wide": partial(part_upload, points=100_000, dim=512),
    "query": part_query,
    "background": part_background,
    "job": part_job,
    "pull": part_pull,
    "calls": part_calls,
}


def shown(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def tables(result):
    """Return old and new side by side."""
    sides = result["sides"]
    rows = [("what", *sides, "new / old")]
    for what in dict.fromkeys(what for side in sides.values() for what in side):
        values = {label: median(side[what]) for label, side in sides.items() if what in side}
        ratio = f"{values['new'] / values['old']:.3g}" if values.get("old") and "new" in values else ""
        rows.append((what, *(shown(values[label]) if label in values else "" for label in sides), ratio))
    return [rows]


def plot(result, figure):
    """Draw new over old."""
    axes = figure.subplots()
    rows = [row for row in tables(result)[0][1:] if row[-1]]
    axes.barh([row[0] for row in rows], [float(row[-1]) for row in rows])
    axes.invert_yaxis()
    axes.tick_params(axis="y", labelsize=4)
    axes.set(xlabel="new / old", xscale="log")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--label", choices=LABELS, default="new")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--targets", type=int, nargs="+", help="other sizes of collections")
    parser.add_argument("--bank", type=int, default=BANK, help="queries of the bank")
    parser.add_argument("--index", nargs="+", help="kinds of index of the part merge")
    parser.add_argument("--points", type=int, help="points of an upload")
    parser.add_argument("--seconds", type=float, default=200, help="the longest upload")
    parser.add_argument("--flying", type=int, default=4, help="requests of an upload at once")
    parser.add_argument("--durability", choices=("disk", "memory"), default="disk", help="of an upload")
    parser.add_argument("--folder", type=Path, help="keeps what is built, for the next call of the same code")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        for part in given.part:
            found = {}
            for what, value in PARTS[part](folder, given):
                print(f"{what}: {shown(value)}", flush=True)
                found[what] = float(value)
            sides = harness.earlier("segments", "sides")
            side = sides.setdefault(given.label, {})
            for what, value in found.items():
                side.setdefault(what, []).append(value)
            sides = {label: sides[label] for label in LABELS if label in sides}
            harness.write("segments", {"sides": sides}, None, PACKAGES)
    if len(sides) == 2 and find_spec("matplotlib"):
        harness.write("segments", {"sides": sides}, plot, PACKAGES, tables)


if __name__ == "__main__":
    main()
