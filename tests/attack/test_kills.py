"""Supervisors and workers that are killed, and cleaners: the port is free, counts stay, and nothing is left."""

import os
import signal

import httpx
import pytest
from support import small
from support.disks import disk, remount
from support.server_process import command_line, launched, served
from support.serving import wait_until_ready
from support.until import until

pytestmark = pytest.mark.slow  # it starts and ends servers for a minute; `make attack` runs it

ANSWERED = 'hubless_requests_total{method="POST",route="/v1/collections/{collection}/query",status="200"}'
QUERY = {"vector": small.query_bank()[0].tolist()}
JSON = {"content-type": "application/json"}
ASKED = {"hubless_requests_total", *(f"hubless_request_seconds_{each}" for each in ("bucket", "sum", "count"))}
"""Series that begin while the test asks for metrics and readiness."""


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    catalog = tmp_path_factory.mktemp("kills") / "catalog"
    small.build(catalog, "photos")
    return catalog


def ask(server, times=1):
    """Ask over connections of their own, until so many queries were answered."""
    left = times
    while left:
        try:
            answer = httpx.post(f"{server.url}/v1/collections/photos/query", json=QUERY, timeout=60)
        except httpx.TransportError:
            continue  # the worker was killed meanwhile
        assert answer.status_code == 200
        left -= 1


def counted(page):
    """The series of a page but for those of a collection, which each worker has for itself."""
    return {series for series in page if "photos" not in series}


def kill_one(server):
    """Kill a worker, and wait for the one that takes its place to answer."""
    killed, loaded = server.workers()[0], sum('"photos" is ready' in line for line in server.log)
    os.kill(killed, signal.SIGKILL)
    until(lambda: len(now := server.workers()) == 2 and killed not in now)
    server.wait_until_all_have_loaded("photos", loaded + 1)


def test_port_of_a_killed_supervisor_is_taken_over_at_once_whatever_its_workers_do(photos):
    with launched(photos, "--workers", 2) as young:  # its workers have just begun
        port = httpx.URL(young.url).port
        young.process.kill()
        with served(photos, "--port", port, "--workers", 2, grace_seconds=600) as old:  # which would be a long wait
            ask(old, 10)
            workers = old.workers()
            old.process.kill()
            with served(photos, "--port", port, "--workers", 2, ready=False) as new:
                assert wait_until_ready(new.url).status_code == 200
                ask(new, 10)
                until(lambda: not any(command_line(pid) for pid in workers))
    assert any("stopping: not ready any more, no new connections in 0 s" in line for line in old.log)
    assert not [line for line in (*old.log, *new.log) if "Traceback" in line]


def test_request_that_has_begun_is_answered_after_the_supervisor_was_killed(photos):
    with served(photos, "--workers", 2) as server, httpx.Client(base_url=server.url) as client:
        server.wait_until_all_have_loaded("photos", 2)

        def body():
            yield b'{"vector": '
            server.process.kill()
            until(lambda: sum("stopping: not ready" in line for line in server.log) == 2)
            yield str(QUERY["vector"]).encode() + b"}"

        assert client.post("/v1/collections/photos/query", content=body(), headers=JSON).status_code == 200


def test_supervisor_that_was_told_to_stop_and_is_killed_leaves_no_worker_that_drains(photos):
    with served(photos, "--workers", 2, grace_seconds=6000) as server:
        workers = server.workers()
        server.process.terminate()
        until(lambda: any("no new connections in 600 s" in line for line in server.log))
        server.process.kill()
        until(lambda: not any(command_line(pid) for pid in workers))


def test_killed_workers_leave_their_counts_and_no_more_series(photos):
    with served(photos, "--workers", 2) as server:
        server.wait_until_all_have_loaded("photos", 2)
        ask(server, 20)
        first = server.metrics()
        assert first[ANSWERED] == 20
        for death in range(1, 4):
            kill_one(server)
            ask(server, 5)
            page = server.metrics()
            assert page[ANSWERED] == 20 + 5 * death
        assert page["hubless_waiting_queries"] == 0
        assert sum("takes its place" in line for line in server.log) == 3
        assert {series.partition("{")[0] for series in counted(page) - counted(first)} <= ASKED
        assert counted(first) <= counted(page)


def test_workers_over_a_read_only_catalog_count_together(tmp_path):
    with disk(tmp_path / "disk", 64) as path:
        small.build(path / "catalog", "photos")
        remount(path, "ro")
        count(path / "catalog")


def count(catalog, **settings):
    with served(catalog, "--workers", 2, **settings) as server:
        server.wait_until_all_have_loaded("photos", 2)
        ask(server, 20)
        assert server.metrics()[ANSWERED] == 20
        kill_one(server)
        ask(server, 5)
        assert server.metrics()[ANSWERED] == 25
