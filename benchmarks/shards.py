"""Several trained segments of one collection beside one: `python -m benchmarks.shards [--targets 200000]`.

The same targets in one index and in several, each tuned for a recall@10 of 0.99. `peak` is the memory of the build.
"""

import argparse
import json
import multiprocessing
import tempfile
import threading
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time, thread_time

import numpy as np

from benchmarks import harness
from hubless import CORRECTIONS
from hubless.builder.indexing import ExactAnswers, IndexOrder, build_index, in_segments
from hubless.kernels.reductions import rankings
from hubless.kernels.threads import cores
from hubless.knn import INDEXES
from hubless.knn.aims import Aims
from hubless.knn.augment import centre, folded_queries
from hubless.knn.exhaustive import openmp_threads
from hubless.knn.index_files import read_index
from hubless.knn.tuning import agreement
from hubless.progress import Silent
from hubless.search.engines.embedded import FaissIndex
from hubless.vectors.sources import ArrayVectors, as_source

DIM, BANK, QUERIES, K = 512, 256, 200, 10
SINGLES, BATCH, REPEATS, SECONDS = 20, 100, 5, 0.02
RECALL = 0.99
COLUMNS = ("shards", "recall@10", "single ms", "all threads ×", "build s", "peak MB")


def prepare(folder, count):
    """Write targets, in blocks, with offsets; and queries with their exact best."""
    rows = np.lib.format.open_memmap(folder / "targets.npy", "w+", np.float16, (count, DIM))
    for start in range(0, count, 2**16):
        block = rows[start : start + 2**16]
        block[:] = harness.low_rank(len(block), DIM, 10 + start)
    rows.flush()
    bank, queries = (harness.low_rank(size, DIM, seed, harness.LEAN) for seed, size in ((1, BANK), (2, QUERIES)))
    source = opened(folder)
    bank_source = as_source(bank, "bank")
    offsets = centre(CORRECTIONS["csls"]().fit(bank_source, source).offsets(source))
    ((_, best),) = rankings(queries, source, K, offsets)
    for name, array in (("bank", bank), ("queries", queries), ("offsets", offsets), ("best", best)):
        np.save(folder / f"{name}.npy", array)


def opened(folder):
    return ArrayVectors(np.load(folder / "targets.npy", mmap_mode="r"), "targets")


def stored(folder, name):
    return np.load(folder / f"{name}.npy")


@contextmanager
def measuring():
    """Measure processor time, seconds, and the most memory that this process itself holds."""
    done = threading.Event()
    before = harness.status("RssAnon")
    found = {"peak": 0}

    def sample():
        while not done.wait(SECONDS):
            found["peak"] = max(found["peak"], harness.status("RssAnon") - before)

    thread = threading.Thread(target=sample)
    thread.start()
    wall = perf_counter()
    processor = process_time()
    try:
        yield found
    finally:
        done.set()
        thread.join()
        found |= {"seconds": perf_counter() - wall, "processor_seconds": process_time() - processor}


