"""The cost of `hubless reindex` when little has changed, as a share of the first, full run.

python -m benchmarks.reindex [--targets 100000] [--dim 512] [--bank 10000] [--changed 0.01] [--full]
"""

import argparse
import json
import tempfile
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

import hubless
from benchmarks.harness import low_rank, markdown, with_hubs

CATALOG, NAME = "catalog", "followed"


def timed(job):
    """Wall and processor seconds of a run, and what it did."""
    wall = perf_counter()
    processor = process_time()
    done = hubless.reindex(job, catalog=job.parent / CATALOG, progress=False)
    return perf_counter() - wall, process_time() - processor, done


def row(name, run, whole):
    seconds, processor, done = run
    how = "nothing" if done.manifest is None else f"{done.manifest.job.offsets}, {done.manifest.job.built}"
    shares = [f"{100 * one / of_whole:.1f} %" for one, of_whole in zip((seconds, processor), whole, strict=True)]
    return [name, f"{seconds:.1f}", f"{processor:.1f}", *shares, how]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--bank", type=int, default=10_000)
    parser.add_argument("--changed", type=float, default=0.01, help="share of the targets")
    parser.add_argument("--full", action="store_true", help="a million targets")
    given = parser.parse_args()
    count = 1_000_000 if given.full else given.targets
    some = int(given.changed * count)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        targets, bank, _ = with_hubs(count, given.bank, 1, given.dim)
        np.save(home / "bank.npy", bank)
        # shards, as pipelines write them; what changes is in one of them
        for number, part in enumerate(np.array_split(np.arange(count), max(1, count // 50_000))):
            np.savez(home / f"part-{number:03}.npz", vectors=targets[part], ids=part)
        first = part
        job = home / "job.yaml"
        text = {"version": 1, "collection": NAME, "targets": "*.npz", "query_bank": "bank.npy"}
        job.write_text(json.dumps(text))
        whole = timed(job)
        lines = [row("first run", whole, whole)]
        lines.append(row("nothing changed", timed(job), whole))
        more = low_rank(some, given.dim, 77)
        np.savez(home / "more.npz", vectors=more, ids=count + np.arange(some))
        lines.append(row(f"{100 * given.changed:.0f} % new, in a file of its own", timed(job), whole))
        changed = targets[first].copy()
        changed[:some] = low_rank(some, given.dim, 78)
        np.savez(home / f"part-{number:03}.npz", vectors=changed, ids=first)
        lines.append(row(f"{100 * given.changed:.0f} % changed, in an old file", timed(job), whole))
    print(f"{count:,} targets of {given.dim} dimensions, a query bank of {given.bank:,}\n")
    columns = ["run", "seconds", "processor", "of the first", "of its processor time", "offsets, index"]
    print(markdown([columns, *lines]))


if __name__ == "__main__":
    main()
