"""Many small collections: `python -m benchmarks.many_collections [--collections 500] [--side NAME]`.

`hubless serve` with one worker over a catalog of small collections: seconds until /readyz is ready, seconds of
processors until then, and the share of a processor that it takes later while nobody asks. `--side` names the line: the
same call with older code on PYTHONPATH adds one beside it.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, sleep

import httpx
import numpy as np

import hubless
from benchmarks import harness
from hubless.store.catalog import VERSIONS

TARGETS, DIM, BANK = 200, 16, 100
SETTLING = 8.0
"""Seconds after the start in which hashes are compared and all is looked at once."""
COLUMNS = ("side", "ready s", "processor s", "idle, of a processor", "load")


def fill(catalog, collections):
    """Build one collection, and copy it under other names: a folder is read under the name that it has."""
    targets = np.random.default_rng(0).standard_normal((TARGETS, DIM)).astype(np.float32)
    hubless.build(catalog, "c0", targets, targets[:BANK] + 0.1, progress=False)
    for number in range(1, collections):
        shutil.copytree(catalog / "c0", catalog / f"c{number}")
    assert len(list(catalog.glob(f"*/{VERSIONS}"))) == collections


def processor(pid):
    """Return the seconds of processors, user and system, that a process has taken."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def measure(catalog, idle):
    """Return what a start took, and what the server takes while nobody asks."""
    command = [sys.executable, "-m", "hubless", "serve", "--catalog", catalog, "--port", "0", "--workers", "1"]
    with tempfile.TemporaryFile("w+") as told:
        started = perf_counter()
        server = subprocess.Popen([*map(str, command), "--json"], stdout=subprocess.PIPE, stderr=told, text=True)
        try:
            url = json.loads(server.stdout.readline())["url"]
            while httpx.get(f"{url}/readyz", timeout=60).status_code != 200:
                assert server.poll() is None, "the server has ended"
                sleep(0.05)
            ready = perf_counter() - started
            busy = processor(server.pid)
            sleep(SETTLING)
            before = processor(server.pid)
            began = perf_counter()
            sleep(idle)
            share = (processor(server.pid) - before) / (perf_counter() - began)
        finally:
            server.terminate()
            server.wait()
    return {"ready": ready, "processor": busy, "idle": share, "load": os.getloadavg()[0]}


def tables(result):
    rows = [
        [side, f"{line['ready']:.1f}", f"{line['processor']:.1f}", f"{line['idle']:.3f}", f"{line['load']:.1f}"]
        for side, line in result["sides"].items()
    ]
    return [[COLUMNS, *rows]]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--collections", type=int, default=500)
    parser.add_argument("--idle", type=float, default=30, help="seconds in which nobody asks")
    parser.add_argument("--side", default="now")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder), given.collections)
        sides = harness.earlier("many_collections", "sides") | {given.side: measure(Path(folder), given.idle)}
    harness.write("many_collections", {"collections": given.collections, "sides": sides}, tables=tables)


if __name__ == "__main__":
    main()
