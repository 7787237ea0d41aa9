"""Several processes over one mapped index hold one copy of its vectors."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.problems import normal

import hubless

COUNT, DIM = 30_000, 126
READER = """
import sys
import numpy as np
import hubless
opened = hubless.open(sys.argv[1], "c", hashes=False)
opened.query(np.eye(8, 126, dtype=np.float32), parameters={})
print("ready", flush=True)
for _ in sys.stdin:
    totals = {}
    for line in open("/proc/self/smaps_rollup"):
        name, _, rest = line.partition(":")
        if rest.endswith("kB\\n"):
            totals[name] = 1024 * int(rest.split()[0])
    print(totals["Pss_File"], totals["Pss_Anon"], flush=True)
"""


def ask(process):
    process.stdin.write("now\n")
    process.stdin.flush()
    return [int(number) for number in process.stdout.readline().split()]


def start(catalog):
    process = subprocess.Popen(
        [sys.executable, "-c", READER, str(catalog)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="Linux counts shared pages, others do not say")
def test_second_process_shares_the_pages_of_the_first(tmp_path):
    manifest = hubless.build(
        tmp_path, "c", normal(COUNT, DIM, 0), normal(60, DIM, 1), index="flat", correction="none", progress=False
    )
    size = manifest.files["index.faiss"].size
    assert size > 14_000_000
    first = start(tmp_path)
    try:
        alone, _ = ask(first)
        second = start(tmp_path)
        try:
            shared, _ = ask(first)
        finally:
            second.communicate(timeout=30)
    finally:
        first.communicate(timeout=30)
    # each is charged half of what both map; the other half of the index is the second's
    assert alone - shared > 0.4 * size
