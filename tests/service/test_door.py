"""When a worker begins to take requests."""

import logging
import signal
import socket
import threading
from time import sleep

import httpx
import pytest
from support.server_process import served

from hubless_service.app import create_app
from hubless_service.processes.door import Door, close, is_open
from hubless_service.processes.http_server import HttpServer
from hubless_service.processes.signals import Signals
from hubless_service.processes.workers import Supervisor
from hubless_service.settings import Settings

QUERY = "/v1/collections/words/query"


def test_the_only_one_takes_requests_from_the_start():
    door = Door()
    assert door.lets_in(loading=True)
    door.open()
    assert door.lets_in(loading=False)


def test_the_others_wait_until_they_and_the_first_have_loaded(tmp_path):
    first, other = Door(tmp_path), Door(tmp_path, first=False)
    assert first.lets_in(loading=True)
    assert not other.lets_in(loading=True)
    other.open()  # having loaded, before the first has
    assert not other.lets_in(loading=False)
    first.open()
    assert is_open(tmp_path)
    assert not other.lets_in(loading=True)
    assert other.lets_in(loading=False)
    close(tmp_path)
    assert not other.lets_in(loading=False)


def test_first_that_cannot_tell_the_others_says_so_and_goes_on(tmp_path, caplog):
    caplog.set_level(logging.WARNING)
    door = Door(tmp_path / "gone")
    door.open()
    assert "do not learn that they may begin" in caplog.text
    assert door.lets_in(loading=False)


class Worker:
    """A process that is not one."""

    def __init__(self, door):
        self.door = door


@pytest.fixture
def supervisor(tmp_path):
    return Supervisor(3, tmp_path, Worker, Signals())


def firsts(supervisor):
    return [worker.door.lets_in(loading=True) for worker in supervisor.workers]


def test_one_worker_is_the_first_whichever_dies(supervisor):
    supervisor.start_missing()
    assert firsts(supervisor) == [True, False, False]
    del supervisor.workers[1]
    supervisor.start_missing()
    assert firsts(supervisor) == [True, False, False]
    del supervisor.workers[0]  # before it had loaded: no worker answers
    supervisor.start_missing()
    assert firsts(supervisor) == [False, False, True]


def test_no_worker_is_the_first_while_others_answer_and_one_is_again_when_none_does(supervisor):
    supervisor.start_missing()
    supervisor.workers.pop(0).door.open()
    supervisor.start_missing()
    assert firsts(supervisor) == [False, False, False]
    supervisor.workers.clear()
    supervisor.start_missing()
    assert firsts(supervisor) == [True, False, False]


def test_worker_that_is_told_to_stop_before_it_was_let_in_takes_no_request(catalog, tmp_path):
    settings = Settings(catalog=catalog, drain_seconds=600)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        app = create_app(settings, door=Door(tmp_path, first=False))
        signals = Signals()
        server = HttpServer(app, signals)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        while app.state.hubless.shelf.loading:
            sleep(0.01)
        assert not server.started
        signals.note(signal.SIGTERM)
        thread.join(30)
        assert not thread.is_alive()


def test_once_ready_no_worker_says_that_it_is_loading(catalog):
    with served(catalog, "--workers", 3, drain_seconds=0) as server:
        statuses = [httpx.post(f"{server.url}{QUERY}", json={"text": "amber"}).status_code for _ in range(150)]
    assert statuses == [200] * 150