def build(folder, shards, kind):
    """Build the index of all targets in so many shards."""
    count = opened(folder).shape[0]
    path = path_of(folder, shards)
    wanted, bank = (
        ExactAnswers(stored(folder, "queries"), stored(folder, "best")),
        as_source(stored(folder, "bank"), "bank"),
    )
    offsets = stored(folder, "offsets")
    most = -(-count // shards // 8) * 8
    with measuring() as found:
        order = IndexOrder(
            targets=opened(folder),
            offsets=offsets,
            bank=bank,
            answers=wanted,
            aims=Aims(RECALL),
            index=kind,
            shard_targets=most,
        )
        made = build_index(order, lambda number: place_of(path, number), Silent())
    index = made.targets.first.index
    if isinstance(index, FaissIndex) and index.pivot is not None:
        np.save(path / "pivot.npy", index.pivot)
    sizes = [file.stat().st_size for file in path.glob("*/index.faiss")]
    return {
        "shards": len(made.targets.stored),
        "parameters": made.setting.parameters,
        "recall": made.setting.recall,
        "file_bytes": max(sizes),
        **found,
    }


def path_of(folder, shards):
    return folder / f"cut-{shards}"


def place_of(path, number):
    place = path / f"{number:03}"
    place.mkdir(parents=True, exist_ok=True)
    return place


def targets_of(folder, shards, kind, parameters):
    """Open an index that `build` wrote."""
    path = path_of(folder, shards)
    pivot = np.load(path / "pivot.npy") if (path / "pivot.npy").exists() else None
    indexes = [read_index(file) for file in sorted(path.glob("*/index.faiss"))]
    every = [FaissIndex(INDEXES[kind], index, DIM, parameters, pivot) for index in indexes]
    return in_segments(every, stored(folder, "offsets"))


def resident(folder, shards, kind, parameters):
    """Return the bytes that a process itself holds after it has answered the queries."""
    queries = stored(folder, "queries")
    before = harness.status("RssAnon")
    targets = targets_of(folder, shards, kind, parameters)
    targets.find(folded_queries(queries, 1.0), K, targets.defaults, None)
    return harness.status("RssAnon") - before


def once_built(folder, shards, kind):
    """Return what `build` and `resident` measured, of an earlier run if it left its files."""
    kept = path_of(folder, shards) / f"{kind}.json"
    if not kept.exists():
        found = in_child(build, folder, shards, kind)
        found["resident"] = in_child(resident, folder, shards, kind, found["parameters"])
        kept.write_text(json.dumps(found))
    return json.loads(kept.read_text())


def in_child(work, *arguments):
    """Work in a process of its own, which has nothing in memory yet."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def asked(folder, kind, built):
    """Return what was built with recall and times of each number of shards; sides take turns."""
    queries = stored(folder, "queries")
    offsets = stored(folder, "offsets")
    sides = {each["shards"]: targets_of(folder, each["shards"], kind, each["parameters"]) for each in built}
    augmented = {shards: folded_queries(queries, 1.0) for shards, targets in sides.items()}
    best = stored(folder, "best")
    exact = np.einsum("md,mkd->mk", queries, opened(folder).take(best.ravel()).reshape(*best.shape, DIM))
    exact -= offsets[best]

    def searches(step, count):
        def search(shards):
            for start in range(0, count, step):
                sides[shards].find(augmented[shards][start : start + step], K, sides[shards].defaults, None)

        return {shards: lambda shards=shards: search(shards) for shards in sides}

    with openmp_threads(1):
        single = harness.medians(harness.interleaved(searches(1, SINGLES), REPEATS, thread_time))
        batch = harness.medians(harness.interleaved(searches(BATCH, BATCH), REPEATS, thread_time))
    with openmp_threads(cores()):
        together = harness.medians(harness.interleaved(searches(1, SINGLES), REPEATS))
    for each in built:
        shards = each["shards"]
        found, _ = sides[shards].find(augmented[shards], K, sides[shards].defaults, None)
        each["recall"] = agreement(found, np.sort(exact)[:, ::-1])
        each["single_ms"] = 1000 * single[shards] / SINGLES
        each["shared_ms"] = 1000 * together[shards] / SINGLES
        each["batch_ms"] = 1000 * batch[shards] / BATCH
    return built


def tables(result):
    title = f"{result['targets']:,} × {DIM}, {result['kind']}: shards"
    return [[(title, *COLUMNS[1:]), *rows(result["built"])]]


def rows(built):
    first = built[0]
    for each in built:
        yield [
            str(each["shards"]),
            f"{each['recall']:.3f}",
            f"{each['single_ms']:.1f}",
            f"{each['shared_ms'] / first['shared_ms']:.2f}",
            f"{each['processor_seconds']:.0f}",
            f"{each['peak'] / 1e6:,.0f}",
        ]


def plot(result, figure):
    """Draw times and memory beside one index."""
    axes = figure.subplots()
    built = sorted(result["built"], key=lambda each: each["shards"])
    first = result["built"][0]
    shards = [each["shards"] for each in built]
    for key, label in (("single_ms", "query, one thread"), ("shared_ms", "query, all threads"), ("peak", "build peak")):
        if key in first:
            axes.plot(shards, [each[key] / first[key] for each in built], "o-", label=label)
    axes.set(xlabel="shards", ylabel="beside one index", ylim=0)
    axes.legend()


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, default=200_000)
    parser.add_argument(
        "--shards", type=int, nargs="+", default=[1, 2, 4, 8], help="the first is what others are beside"
    )
    parser.add_argument("--index", default="fastscan_fp16", choices=list(INDEXES))
    parser.add_argument("--folder", type=Path, help="where the files are, and are left for another run")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        if not (folder / "best.npy").exists():
            folder.mkdir(exist_ok=True)
            in_child(prepare, folder, given.targets)
        built = [once_built(folder, shards, given.index) for shards in given.shards]
        result = {
            "targets": given.targets,
            "kind": given.index,
            "built": in_child(asked, folder, given.index, built),
        }
    harness.write("shards", result, plot, tables=tables)


if __name__ == "__main__":
    main()
