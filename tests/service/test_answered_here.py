"""Cheap work is done in the event loop, all other work in the search threads."""

import asyncio
import threading
from math import inf
from time import perf_counter, sleep

import pytest

from hubless_service.http.problems import HttpProblem
from hubless_service.http.trace import Trace
from hubless_service.searching.batching import Batcher
from hubless_service.searching.costs import Costs


def where(items):
    return [threading.current_thread().name] * len(items)


def slowly(items):
    sleep(0.002)
    return where(items)


def failing(items):
    raise HttpProblem("unsupported", "On purpose.")


def threads_of(answer, times=3, together=1, key="key", timeout=10.0, here=True):
    """The threads that did the same work, time after time; of several that are asked together, those of the last."""

    async def ask():
        batcher = Batcher(1, 10, 10, lambda: None)
        batcher.start()

        def submit(answer, key, timeout=10.0):
            return batcher.submit(Trace("id"), perf_counter() + timeout, answer, None, key, here=here)

        try:
            for _ in range(5):  # what is cheap is known once it was done
                await submit(where, "known to be cheap")
            asked = []
            for _ in range(times):
                *_, last = await asyncio.gather(*(submit(answer, key, timeout) for _ in range(together)))
                asked.append(last)
            return asked
        finally:
            batcher.stop()

    return asyncio.run(ask())


def test_work_known_to_be_cheap_is_done_in_the_event_loop():
    first, *others = threads_of(where, times=20)
    assert first == "search-0"
    assert others[-1] == threading.current_thread().name


@pytest.mark.parametrize(
    "given",
    [{"answer": slowly}, {"key": None}, {"here": False}],
    ids=["what takes long", "what no other resembles", "what is said to be otherwise"],
)
def test_all_other_work_is_done_in_a_thread(given):
    assert set(threads_of(**{"answer": where} | given)) == {"search-0"}


def test_what_waits_together_is_answered_together_in_the_event_loop_if_it_is_cheap():
    sizes = []

    def answer(items):
        sizes.append(len(items))
        return where(items)

    assert threads_of(answer, times=20, together=4)[-1] == threading.current_thread().name
    assert sizes[-1] == 4


def test_errors_and_deadlines_are_the_same_in_the_event_loop():
    with pytest.raises(HttpProblem, match="On purpose"):
        threads_of(failing, key="known to be cheap")
    with pytest.raises(HttpProblem, match="in the time it has"):
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
