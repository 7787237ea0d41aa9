"""What the benchmarks share: data with hubs, fair timing, and results as JSON that name the machine."""

import json
import os
import platform
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

import numpy as np

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("hubless", "faiss-cpu", "numpy")
RANK, NOISE, LEAN = 64, 0.45, 1.0


def low_rank(rows, dim, seed, lean=0.0):
    """Unit vectors of low rank with noise; with `lean` all lean one way, which makes hubs of targets that lie there."""
    common = np.random.default_rng(0)
    basis = np.linalg.qr(common.standard_normal((dim, RANK)))[0].T.astype(np.float32)
    spread = (1 / np.sqrt(1 + np.arange(RANK) / 8)).astype(np.float32)
    spread /= np.linalg.norm(spread)
    towards = common.standard_normal(RANK).astype(np.float32) * spread
    towards *= lean / np.linalg.norm(towards)
    rng = np.random.default_rng(1 + seed)
    vectors = np.empty((rows, dim), np.float32)
    for start in range(0, rows, 2**16):
        block = vectors[start : start + 2**16]
        block[:] = (rng.standard_normal((len(block), RANK), np.float32) * spread + towards) @ basis
        block += rng.standard_normal(block.shape, np.float32) * np.float32(NOISE / np.sqrt(dim))
        block /= np.linalg.norm(block, axis=1, keepdims=True)
    return vectors


def with_hubs(targets, bank, queries, dim, seed=0):
    """Targets, query bank and test queries; the queries lean one way, and so some targets are hubs."""
    return (
        low_rank(targets, dim, 10 * seed),
        low_rank(bank, dim, 10 * seed + 1, LEAN),
        low_rank(queries, dim, 10 * seed + 2, LEAN),
    )


def interleaved(
    sides: Mapping[str, Callable[[], object]], repeats: int, clock: Callable[[], float] = perf_counter
) -> dict[str, list[float]]:
    """Seconds of each side, `repeats` times, the sides taking turns so that a busy moment hits all of them.

    `time.thread_time` as the clock counts this thread's processor time alone, which no other process lengthens.
    """
    times: dict[str, list[float]] = {name: [] for name in sides}
    for side in sides.values():
        side()
    for _ in range(repeats):
        for name, side in sides.items():
            start = clock()
            side()
            times[name].append(clock() - start)
    return times


def medians(times):
    """The median of each side."""
    return {name: float(np.median(values)) for name, values in times.items()}


def machine():
    """Where and with what it was measured."""
    model = next(
        (line.split(":")[1].strip() for line in cpu_lines() if line.startswith("model name")), platform.processor()
    )
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = None
    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "versions": versions,
    }


def cpu_lines():
    """What Linux says of the processor."""
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.is_file() else []


def write(name, result):
    """Write a result with the machine it was measured on; the file's path."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"machine": machine(), **result}, indent=2) + "\n")
    return path
