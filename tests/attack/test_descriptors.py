"""More collections than descriptors: those that fit are served, the others are named, and everybody gets an answer."""

import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from support import small
from support.raw import connect
from support.server_process import served

COUNT, FIT = 100, 80
"""Collections, and how many of them 256 descriptors are enough for."""


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "most", "fit"), [(1, 256, FIT), (3, 256, FIT), (1, 1024, COUNT)])
def test_collections_that_descriptors_suffice_for_are_served_in_a_crowd_of_clients(tmp_path, workers, most, fit):
    small.merged(tmp_path, "c0")
    for number in range(1, COUNT):
        shutil.copytree(tmp_path / "c0", tmp_path / f"c{number}")
    before = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (256, {most}))"
    with served(tmp_path, before=before, workers=workers) as server, ThreadPoolExecutor(16) as pool:
        crowd = [connect(server.url) for _ in range(300)]

        def write(number):
            url = f"{server.url}/v1/collections/c{number}/points"
            return httpx.put(url, json={"points": [{"id": "new", "vector": None}]}, timeout=60).json().get("code")

        assert Counter(pool.map(write, range(COUNT))) == Counter({None: fit, "storage": COUNT - fit})
        seen = httpx.get(f"{server.url}/readyz", timeout=60).json()["collections"].values()
        assert Counter(each["status"] for each in seen) == Counter(ready=fit, failed=COUNT - fit)
        assert sum("raise the limit" in line for line in server.log) == (workers if fit < COUNT else 0)
        for connection in crowd:
            connection.close()
