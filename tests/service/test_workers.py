"""Several processes serve one port: counted together, replaced when killed, ended together."""

import os
import re
import signal
from pathlib import Path
from time import monotonic, sleep

import httpx
import pytest
from support.server_process import command_line, resources, served

from hubless_service.processes.workers import WORKER_BYTES, with_workers
from hubless_service.settings import Settings

QUERY = "/v1/collections/words/query"
ASK = {"text": "amber"}
SOON = {"drain_seconds": 0.5}


def ask(base_url):
    """One query over a connection of its own; its status, or None where the worker died meanwhile."""
    try:
        return httpx.post(f"{base_url}{QUERY}", json=ASK).status_code
    except httpx.TransportError:
        return None


ANSWERED = 'hubless_requests_total{method="POST",route="/v1/collections/{collection}/query",status="200"}'
SERVED = 'hubless_live_queries{collection="words",ranking="served"}'


def test_metrics_count_the_requests_of_all_workers_and_of_one_that_was_killed_and_replaced(catalog):
    with served(catalog, "--workers", 2, **SOON) as server:
        assert len(server.workers()) == 2
        server.wait_until_all_have_loaded("words", 2)
        assert [ask(server.url) for _ in range(20)] == [200] * 20
        until_counted(server, 20)
        pages = [server.metrics() for _ in range(10)]
        assert {page[ANSWERED] for page in pages} == {20}
        assert all(page["hubless_waiting_queries"] == 0 for page in pages)
        assert all(page['hubless_collections{state="ready"}'] <= 2 for page in pages)
        assert all(page.get(SERVED, 0) <= 20 for page in pages)  # of the worker that answers
        one = resources(server.workers()[0])["memory"]
        assert pages[-1]["process_resident_memory_bytes"] > 1.5 * one
        before = server.workers()
        os.kill(before[0], signal.SIGKILL)
        while len(now := server.workers()) < 2 or before[0] in now:
            sleep(0.01)
        assert before[1] in now
        while ask(server.url) != 200:
            sleep(0.01)
        until_counted(server, 21)  # what the killed one counted stays


@pytest.mark.parametrize(("memory", "workers"), [(2**40, 3), (4 * WORKER_BYTES + 2**20, 2), (2**20, 1)])
def test_server_has_a_worker_a_processor_as_far_as_half_of_the_memory_goes(
    catalog, monkeypatch, caplog, memory, workers
):
    monkeypatch.setattr("hubless_service.processes.workers.own_cores", lambda: 3)
    monkeypatch.setattr("hubless_service.processes.workers.memory_limit", lambda: memory)
    caplog.set_level("INFO", "hubless.workers")
    assert with_workers(Settings(catalog=catalog)).workers == workers
    assert f"workers: {workers}, for 3 processors" in caplog.text
    assert with_workers(Settings(catalog=catalog, workers=7)).workers == 7
    assert with_workers(Settings(catalog="s3://bucket/catalog")).workers == 1


def until_counted(server, answers, series=ANSWERED):
    """Wait for a moment: a request is counted after its answer has gone out."""
    ends = monotonic() + 20
    while (counted := server.metrics().get(series, 0)) < answers:
        assert monotonic() < ends, counted


def test_interrupt_of_the_supervisor_ends_all_in_order(catalog):
    with served(catalog, "--workers", 2, **SOON) as server:
        workers = server.workers()
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(30) == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{server.url}/livez")


def test_workers_end_and_clean_up_when_their_supervisor_is_killed(catalog):
    with served(catalog, "--workers", 2) as server:
        workers = server.workers()
        environment = Path(f"/proc/{workers[0]}/environ").read_bytes().decode()
        folder = Path(re.search(r"PROMETHEUS_MULTIPROC_DIR=([^\0]+)", environment)[1])
        assert folder.is_dir()
        server.process.kill()
        server.process.wait()
        while any(command_line(pid) for pid in workers):
            sleep(0.01)
        assert not folder.exists()
