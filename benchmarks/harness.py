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
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from operator import itemgetter
from pathlib import Path
from time import perf_counter, process_time, sleep

import numpy as np

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("hubless", "faiss-cpu", "numpy")
DOTS = 110
KERNEL = 2
"""The process whose children are threads of the kernel."""
RANK, NOISE, LEAN = 64, 0.45, 1.0
BOUNDS = {"before": 3.0, "others": 0.1, "spread": 0.1}
"""A measurement was disturbed if the load before it was beyond the first, if other processes took more than this share
of the processors, or if its runs differ by more than that."""
TRIES, PATIENCE = 3, 120
"""How often to measure what was disturbed, and seconds to wait for a lower load."""


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


def undisturbed(measure, rates=lambda found: (), tries=TRIES):
    """Return what it measures, and the load meanwhile; wait for a quiet machine, and measure again what was disturbed.

    `rates` says of what was measured the rates of runs that should not differ. With one try nothing is waited for.
    """
    kept = []
    for _ in range(tries):
        patience = PATIENCE if tries > 1 else 0
        while patience and os.getloadavg()[0] > BOUNDS["before"]:
            sleep(1)
            patience -= 1
        load = {"before": os.getloadavg()[0]}
        before = others()
        started = perf_counter()
        found = measure()
        took = sum(others(before).values()) - sum(before.values())
        load["others"] = max(0.0, took / (perf_counter() - started) / len(os.sched_getaffinity(0)))
        runs = list(rates(found)) or [1.0]
        load["spread"] = 1 - min(runs) / max(runs)
        kept.append((max(load[name] / bound for name, bound in BOUNDS.items()), found, load))
        if kept[-1][0] <= 1:
            break
    _, found, load = min(kept, key=itemgetter(0))
    return found, load


def others(known=None):
    """Return processor seconds by pid, with children that ended, of processes that are not this one nor below it.

    Of those that are not `known`, only such that are below one: a server of ours may have left its parent.
    """
    parents = {}
    seconds = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            fields = path.read_text().rpartition(")")[2].split()
            pid = int(path.parent.name)
            parents[pid] = int(fields[1])
            seconds[pid] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def line(pid):
        while pid > KERNEL:
            yield pid
            pid = parents.get(pid, 0)

    def is_other(pid):
        above = list(line(pid))
        ours = os.getpid() in above or parents[pid] == KERNEL
        return bool(above) and not ours and (known is None or not known.keys().isdisjoint(above))

    return {pid: took for pid, took in seconds.items() if is_other(pid)}


def shown_load(load):
    """Return the load before a measurement, and what others took of the processors during it."""
    if not isinstance(load, dict):  # of an earlier benchmark
        return f"{load:.0f}"
    return f"{load['before']:.1f}/{load['others']:.0%}"


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
