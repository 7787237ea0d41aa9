"""Servers that are killed with -9 while clients write and read, and versions change.

What was acknowledged is there once, nothing that was deleted comes back, and every answer in between was right, of
whichever worker of whichever server. So is each restored backup. CRASH_SECONDS sets the length of the long
form, 20 minutes; the counts at its end are of what was checked.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress

import httpx
import pytest
from support import processes, rivals
from support.server_process import served
from support.serving import serving_catalog

import hubless
from hubless.builder.backup import back_up, restore as unpack
from hubless.errors import VersionNotFound

LONGEST = 0.4
"""Seconds of work until the next kill, at most."""
SECONDS = float(os.environ.get("CRASH_SECONDS", "1200"))
FORMS = [(workers, servers, merging) for workers, servers in ((1, 1), (3, 1), (3, 2)) for merging in (True, False)]
"""Workers of a server, servers on the catalog, and whether versions of the collection change that all write to."""
LONG = [pytest.mark.slow, pytest.mark.timeout(SECONDS + 900)]
RESTORED = 0.2
"""Of the lives of servers in a long run."""
FLUSHED = {"merge_at": 10, "keep_versions": 100}
"""Of a trained index: after so few writes it is soon trained anew. All versions of a life of the servers stay."""
SOON = {"poll_seconds": 0.05, "grace_seconds": 1, "default_timeout_ms": 60_000}


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
        """Wait for the merge that runs. It ends well, is killed, or gives up as another version became current."""
        if self._merge is None:
            return
        _, told = self._merge.communicate(timeout=120)
        status, self._merge = self._merge.returncode, None
        assert status in (0, -signal.SIGKILL) or "became current while the job ran" in told, told
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


def end_all(server, rng):
    """End a server and its workers, mostly by a kill."""
    if rng.random() < 0.3:
        os.kill(server.pid, signal.SIGTERM)
        assert server.process.wait(120) == 0
        return
    for pid in [server.pid, *server.workers()]:
        os.kill(pid, signal.SIGKILL)


def kill_one(server, workers, rng):
    os.kill(rng.choice(server.workers()), signal.SIGKILL)
    while len(server.workers()) < workers:
        time.sleep(0.01)


def restore(catalog, folder, history, url):
    """Back up while others work, restore into an empty folder, and look whether that is a state that ever was."""
    low = history.last
    with httpx.Client(base_url=rivals.of_photos(url), timeout=120) as http:
        answer = http.post("/scroll", json={"limit": 2})
        page = answer.json() if answer.is_success else None
    assert back_up(hubless.Catalog(catalog), folder / "backup").problems == []
    assert unpack(folder / "backup", hubless.Catalog(folder / "restored")).problems == []
    most = history.most
    versions = hubless.Catalog(folder / "restored").versions(rivals.NAME)
    history.merged |= {version.manifest.log_seq for version in versions}
    with (
        serving_catalog(folder / "restored", hubness=False) as restored,
        httpx.Client(base_url=rivals.of_photos(restored), timeout=120) as http,
    ):
        last = http.post("/points/delete", json={"ids": ["nobody"]}).raise_for_status().json()["seq"]
        found = history.values(rivals.all_points(http, last))
        history.saw(low, most, lambda state: state, found)
        if page and page["cursor"]:
            answer = http.post("/scroll", json={"limit": 1000, "cursor": page["cursor"]})
            if answer.status_code != httpx.codes.GONE:  # the version was pruned
                points = [*page["points"], *answer.raise_for_status().json()["points"]]
                history.scrolled(low, most, [point["id"] for point in points])
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("workers", "servers", "merging", "seconds"),
    [
        pytest.param(3, 1, False, 0, marks=pytest.mark.slow),
        pytest.param(2, 2, True, 0, marks=pytest.mark.slow),
        (2, 1, True, 0),
        *(pytest.param(*form, SECONDS / len(FORMS), marks=LONG) for form in FORMS),
    ],
)
def test_history_of_clients_is_possible_though_workers_and_merges_are_killed(
    tmp_path, workers, servers, merging, seconds
):
    """One life of all servers, or as many as the seconds take. In each, workers and whole servers are killed."""
    catalog, rng, done = tmp_path / "catalog", random.Random(workers), Counter()  # noqa: S311
    history = rivals.build(catalog, index="hnsw" if merging else "flat")
    settings = {**SOON, **(FLUSHED if merging else {})}
    kinds = WITH_MERGES if merging else rivals.KINDS
    clients = [rivals.Rival(number, history, kinds, versions_change=merging) for number in range(4)]
    end = time.monotonic() + seconds
    with changes(catalog, rng) as changing:
        while True:
            with ExitStack() as opened:
                over = done["lives"] and time.monotonic() >= end  # then it is only looked at
                options = "--workers", workers
                serving = [
                    opened.enter_context(served(catalog, *options, **settings)) for _ in range(1 if over else servers)
                ]
                for server in serving:
                    server.wait_until_all_have_loaded(rivals.NAME, workers)
                urls = [server.url for server in serving]
                rivals.settle(catalog, history, rng.choice(urls))
                if over:
                    break
                done["lives"] += 1
                with rivals.at_work(clients, urls) as working:
                    if merging:
                        changing.step()
                    working.wait(rng, LONGEST)
                    if not seconds or rng.random() < RESTORED:
                        restore(catalog, tmp_path / "copies", history, rng.choice(urls))
                        done["restores"] += 1
                    if workers > 1:
                        kill_one(rng.choice(serving), workers, rng)
                        done["kills"] += 1
                        working.wait(rng, LONGEST)
                    for server in serving:
                        end_all(server, rng)
                        done["kills"] += 1
                        if server is not serving[-1]:
                            working.wait(rng, LONGEST)
    done.update(writes=history.writes, reads=history.reads, scrolls=history.scrolls)
    made = [each.manifest.segments for each in hubless.Catalog(catalog).versions(rivals.NAME) if each.manifest]
    done.update(flushed=sum(len(each) > 1 for each in made), trained=len({each[0].name for each in made}) - 1)
    done.update(merges=changing.merged, killed_merges=changing.killed)
    for client in clients:
        done.update(activated=client.activated, expired=client.expired)
    print(dict(done), "stale or lost: 0")
    assert history.writes
