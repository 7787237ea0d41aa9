"""Measure a library or a server of nearest neighbours, at the fastest setting that reaches a recall."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.segments import busy, tree

K, TRIED, SINGLES, RUNS = 10, 100, 100, 5
How = Mapping[str, Any]


@dataclass(frozen=True)
class Peer:
    """Vectors that are held ready: how to search them, with which values of settings, and whose processor time that is.

    `search(queries, how)` returns rows (m, 10). `batched`: it takes many queries in one call.
    """

    search: Callable[[np.ndarray, How], np.ndarray]
    ladder: Mapping[str, Sequence[int]]
    batched: bool = True
    processor: Callable[[], float] = process_time

    def rows(self, queries, how):
        if self.batched:
            return self.search(queries, how)
        return np.concatenate([self.search(query[np.newaxis], how) for query in queries])

    def singles(self, queries, how):
        """Return median milliseconds of single queries by the clock, and mean milliseconds of the processor."""
        self.search(queries[:1], how)  # some take a setting in only then
        walls = []
        before = self.processor()
        for query in queries:
            started = perf_counter()
            self.search(query[np.newaxis], how)
            walls.append(perf_counter() - started)
        return 1000 * median(walls), 1000 * (self.processor() - before) / len(queries)


def recall(found, wanted):
    """Return the share of the wanted rows (m, 10) that are among those found."""
    return float(np.mean([len(np.intersect1d(*each)) for each in zip(found, wanted, strict=True)])) / K


def frontier(ladder, reaches):
    """Return the settings with which less of neither value would reach it; `ladder` has one or two lists of values.

    More of a value never finds less. So the walk goes from the least of the first value and the most of the second one
    to less of the second while it reaches, and to more of the first while it does not.
    """
    (first, lines), (second, columns) = [*ladder.items(), (None, [None])][:2]
    found = []
    place = len(columns) - 1
    for value in lines:
        best = None
        while place >= 0:
            how = {first: value} if second is None else {first: value, second: columns[place]}
            if not reaches(how):
                break
            best, place = how, place - 1
        if best is not None:
            found.append(best)
    return found


def figures(peer, queries, wanted, recalls):
    """Return for each recall the fastest setting that reaches it, with its figures; None if none does."""
    known = {}
    found = {}

    def recall_at(how):
        key = tuple(how.values())
        if key not in known:
            known[key] = recall(peer.rows(queries, how), wanted)
        return known[key]

    for aim in recalls:
        reaching = frontier(peer.ladder, lambda how, aim=aim: recall_at(how) >= aim)
        if not reaching:
            found[str(aim)] = None
            continue
        best = reaching[0]
        if len(reaching) > 1:
            times = [peer.singles(queries[:TRIED], how)[1] for how in reaching]
            best = reaching[int(np.argmin(times))]
        found[str(aim)] = {"how": best, "recall": recall_at(best), **timed(peer, queries, best)}
    return found


def timed(peer, queries, how):
    """Return the best of several runs: milliseconds of single queries, and queries of a batch a processor second."""
    runs = [peer.singles(queries[:SINGLES], how) for _ in range(RUNS)]
    wall, processor = (min(each) for each in zip(*runs, strict=True))
    line = {"single_wall_ms": wall, "single_ms": processor, "batch_per_s": None}
    if peer.batched:
        took = []
        for _ in range(RUNS):
            before = peer.processor()
            peer.search(queries, how)
            took.append(peer.processor() - before)
        line["batch_per_s"] = len(queries) / min(took)
    return line


def memory(pid):
    """Return the bytes of memory of a process and all below it; what they share counts once."""
    total = 0
    for each in tree(pid):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
            total += 1024 * next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total


def processor(pid):
    """Return processor seconds of a process and all below it, finer than `busy`, but of threads that live only."""
    total = 0
    for each in tree(pid):
        for task in Path(f"/proc/{each}/task").glob("*/schedstat"):
            with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
                total += int(task.read_text().split()[0])
    return total / 1e9


def cost_of(pid, work):
    """Return what the work returns, its seconds, and processor seconds of a process and all below it."""
    started = perf_counter()
    before = busy(pid)
    found = work()
    return found, {"seconds": perf_counter() - started, "processor_seconds": busy(pid) - before}


def own_cost(work):
    """Return what the work returns, and its seconds and processor seconds in this process."""
    started = perf_counter()
    before = process_time()
    found = work()
    return found, {"seconds": perf_counter() - started, "processor_seconds": process_time() - before}


def one_thread():
    """Ask libraries that share a query between threads for one thread; call it before they are imported."""
    os.environ |= {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
