"""Servers that are killed with -9 while clients write and read, versions change and disks fill.

What was acknowledged is there once, nothing that was deleted comes back, and every answer in between was right.
"""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, closing, contextmanager, suppress

import pytest
from support import crowd, processes, rivals, writing
from support.disks import disk, filled
from support.nursery import Nursery, drained
from support.server_process import served
from support.serving import wait_until_ready

import hubless
from hubless.errors import VersionNotFound

LONGEST = 0.4
"""Seconds of work until the next kill, at most."""
LONG = [pytest.mark.slow, pytest.mark.timeout(3600)]
SOON = {"poll_seconds": 0.05, "drain_seconds": 0}


class Changes:
    """Changes of versions beside the server: merges by `hubless merge`, some of which are killed, and rollbacks.

    Attributes
    ----------
    merged, killed : how many merges came to their end, and how many did not
    """

    def __init__(self, catalog, rng):
        self.merged = self.killed = 0
        self._catalog = catalog
        self._rng = rng
        self._merge = None

    def step(self):
        """Begin a merge, look after the one that runs, or roll back."""
        if self._merge is None:
            command = [sys.executable, "-m", "hubless", "merge", "--catalog", self._catalog]
            self._merge = subprocess.Popen(
                [*command, "--collection", writing.NAME],
                env=processes.environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
        elif self._merge.poll() is None:
            if self._rng.random() < 0.1:
                self._merge.kill()
        else:
            self.finish()
        if self._rng.random() < 0.1:
            with suppress(VersionNotFound):
                hubless.Catalog(self._catalog).rollback(writing.NAME)

    def finish(self, *allowed):
        """Wait for the merge that runs. It ends well, is killed, or ends with one of these words."""
        if self._merge is None:
            return
        _, told = self._merge.communicate(timeout=120)
        status, self._merge = self._merge.returncode, None
        assert status in (0, -signal.SIGKILL) or any(words in told for words in allowed), told
        self.merged += status == 0
        self.killed += status != 0


@contextmanager
def changes(catalog, rng):
    found = Changes(catalog, rng)
    try:
        yield found
    finally:
        found.finish()


def url_of(server):
    return f"http://{server.host}:{server.port}/v1/collections/{writing.NAME}"


@contextmanager
def started(nursery):
    """A server that is ready, and logs no error that nobody foresaw."""
    with nursery.server(**SOON) as server, drained(server.log) as log:
        try:
            wait_until_ready(f"http://{server.host}:{server.port}")
            yield server
        finally:
            server.stop(signal.SIGKILL)
    assert not [line for line in log if "Traceback" in line], "".join(log)


def kill_all(server):
    for pid in [server.pid, *server.workers()]:
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def catalog(tmp_path):
    writing.build(tmp_path / "catalog")
    return tmp_path / "catalog"


@pytest.fixture
def correction(catalog):
    return hubless.open(catalog, writing.NAME).correction()


@pytest.mark.parametrize("kills", [3, pytest.param(100, marks=LONG)])
def test_acknowledged_writes_survive_kills_of_the_server_and_of_merges(catalog, correction, tmp_path, kills):
    rng, (clients, nobodys) = random.Random(kills), crowd.crowd()  # noqa: S311
    with closing(Nursery(catalog, tmp_path)) as nursery, changes(catalog, rng) as changing:
        for number in range(kills + 1):
            with started(nursery) as server:
                crowd.check(url_of(server), clients, nobodys, correction)
                if number == kills:
                    break
                with crowd.at_work(clients, url_of(server)) as working:
                    changing.step()
                    working.wait(rng, LONGEST)
                    server.stop(signal.SIGKILL)
    print(sum(client.writes for client in clients), "writes,", changing.merged, "merges,", changing.killed, "killed")


@pytest.mark.parametrize(("lives", "singles"), [(1, 1), pytest.param(30, 3, marks=LONG)])
def test_acknowledged_writes_survive_kills_of_one_of_two_workers_and_of_all(catalog, correction, lives, singles):
    rng, (clients, nobodys) = random.Random(lives), crowd.crowd()  # noqa: S311
    with changes(catalog, rng) as changing:
        for number in range(lives + 1):
            with served(catalog, "--workers", 2, **SOON) as server:
                url = f"{server.url}/v1/collections/{writing.NAME}"
                server.wait_until_all_have_loaded(writing.NAME, 2)
                crowd.check(url, clients, nobodys, correction)
                if number == lives:
                    break
                with crowd.at_work(clients, url) as working:
                    for _ in range(singles):
                        changing.step()
                        working.wait(rng, LONGEST)
                        os.kill(rng.choice(server.workers()), signal.SIGKILL)
                        while len(server.workers()) < 2:
                            time.sleep(0.01)
                    working.wait(rng, LONGEST)
                    kill_all(server)
    print(sum(client.writes for client in clients), "writes,", changing.merged, "merges,", changing.killed, "killed")


@pytest.mark.parametrize(("workers", "rounds"), [(2, 2), *(pytest.param(n, 40, marks=LONG) for n in (1, 2, 3))])
def test_history_of_clients_of_the_same_points_is_possible_though_servers_are_killed(tmp_path, workers, rounds):
    history = rivals.build(tmp_path)
    rng, clients = random.Random(workers), [rivals.Rival(number, history) for number in range(4)]  # noqa: S311
    for number in range(rounds + 1):
        with served(tmp_path, "--workers", workers, **SOON) as server:
            url = f"{server.url}/v1/collections/{rivals.NAME}"
            server.wait_until_all_have_loaded(rivals.NAME, workers)
            rivals.settle(history, url)
            if number < rounds:
                with rivals.at_work(clients, url):
                    reached = history.last + rng.randint(5, 50)
                    while history.last < reached:
                        time.sleep(0.001)
                    kill_all(server)
    print(history.writes, "writes and", history.reads, "reads with", workers, "workers and", rounds, "kills")


@pytest.mark.parametrize("lives", [1, pytest.param(20, marks=LONG)])
def test_full_disk_refuses_writes_loses_none_and_takes_them_again_when_there_is_room(tmp_path, lives):
    rng, (clients, nobodys) = random.Random(lives), crowd.crowd()  # noqa: S311
    with disk(tmp_path / "disk", 32) as small_disk, ExitStack() as full:
        catalog = small_disk / "catalog"
        writing.build(catalog)
        correction = hubless.open(catalog, writing.NAME).correction()
        with closing(Nursery(catalog, tmp_path)) as nursery, changes(catalog, rng) as changing:
            for number in range(lives + 1):
                with started(nursery) as server:
                    crowd.check(url_of(server), clients, nobodys, correction)
                    if number == lives:
                        break
                    with crowd.at_work(clients, url_of(server)) as working:
                        changing.step()
                        working.wait(rng, LONGEST)
                        with filled(catalog, rng.randrange(2**17)):
                            working.wait(rng, LONGEST)
                            changing.finish("the disk is full")
                        working.wait(rng, LONGEST)
                        full.enter_context(filled(catalog, rng.randrange(2**16)))
                        working.wait(rng, LONGEST, "refused")
                        server.stop(signal.SIGKILL)
                with started(nursery) as server:  # while the disk is full
                    crowd.check(url_of(server), clients, nobodys, correction)
                full.close()
    print(sum(client.writes for client in clients), "writes,", sum(client.refused for client in clients), "refused")
