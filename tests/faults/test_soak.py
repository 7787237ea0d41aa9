"""Ten minutes of everything at once, while versions change: nothing grows.

SOAK_SECONDS sets another length. Memory is judged by the Theil-Sen slope, the median of the slopes between all
pairs of samples, over the last two thirds of the time: times that time, it has to stay below `MOST_GROWTH`.
"""

import itertools
import os
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest
from support import catalogs, versions
from support.server_process import resources, served

SECONDS = float(os.environ.get("SOAK_SECONDS", "600"))
CLIENTS = 4
SWAP_SECONDS = 3.0
MOST_GROWTH = 8 * 2**20
"""Bytes; of half a million requests it would take 17 of each."""
BINARY = {"content-type": "application/octet-stream"}
WORDS, SONGS = "/v1/collections/words", f"/v1/collections/{versions.NAME}"


def requests():
    """What clients ask, again and again, with the status that each has to get."""
    vectors = catalogs.words().query_bank.astype("<f4")
    for number in itertools.count():
        vector = vectors[number % len(vectors)]
        yield 200, "POST", f"{WORDS}/query", {"json": {"vector": vector.tolist(), "limit": 5, "with": ["payload"]}}
        yield 200, "POST", f"{WORDS}/query?limit=50&with=vector", {"content": vector.tobytes(), "headers": BINARY}
        yield 200, "POST", f"{WORDS}/query", {"json": {"text": "amber birch", "strength": 0}}
        yield 200, "POST", f"{WORDS}/query/batch", {"content": vectors[:20].tobytes(), "headers": BINARY}
        yield 200, "POST", f"{SONGS}/query", {"json": versions.ASK}
        yield 200, "POST", f"{SONGS}/query/batch", {"json": {"queries": [versions.ASK] * 5}}
        yield 200, "GET", f"{WORDS}/points/target-{number % 200 + 50}?with=vector", {}
        yield 200, "POST", f"{WORDS}/count", {}
        yield 422, "POST", f"{WORDS}/query", {"json": {"vector": [1.0] * (number % 20)}}
        yield 404, "GET", f"/v1/collections/none-{number}", {}
        if number % 50 == 0:
            yield 200, "GET", "/metrics", {}


def ask_until(stop, url, seen):
    """Ask over a connection that is renewed now and then; wrong answers are counted by what was asked."""
    client = httpx.Client(base_url=url, timeout=60)
    for number, (status, method, path, more) in enumerate(requests()):
        if stop.is_set():
            break
        if number % 1000 == 999:
            client.close()
            client = httpx.Client(base_url=url, timeout=60)
        answered = client.request(method, path, **more).status_code
        seen["right" if answered == status else f"{method} {path} {answered}"] += 1
    client.close()


def slope(samples):
    """The Theil-Sen slope of (time, value) pairs."""
    times, values = np.array(samples, float).T
    first, second = np.triu_indices(len(times), 1)
    return float(np.median((values[second] - values[first]) / (times[second] - times[first])))


def at_rest(server):
    """Threads and descriptors when nobody is connected."""
    time.sleep(1)
    found = resources(server.pid)
    return found["threads"], found["descriptors"]


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 300)
def test_nothing_grows_under_mixed_load_while_versions_change(tmp_path):
    catalogs.build(tmp_path)
    ids = versions.build(tmp_path, 3)
    seen, samples, stop = Counter(), [], threading.Event()
    with served(tmp_path, poll_seconds=0.2, log_level="info") as server, ThreadPoolExecutor(CLIENTS) as pool:

        def load(seconds, sampled):
            stop.clear()
            asking = [pool.submit(ask_until, stop, server.url, seen) for _ in range(CLIENTS)]
            swaps, start = itertools.cycle(ids), time.monotonic()
            while (now := time.monotonic() - start) < seconds and not any(future.done() for future in asking):
                versions.activate(tmp_path, next(swaps))
                time.sleep(SWAP_SECONDS)
                if sampled:
                    samples.append((now, resources(server.pid)["memory"]))
            stop.set()
            for future in asking:
                future.result()

        load(SECONDS / 3, sampled=False)
        threads, descriptors = at_rest(server)
        load(2 * SECONDS / 3, sampled=True)
        threads_after, descriptors_after = at_rest(server)
        page = server.metrics()
    growth = slope(samples) * (samples[-1][0] - samples[0][0])
    print(
        f"{seen.total()} requests, growth {growth / 2**20:.2f} MiB", *(round(memory / 2**20) for _, memory in samples)
    )
    assert set(seen) == {"right"}
    assert growth < MOST_GROWTH
    assert descriptors_after == descriptors
    # /metrics is asked by all clients at once when it so happens, and each then has a thread that stays for the next
    assert threads_after < threads + CLIENTS
    assert page["hubless_waiting_queries"] == 0
    assert sum("is ready: version" in line for line in server.log) > SECONDS / SWAP_SECONDS / 2
    assert not any("ERROR" in line or "Traceback" in line for line in server.log)
