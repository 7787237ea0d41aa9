"""When a worker begins to take requests."""

import os
import signal
import socket
import threading
from time import sleep

import httpx
import pytest
from support.server_process import served

from hubless_service.app import create_app
from hubless_service.processes import workers
from hubless_service.processes.http_server import HttpServer
from hubless_service.processes.shared import LOADED, VARIABLE
from hubless_service.processes.signals import Signals
from hubless_service.processes.workers import Supervisor
from hubless_service.settings import Settings

QUERY = "/v1/collections/words/query"


class Worker:
    """A process that is not one."""

    def __init__(self, first):
        self.first = first


@pytest.fixture
def supervisor(tmp_path):
    return Supervisor(3, tmp_path, Worker, Signals())


def firsts(supervisor):
    return [worker.first for worker in supervisor.workers]


def test_one_worker_is_the_first_whichever_dies(supervisor):
    supervisor.start_missing()
    assert firsts(supervisor) == [True, False, False]
    del supervisor.workers[1]
    supervisor.start_missing()
    assert firsts(supervisor) == [True, False, False]
    del supervisor.workers[0]  # before it had loaded: no worker answers
    supervisor.start_missing()
    assert firsts(supervisor) == [False, False, True]


def test_no_worker_is_the_first_while_others_answer_and_one_is_again_when_none_does(supervisor, tmp_path):
    supervisor.start_missing()
    del supervisor.workers[0]
    (tmp_path / LOADED).touch()
    supervisor.start_missing()
    assert firsts(supervisor) == [False, False, False]
    supervisor.workers.clear()
    supervisor.start_missing()
    assert firsts(supervisor) == [True, False, False]


class Failing:
    """A process that has ended already."""

    pid, exitcode = 1 << 30, 1

    def __init__(self, first):
        self.sentinel, writer = os.pipe()
        os.close(writer)

    def is_alive(self):
        return False

    def join(self):
        os.close(self.sentinel)


def test_workers_that_all_end_before_one_answers_end_the_server(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(workers, "_SHORT_LIFE", 0)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    supervisor = Supervisor(1, tmp_path, Failing, Signals())
    supervisor.run()
    assert supervisor.failed
    assert "10 workers ended before one could answer" in caplog.text


def test_worker_that_is_told_to_stop_before_the_first_has_loaded_takes_no_request(catalog, tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    settings = Settings(catalog=catalog, drain_seconds=600)
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


def test_once_ready_no_worker_says_that_it_is_loading(catalog):
    with served(catalog, "--workers", 2, drain_seconds=0) as server:
        statuses = [httpx.post(f"{server.url}{QUERY}", json={"text": "amber"}).status_code for _ in range(150)]
    assert statuses == [200] * 150
