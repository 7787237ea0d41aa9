import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.problems import normal
from support.until import until

import hubless

COUNT, DIM = 30_000, 126
READER = """
import sys
import numpy as np
import hubless
opened = hubless.open(sys.argv[1], "c", hashes=False)
print("ready", flush=True)
for _ in sys.stdin:
    opened.query(np.eye(8, 126, dtype=np.float32), parameters={})
    found = {"Shared": 0, "Private": 0}
    of_index = False
    for line in open("/proc/self/smaps"):
        name, *rest = line.split()
        if not name.endswith(":"):
            of_index = line.rstrip().endswith("/index.faiss")
        elif of_index and (kind := name.split("_")[0]) in found:
            found[kind] += 1024 * int(rest[0])
    print(*found.values(), flush=True)
"""


@contextmanager
def reader(catalog):
    process = subprocess.Popen(
        [sys.executable, "-c", READER, str(catalog)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.communicate(timeout=30)


def pages(process):
    process.stdin.write("now\n")
    process.stdin.flush()
    return [int(number) for number in process.stdout.readline().split()]


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="Linux counts shared pages, others do not say")
def test_second_process_shares_the_pages_of_the_first(tmp_path):
    manifest = hubless.build(tmp_path, "c", normal(COUNT, DIM, 0), normal(60, DIM, 1), index="flat", correction="none")
    size = manifest.files[f"segments/{manifest.version}/index.faiss"].size
    assert size > 14_000_000
    # the system may take pages back at any time; then a query brings them again
    with reader(tmp_path) as first:
        until(lambda: pages(first)[1] > 0.9 * size)
        assert pages(first)[0] < 0.1 * size
        with reader(tmp_path) as second:
            until(lambda: min(pages(each)[0] for each in (first, second)) > 0.9 * size)
