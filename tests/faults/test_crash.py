"""Servers that are killed with -9 while clients write and read, and versions change.

What was acknowledged is there once, nothing that was deleted comes back, and every answer in between was right.
"""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import pytest
from support import processes, rivals
from support.server_process import served

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
                [*command, "--collection", rivals.NAME],
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
                hubless.Catalog(self._catalog).rollback(rivals.NAME)

    def finish(self):
        """Wait for the merge that runs. It ends well, or is killed."""
        if self._merge is None:
            return
        _, told = self._merge.communicate(timeout=120)
        status, self._merge = self._merge.returncode, None
        assert status in (0, -signal.SIGKILL), told
        self.merged += status == 0
        self.killed += status != 0


@contextmanager
def changes(catalog, rng):
    found = Changes(catalog, rng)
    try:
        yield found
    finally:
        found.finish()


WITH_MERGES = ("put", "put", "insert", "patch", "delete", "delete title")
"""What clients do while versions change: a point's seq may become that of a version before it is named."""


def kill_all(server):
    for pid in [server.pid, *server.workers()]:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(("workers", "lives"), [(2, 1), *(pytest.param(n, 40, marks=LONG) for n in (1, 2, 3))])
@pytest.mark.parametrize("merging", [True, False])
def test_history_of_clients_is_possible_though_workers_and_merges_are_killed(tmp_path, workers, lives, merging):
    """Between two kills of all workers one of several is killed."""
    catalog, rng = tmp_path, random.Random(workers)  # noqa: S311
    history = rivals.build(catalog)
    clients = [rivals.Rival(number, history, WITH_MERGES if merging else rivals.KINDS) for number in range(6)]
    with changes(catalog, rng) as changing:
        for number in range(lives + 1):
            with served(catalog, "--workers", workers, **SOON) as server:
                url = f"{server.url}/v1/collections/{rivals.NAME}"
                server.wait_until_all_have_loaded(rivals.NAME, workers)
                rivals.settle(catalog, history, url)
                if number == lives:
                    break
                with rivals.at_work(clients, url) as working:
                    if merging:
                        changing.step()
                    working.wait(rng, LONGEST)
                    if workers > 1:
                        os.kill(rng.choice(server.workers()), signal.SIGKILL)
                        while len(server.workers()) < workers:
                            time.sleep(0.01)
                        working.wait(rng, LONGEST)
                    kill_all(server)
    print(history.writes, "writes and", history.reads, "reads,", changing.merged, "merges,", changing.killed, "killed")
