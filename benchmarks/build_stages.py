"""Where the time and the memory of a build go: `python -m benchmarks.build_stages [--correction csls auto]`.

Targets and query bank are `.npy` files. MB is the most memory of the process in the stage.
"""

import argparse
import json
import os
import shutil
import tempfile
import threading
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time
from unittest.mock import patch

import numpy as np

from benchmarks import harness

BANK, DIM, SECONDS = 10_000, 512, 0.005
LEAST_SECONDS = 0.5
COLUMNS = ("stage", "seconds", "processor s", "MB")


class Watch:
    """Follows a build: stages by their names, with seconds, bytes read and peaks of memory."""

    def __init__(self):
        self.stages = {}
        self.begin("opening")

    def begin(self, name):
        self.now = self.stages.setdefault(name, defaultdict(float))
        self.since = perf_counter(), process_time()

    def end(self):
        self.now["seconds"] += perf_counter() - self.since[0]
        self.now["processor_seconds"] += process_time() - self.since[1]

    def step(self, name, total=None):
        self.end()
        self.begin(name)
        return lambda count: None

    @contextmanager
    def sampling(self):
        done = threading.Event()

        def sample():
            while not done.wait(SECONDS):
                stage = self.now
                for field, key in (("RssAnon", "own"), ("VmRSS", "resident")):
                    stage[key] = max(stage[key], harness.status(field))

        thread = threading.Thread(target=sample)
        thread.start()
        try:
            yield self
        finally:
            done.set()
            thread.join()
            self.end()


def counting(method, watch, rows):
    """Return a method `blocks` of a source that counts what is read of sources of so many rows."""

    def blocks(source, *given):
        for block in method(source, *given):
            if source.shape[0] == rows:
                watch.now["rows"] += len(block)
            yield block

    return blocks


def child(folder, count, index, correction):
    """Build, and return what each stage took."""
    import hubless
    from hubless.builder import build as job
    from hubless.store import bundle
    from hubless.vectors.npy import NpyVectors
    from hubless.vectors.sources import HeldVectors

    watch = Watch()
    record_of = bundle.record_of

    def recorded(path):
        if path.name == "targets.npy":
            watch.now["rows"] += count
        return record_of(path)

    @contextmanager
    def steps(progress):
        yield watch

    before = harness.status("VmRSS")
    with (
        patch.object(job, "progress_bars", steps),
        patch.object(bundle, "record_of", recorded),
        patch.object(NpyVectors, "blocks", counting(NpyVectors.blocks, watch, count)),
        patch.object(HeldVectors, "blocks", counting(HeldVectors.blocks, watch, count)),
        watch.sampling(),
    ):
        manifest = hubless.build(
            folder / "catalog", "c", folder / "targets.npy", folder / "bank.npy", index=index, correction=correction
        )
    size = next(folder.glob("catalog/**/index.faiss")).stat().st_size
    stages = [{"stage": name, **found} for name, found in watch.stages.items()]
    return {"stages": stages, "index_bytes": size, "before": before, "recall": manifest.measured.recall_at_10}


def prepare(folder, count, dim):
    """Write the inputs, in blocks."""
    rows = np.lib.format.open_memmap(folder / "targets.npy", "w+", np.float32, (count, dim))
    for start in range(0, count, 2**16):
        block = rows[start : start + 2**16]
        block[:] = harness.low_rank(len(block), dim, 10 + start)
    rows.flush()
    np.save(folder / "bank.npy", harness.low_rank(BANK, dim, 1, harness.LEAN))


def tables(result):
    return [[COLUMNS, *rows_of(build)] for build in result["builds"][-1:]]


def rows_of(result):
    size = result["index_bytes"]
    for stage in result["stages"]:
        if stage["seconds"] >= LEAST_SECONDS:
            yield row(stage["stage"], stage, result)
    whole = {
        key: sum(stage.get(key, 0) for stage in result["stages"]) for key in ("seconds", "processor_seconds", "rows")
    }
    whole["own"] = max(stage.get("own", 0) for stage in result["stages"])
    shape = f"{result['targets']:,} × {result['dim']}, {result['correction']}"
    yield row(f"all: {shape}, {result['index']} of {size / 1e6:,.0f} MB", whole, result)


def row(name, stage, result):
    own = max(0, stage.get("own", 0) - result["before"])
    return [
        name,
        f"{stage['seconds']:.1f}",
        f"{stage['processor_seconds']:.1f}",
        f"{own / 1e6:,.0f}",
    ]


def plot(result, figure):
    """Draw processor seconds of each stage."""
    builds = result["builds"]
    for axes, build in zip(figure.subplots(len(builds), 1, squeeze=False)[:, 0], builds, strict=True):
        stages = build["stages"]
        axes.barh([stage["stage"] for stage in stages], [stage["processor_seconds"] for stage in stages])
        axes.invert_yaxis()
        axes.set(xlabel="processor seconds", title=build["correction"])


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=DIM)
    parser.add_argument("--index", default="fastscan")
    parser.add_argument("--correction", nargs="+", default=["auto"])
    parser.add_argument("--folder", type=Path, help="where the inputs are kept, or left by an earlier run")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=given.folder) as temporary:
        folder = Path(temporary)
        alone(lambda: prepare(folder, given.targets, given.dim))
        builds = [measured(folder, given, correction) for correction in given.correction]
    harness.write("build_stages", {"builds": builds}, plot, tables=tables)


def measured(folder, given, correction):
    """Build in a process of its own, and return the shape and what each stage took."""
    path = folder / "measured.json"
    alone(lambda: path.write_text(json.dumps(child(folder, given.targets, given.index, correction))))
    shutil.rmtree(folder / "catalog")
    shape = {"targets": given.targets, "dim": given.dim, "index": given.index, "correction": correction}
    return shape | json.loads(path.read_text())


def alone(work):
    """Do the work in a process of its own, which leaves its memory to nobody."""
    if not (pid := os.fork()):
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(pid, 0)[1]:
        raise SystemExit("a build failed")


if __name__ == "__main__":
    main()
