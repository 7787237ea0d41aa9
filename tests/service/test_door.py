"""When a worker begins to take requests."""

import logging
import signal
import socket
import threading

import httpx
import pytest
from support.server_process import served

from hubless_service import workers
from hubless_service.app import create_app
from hubless_service.searching.door import Door, close, is_open
from hubless_service.server import Server
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

    def __init__(self, target, args, name):
        (self.door,) = args
        self.sentinel = self.pid = id(self)

    def start(self):
        pass


@pytest.fixture
def supervisor(tmp_path, monkeypatch):
    class Context:
        Process = Worker

    monkeypatch.setattr(workers.multiprocessing, "get_context", lambda _: Context)
    return workers._Supervisor(3, tmp_path, print)


def firsts(supervisor):
    return [worker.door.lets_in(loading=True) for worker in supervisor._workers.values()]


def test_one_worker_is_the_first_whoever_dies(supervisor, tmp_path):
    supervisor._start_missing()
    assert firsts(supervisor) == [True, False, False]
    first, second, _ = supervisor._workers
    del supervisor._workers[second]
    supervisor._start_missing()
    assert firsts(supervisor) == [True, False, False]
    del supervisor._workers[first]  # before it had loaded: nobody answers
    supervisor._start_missing()
    assert firsts(supervisor) == [False, False, True]


def test_nobody_is_the_first_while_others_answer_and_one_is_again_when_none_does(supervisor, tmp_path):
    supervisor._start_missing()
    first = next(iter(supervisor._workers))
    supervisor._workers[first].door.open()
    del supervisor._workers[first]
    supervisor._start_missing()
    assert firsts(supervisor) == [False, False, False]
    supervisor._workers.clear()
    supervisor._start_missing()
    assert firsts(supervisor) == [True, False, False]


def test_worker_that_is_told_to_stop_before_it_was_let_in_takes_no_request(catalog, tmp_path):
    settings = Settings(catalog=catalog, drain_seconds=600)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(create_app(settings, door=Door(tmp_path, first=False)))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        while server._state.engine.loading:
            pass
        assert not server.started
        server.handle_exit(signal.SIGTERM, None)
        thread.join(30)
        assert not thread.is_alive()


def test_once_ready_no_worker_says_that_it_is_loading(catalog):
    with served(catalog, "--workers", 3, drain_seconds=0) as server:
        statuses = [httpx.post(f"{server.url}{QUERY}", json={"text": "amber"}).status_code for _ in range(150)]
    assert statuses == [200] * 150
