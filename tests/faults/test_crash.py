"""Servers that are killed with -9 while clients write: what was acknowledged is there once, and nothing else."""

import os
import random
import signal
import threading
import zlib
from contextlib import closing, contextmanager, suppress

import httpx
import pytest
from support import writing
from support.nursery import Nursery, drained
from support.server_process import served
from support.serving import wait_until_ready

import hubless

WRITERS = 3
LONGEST = 0.4
"""Seconds of writing until the server is killed, at most."""


class Client:
    """Writes one point after another, and remembers what must have come of it.

    Attributes
    ----------
    stored : id → the seed of its vector; None for a point that was deleted
    doubtful : what the last write would have made of an id; its answer never came
    """

    def __init__(self, number):
        self.rng = random.Random(number)  # noqa: S311
        self.name = f"writer-{number}"
        self.stored = {}
        self.doubtful = {}
        self.count = 0

    def write(self, url):
        """Write until the server is gone."""
        with suppress(httpx.TransportError), httpx.Client(base_url=url, timeout=60) as http:
            while True:
                self._write_one(http)

    def _write_one(self, http):
        self.count += 1
        there = [wanted for wanted, seed in self.stored.items() if seed is not None]
        if there and self.rng.random() < 0.3:
            wanted, seed = self.rng.choice(there), None
        else:
            new = not there or self.rng.random() < 0.7
            wanted = f"{self.name}-{self.count}" if new else self.rng.choice(there)
            seed = zlib.crc32(f"{self.name}-{self.count}".encode())
        self.doubtful = {wanted: seed}
        if seed is None:
            answer = http.post("/points/delete", json={"ids": [wanted]})
        else:
            answer = http.put("/points", json={"points": [writing.point(wanted, seed)]})
        assert answer.status_code == 200, answer.text
        self.stored |= self.doubtful
        self.doubtful = {}

    def settle(self, found):
        """Take over what came of the write in doubt: it is there as a whole or not at all."""
        for wanted, seed in self.doubtful.items():
            before = self.stored.get(wanted)
            allowed = {before, seed}
            is_there = found.get(wanted)
            assert (is_there is not None) in {each is not None for each in allowed}
            if is_there is None:
                self.stored[wanted] = None
            else:
                self.stored[wanted] = next(each for each in allowed if each is not None and _is_of(is_there, each))
        self.doubtful = {}


def _is_of(target, seed):
    vector = {}
    writing.put(vector, writing.point("x", seed))
    return abs(vector["x"][0] - target["vector"]).max() < 1e-5


@contextmanager
def writers(clients, url):
    threads = [threading.Thread(target=client.write, args=[url]) for client in clients]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join()


def check(url, clients, correction):
    """Fail unless the server has what was acknowledged, and nothing else."""
    with httpx.Client(base_url=url, timeout=60) as http:
        found = {each["id"]: each for each in writing.scrolled(http, limit=200, **{"with": ["vector"]})}
        stored = writing.model()
        for client in clients:
            client.settle(found)
            for wanted, seed in client.stored.items():
                if seed is not None:
                    writing.put(stored, writing.point(wanted, seed))
        writing.check(http, stored, correction)


@pytest.fixture
def catalog(tmp_path):
    writing.build(tmp_path / "catalog")
    return tmp_path / "catalog"


@pytest.fixture
def correction(catalog):
    return hubless.open(catalog, writing.NAME).correction()


@pytest.mark.parametrize("kills", [6, pytest.param(100, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])])
def test_acknowledged_writes_survive_kills_at_any_moment(catalog, correction, tmp_path, kills):
    rng, clients = random.Random(kills), [Client(number) for number in range(WRITERS)]  # noqa: S311
    with closing(Nursery(catalog, tmp_path)) as nursery:
        for _ in range(kills):
            with nursery.server() as server, drained(server.log):
                url = f"http://{server.host}:{server.port}"
                wait_until_ready(url)
                check(f"{url}/v1/collections/{writing.NAME}", clients, correction)
                with writers(clients, f"{url}/v1/collections/{writing.NAME}"):
                    threading.Event().wait(rng.uniform(0, LONGEST))
                    server.stop(signal.SIGKILL)
        with nursery.server() as server, drained(server.log):
            wait_until_ready(f"http://{server.host}:{server.port}")
            check(f"http://{server.host}:{server.port}/v1/collections/{writing.NAME}", clients, correction)
            server.stop()
    assert sum(client.count for client in clients) > 2 * kills


@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])])
def test_acknowledged_writes_of_two_workers_survive_kills_of_all_and_merges(catalog, correction, kills):
    rng, clients = random.Random(kills), [Client(number) for number in range(WRITERS)]  # noqa: S311
    for number in range(kills + 1):
        with served(catalog, "--workers", 2, poll_seconds=0.2) as server:
            url = f"{server.url}/v1/collections/{writing.NAME}"
            server.wait_until_all_have_loaded(writing.NAME, 2)
            check(url, clients, correction)
            if number == kills:
                return
            with writers(clients, url):
                threading.Event().wait(rng.uniform(0, LONGEST))
                try:
                    if number % 2 == 0:
                        hubless.merge(catalog, writing.NAME, keep=2)
                finally:
                    for pid in [server.pid, *server.workers()]:
                        os.kill(pid, signal.SIGKILL)
