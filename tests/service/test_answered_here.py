"""Cheap work is done in the event loop, if nothing else is to be done; all other work in the search threads."""

import asyncio
import threading
from math import inf
from time import perf_counter, sleep

import pytest

from hubless_service.app import create_app
from hubless_service.http.problems import Problem
from hubless_service.http.trace import Trace
from hubless_service.processes.server import HttpServer
from hubless_service.searching.batching import Batcher
from hubless_service.searching.costs import Costs
from hubless_service.searching.engine import Engine
from hubless_service.settings import Settings


def where(items):
    return [threading.current_thread().name] * len(items)


def slowly(items):
    sleep(0.002)
    return where(items)


def failing(items):
    raise Problem("unsupported", "On purpose.")


def threads_of(answer, times=3, alone=True, key="key", timeout=10.0, here=True):
    """The threads that did the same work, time after time."""

    async def ask():
        batcher = Batcher(1, 10, 10, lambda: None)
        batcher.alone = lambda: alone
        batcher.start()
        try:
            for _ in range(5):  # what is cheap is known once it was done
                await batcher.submit(Trace("id"), perf_counter() + 10, where, None, "known to be cheap")
            return [
                await batcher.submit(Trace("id"), perf_counter() + timeout, answer, None, key, here=here)
                for _ in range(times)
            ]
        finally:
            batcher.stop()

    return asyncio.run(ask())


def test_work_known_to_be_cheap_is_done_in_the_event_loop():
    first, *others = threads_of(where, times=20)
    assert first == "search-0"
    assert others[-1] == threading.current_thread().name


@pytest.mark.parametrize(
    "given",
    [{"alone": False}, {"answer": slowly}, {"key": None}, {"here": False}],
    ids=["while others wait", "what takes long", "what no other resembles", "what is said to be otherwise"],
)
def test_all_other_work_is_done_in_a_thread(given):
    assert set(threads_of(**{"answer": where} | given)) == {"search-0"}


def test_errors_and_deadlines_are_the_same_in_the_event_loop():
    with pytest.raises(Problem, match="On purpose"):
        threads_of(failing, key="known to be cheap")
    with pytest.raises(Problem, match="in the time it has"):
        threads_of(where, key="known to be cheap", timeout=-1.0)


def test_one_search_that_was_held_up_does_not_make_a_cheap_one_dear_but_several_do():
    costs = Costs()
    for _ in range(10):
        costs.note("key", 1e-4)
    costs.note("key", 0.01)
    assert costs.of("key") < 2e-4
    for _ in range(20):
        costs.note("key", 0.01)
    assert costs.of("key") > 1e-3


def test_only_so_many_costs_are_remembered():
    costs = Costs()
    for key in range(2000):
        costs.note(key, 1.0)
    assert [costs.of(key) for key in (0, 975, 976, 1999)] == [inf, inf, 1.0, 1.0]


def test_server_answers_in_the_event_loop_only_where_one_request_is_in_progress(tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(Engine, "answer_here_if", lambda engine, alone: told.append(alone))
    server = HttpServer(create_app(Settings(catalog=tmp_path)))
    (alone,) = told
    server.server_state.tasks.add("the request itself")
    assert alone()
    server.server_state.tasks.add("another that has arrived")
    assert not alone()
