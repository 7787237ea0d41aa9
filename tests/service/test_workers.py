"""Several processes serve one port: counted together, replaced when killed, ended together."""

import json
import os
import signal
import socket
import threading
from time import sleep

import httpx
import pytest
from support import raw
from support.server_process import command_line, resources, served

from hubless_service.app import create_app
from hubless_service.observing.later import TICK
from hubless_service.processes import workers
from hubless_service.processes.http_server import HttpServer
from hubless_service.processes.signals import Signals
from hubless_service.processes.workers import WORKER_BYTES, Supervisor, shared_by, with_workers
from hubless_service.settings import Settings

QUERY = "/v1/collections/words/query"
ASK = {"text": "amber"}
SOON = {"grace_seconds": 5}


def ask(base_url):
    """One query over a connection of its own; its status, or None where the worker died meanwhile."""
    try:
        return httpx.post(f"{base_url}{QUERY}", json=ASK).status_code
    except httpx.TransportError:
        return None


ANSWERED = 'hubless_requests_total{method="POST",route="/v1/collections/{collection}/query",status="200"}'
SERVED = 'hubless_live_queries{collection="words"}'


def test_metrics_count_the_requests_of_all_workers(catalog):
    with served(catalog, "--workers", 2, **SOON) as server:
        assert len(server.workers()) == 2
        assert [ask(server.url) for _ in range(40)] == [200] * 40  # once ready, no worker says that it is loading
        server.wait_until_all_have_loaded("words", 2)
        pages = [server.metrics() for _ in range(10)]
        assert {page[ANSWERED] for page in pages} == {40}
        assert all(page["hubless_waiting_queries"] == 0 for page in pages)
        assert all(page['hubless_collections{state="ready"}'] <= 2 for page in pages)
        assert all(page.get(SERVED, 0) <= 40 for page in pages)  # of the worker that answers
        assert len([series for series in pages[-1] if series.startswith("hubless_build_info")]) == 1
        one = resources(server.workers()[0])["memory"]
        assert pages[-1]["process_resident_memory_bytes"] > 1.5 * one


BODY = json.dumps(ASK).encode()


@pytest.mark.parametrize(
    ("request_", "counted"),
    [
        (
            raw.request("POST", QUERY, "Content-Type: application/json", f"Content-Length: {len(BODY)}", body=BODY),
            ANSWERED,
        ),
        pytest.param(
            raw.request("GET", "/v1/collections/words"),
            ANSWERED.replace("POST", "GET").replace("/query", ""),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["POST", "GET"],
)
def test_answer_is_counted_even_if_all_workers_are_killed_a_moment_later(catalog, request_, counted):
    with served(catalog, "--workers", 2, **SOON) as server:
        server.wait_until_all_have_loaded("words", 2)
        with raw.connect(server.url) as connection:
            connection.sendall(request_)
            answer = connection.recv(2**16)
            sleep(5 * TICK)
            for pid in server.workers():
                os.kill(pid, signal.SIGKILL)
        assert answer.startswith(b"HTTP/1.1 200 ")
        server.wait_until_all_have_loaded("words", 3)
        assert server.metrics()[counted] == 1


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


def test_workers_end_when_their_supervisor_is_killed_and_leave_no_counts(catalog, tmp_path):
    before = f"from hubless_service.processes import workers; workers._MEMORY = {str(tmp_path)!r}"
    with served(catalog, "--workers", 2, before=before) as server:
        workers = server.workers()
        (folder,) = {path.parent for path in tmp_path.glob("hubless-*/*.db")}
        assert folder.stat().st_mode & 0o777 == 0o700
        server.process.kill()
        server.process.wait()
        while any(command_line(pid) for pid in workers):
            sleep(0.01)
    assert not [*tmp_path.glob("hubless-*")]


class Worker:
    def __init__(self, shared, first):
        self.slot, self.first = shared.slot, first


@pytest.fixture
def memory():
    return shared_by(3, "")


@pytest.fixture
def supervisor(memory):
    return Supervisor(memory, Worker, Signals())


def firsts(supervisor):
    return [(worker.slot, worker.first) for worker in sorted(supervisor.workers, key=lambda each: each.slot)]


def test_one_worker_is_the_first_whichever_dies_and_none_while_others_answer(supervisor, memory):
    for slot in (1, 0, 0):  # the first before it had loaded: no worker answers
        supervisor.start_missing()
        assert firsts(supervisor) == [(0, True), (1, False), (2, False)]
        supervisor.forget(slot)
    memory.loaded[0] = 1  # now others answer
    supervisor.start_missing()
    assert firsts(supervisor) == [(0, False), (1, False), (2, False)]
    for slot in range(3):
        supervisor.forget(slot)
    supervisor.start_missing()
    assert firsts(supervisor) == [(0, True), (1, False), (2, False)]


class Failing:
    """A process that has ended already."""

    pid, exitcode = 1 << 30, 1

    def __init__(self, shared, first):
        self.sentinel, writer = os.pipe()
        os.close(writer)

    def is_alive(self):
        return False

    def join(self):
        os.close(self.sentinel)


def test_workers_that_all_end_before_one_answers_end_the_server(monkeypatch, caplog):
    monkeypatch.setattr(workers, "_SHORT_LIFE", 0)
    supervisor = Supervisor(shared_by(1, ""), Failing, Signals())
    supervisor.run()
    assert supervisor.failed
    assert "10 workers ended before one could answer" in caplog.text


def test_worker_that_is_told_to_stop_before_the_first_has_loaded_takes_no_request(catalog):
    settings = Settings(catalog=catalog, grace_seconds=6000)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        app = create_app(settings, first=False)
        signals = Signals()
        server = HttpServer(app, signals)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        while app.state.hubless.engine.shelf.loading:
            sleep(0.01)
        assert not server.started
        signals.note(signal.SIGTERM)
        thread.join(30)
        assert not thread.is_alive()
