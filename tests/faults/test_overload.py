"""Four times what can be answered: every request is answered, refused at once or told that its time is over."""

import json
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np
import pytest
from support import busy
from support.server_process import served

ROOT = Path(__file__).parents[2]
SECONDS, ROWS = 4, 50


def generate(module, url, queries, *options):
    """What a load generator of the benchmarks found."""
    command = [sys.executable, "-m", module, url, str(queries), *map(str, options), "--seconds", str(SECONDS)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(ended.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("deadline_ms", [300, 10_000])
def test_every_request_of_an_overload_is_accounted_for_and_the_server_recovers(busy_catalog, tmp_path, deadline_ms):
    queries = tmp_path / "queries.npy"
    # a line is a batch: so the search is what limits, and not how many requests a process can read
    np.save(queries, np.random.default_rng(1).normal(size=(200, ROWS * busy.DIM)).astype(np.float32))
    limits = {"search_threads": 1, "max_waiting": 10 * ROWS, "default_timeout_ms": deadline_ms}
    with served(busy_catalog, **limits) as server:
        url = server.url + busy.BATCH
        peak = generate("benchmarks.load", url, queries, "--connections", 8, "--binary")["rate"]
        found = generate("benchmarks.open_load", url, queries, "--rate", 4 * peak)
        assert set(found["statuses"]) <= {"200", "429", "504"}
        assert found["lost"] == 0
        assert found["statuses"]["200"]["answers"] > 0.3 * peak * SECONDS
        assert sum(found["statuses"][status]["answers"] for status in found["statuses"] if status != "200") > 0
        while server.metrics()["hubless_waiting_queries"]:
            time.sleep(0.01)
        assert httpx.post(server.url + busy.QUERY, **busy.batch(1)).status_code == 200
        assert not any("Traceback" in line for line in server.log)
