"""Shared parts of benchmarks: data with hubs, fair timing, and results as JSON that name the machine."""

import json
import multiprocessing
import os
import platform
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("hubless", "faiss-cpu", "numpy")
DOTS = 110
RANK, NOISE, LEAN = 64, 0.45, 1.0


def low_rank(rows, dim, seed, lean=0.0):
    """Return unit vectors of low rank with noise. With `lean` all lean one way, which makes hubs."""
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
    """Return targets, query bank and test queries. Queries lean one way, so some targets are hubs."""
    return (
        low_rank(targets, dim, 10 * seed),
        low_rank(bank, dim, 10 * seed + 1, LEAN),
        low_rank(queries, dim, 10 * seed + 2, LEAN),
    )


def interleaved(
    sides: Mapping[str, Callable[[], object]], repeats: int, clock: Callable[[], float] = perf_counter
) -> dict[str, list[float]]:
    """Return seconds of each side, `repeats` times. Sides take turns, so a busy moment affects all.

    With `time.thread_time` as the clock, it counts processor time of this thread only.
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


def on_both_clocks(sides, repeats):
    """Return median seconds of each side: by the clock, and of the processors of all its threads."""
    wall = {name: [] for name in sides}
    processor = {name: [] for name in sides}
    for side in sides.values():
        side()
    for _ in range(repeats):
        for name, side in sides.items():
            start = perf_counter()
            busy = process_time()
            side()
            wall[name].append(perf_counter() - start)
            processor[name].append(process_time() - busy)
    return medians(wall), medians(processor)


def medians(times):
    """Return the median of each side."""
    return {name: float(np.median(values)) for name, values in times.items()}


def cost(work, warm=None):
    """Return what work returns, its seconds by the clock and of all threads' processors, and its peak of memory.

    Memory is the peak while it works, less what the process held before. `warm` runs first and is not counted: a
    small part of the same work, so that modules are imported and threads started.
    """
    if warm is not None:
        warm()
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = status("VmRSS")
    wall = perf_counter()
    processor = process_time()
    found = work()
    measured = {"seconds": perf_counter() - wall, "processor_seconds": process_time() - processor}
    return found, {**measured, "peak_bytes": status("VmHWM") - before}


def status(field):
    """Return a field of the status that Linux gives of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def in_children(measure, sides: Iterable[str], repeats: int):
    """Return for each side the run with the least processor time, and the array that it left.

    Sides take turns. Each run is its own process, so that it inherits no freed memory. `measure(side, path=...)`
    returns what `cost` measured, and leaves an array in the file.
    """
    costs: dict[str, dict[str, float]] = {}
    arrays = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeats):
            for side in sides:
                path = Path(folder) / "array.npy"
                with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                    found = pool.submit(measure, side, path=path).result()
                if side not in costs or found["processor_seconds"] < costs[side]["processor_seconds"]:
                    costs[side], arrays[side] = found, np.load(path)
    return costs, arrays


def machine(packages=PACKAGES):
    """Return where and with what it was measured."""
    model = next(
        (line.split(":")[1].strip() for line in cpu_lines() if line.startswith("model name")), platform.processor()
    )
    versions = {}
    for package in packages:
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
    """Return what Linux says of the processor."""
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.is_file() else []


def write(name, result, plot=None, packages=PACKAGES, tables=None):
    """Write a result with machine and command, draw its plot, print its tables, and return the file's path.

    Parameters
    ----------
    plot : draws the result on a figure
    packages : whose versions matter
    tables : makes of the result a list of tables, each columns and rows
    """
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    arguments = [Path(each).name if Path(each).is_dir() else each for each in sys.argv[1:]]
    command = shlex.join(["python", "-m", f"benchmarks.{name}", *arguments])
    whole = {"command": command, "machine": machine(packages), **result}
    path.write_text(json.dumps(whole, indent=1) + "\n")
    if plot is not None:
        draw(whole, plot, path.with_suffix(".png"))
    if tables is not None:
        print("\n\n".join(map(markdown, tables(whole))))
    return path


def read_or_forget(folder, *, cached):
    """Have all files below a folder in the system's memory, or not."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                while cached and file.read(2**20):
                    pass


def earlier(name, field):
    """Return a field of the result that an earlier call of a benchmark left; {} without one."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text())[field] if path.is_file() else {}


def markdown(rows):
    """Return a table of columns and rows in Markdown, figures to the right."""
    columns, *lines = rows
    head, *body = [f"| {' | '.join(line)} |" for line in (columns, *lines)]
    return "\n".join([head, f"|---|{'---:|' * (len(columns) - 1)}", *body])


def draw(result, plot, path):
    """Draw a result to a file."""
    from matplotlib.figure import Figure  # an extra

    figure = Figure(figsize=(8, 3.6), layout="constrained")
    plot(result, figure)
    figure.savefig(path, dpi=DOTS)
