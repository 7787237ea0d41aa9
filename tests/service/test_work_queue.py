"""The queue of searches: who is taken, made to wait or refused, what goes together, and that no failure ends it."""

import asyncio
import threading
from collections import Counter
from contextlib import contextmanager
from time import perf_counter, sleep

import pytest

from hubless_service.http.problems import HttpProblem
from hubless_service.http.trace import Trace
from hubless_service.searching.work_queue import SHORT, WorkItem, WorkQueue

PACE = 0.002
"""Seconds a query: a batch of 256 takes half a second."""


@pytest.fixture
def loop():
    made = asyncio.new_event_loop()
    yield made
    made.close()


@pytest.fixture
def new_item(loop):
    """Make an item that came at a time, and has some seconds of patience."""

    def new_item(now, patience, key="alike", size=1, exclusive=False):
        future = loop.create_future()
        timer = loop.call_later(patience, future.cancel)
        about = {"key": key, "size": size, "exclusive": exclusive, "submitted": now, "deadline": now + patience}
        rest = {"answer": list, "content": None, "inline": True, "trace": Trace("id"), "future": future}
        return WorkItem(**about, **rest, timer=timer)

    return new_item


def backlog(threads=1, batch=256, workers=1):
    return WorkQueue(threads, 2000, batch, lambda: None, SHORT, workers=workers)


def code_of(waiting, now, seconds, late=0.0):
    """How one more request would be refused; None if it may wait."""
    try:
        waiting.check_room(now, late, seconds)
    except HttpProblem as problem:
        return problem.code


class Searching:
    """One thread that takes items as it becomes free, on a clock that is moved on by `until`."""

    def __init__(self, waiting):
        self.waiting = waiting
        self.free, self.items, self.ended = 0.0, [], Counter()

    def until(self, now):
        while self.free <= now:
            self.end()
            items = self.waiting.take(self.free)
            if items is None:
                self.free = now
                return
            self.begin(items)

    def begin(self, items):
        self.items, self.started = items, self.free
        self.free += PACE * sum(item.size for item in items)

    def end(self):
        if self.items:
            self.waiting.note("alike", sum(item.size for item in self.items), self.free - self.started)
            for item in self.items:
                self.ended["in time" if self.free <= item.deadline else "too late"] += 1
            self.items = []


def offer(waiting, new_item, count, rate, patience):
    """Requests at a rate, each with some seconds of patience: how they ended."""
    searching = Searching(waiting)
    for number in range(count):
        now = number / rate
        searching.until(now)
        if code := code_of(waiting, now, patience):
            searching.ended[code] += 1
        else:
            waiting.add(new_item(now, patience))
            searching.until(now)
    while waiting.waiting:
        searching.until(searching.free)
    searching.end()
    return searching.ended


@pytest.mark.parametrize("patience", [0.1, 0.4, 3])
def test_four_times_the_capacity_leaves_most_of_it_to_requests_that_are_answered_in_time(new_item, patience):
    """Searched in their order and together, those of little patience would all come too late."""
    rate, seconds = 4 / PACE, 2
    ended = offer(backlog(), new_item, int(rate * seconds), rate, patience)
    assert ended.total() <= rate * seconds
    assert ended["in time"] > 0.85 * seconds / PACE
    assert ended["too late"] < 0.05 * ended["in time"]


def test_search_that_takes_long_keeps_out_those_that_cannot_wait_for_its_end(new_item):
    queue = backlog()
    queue.add(new_item(0, 20))
    queue.take(0)
    assert code_of(queue, 5, 0.5) is None  # nothing waits
    queue.add(new_item(0, 20))
    assert code_of(queue, 0.1, 0.5) is None
    assert code_of(queue, 0.3, 0.5) == "too_many_requests"
    assert code_of(queue, 0.3, 20) is None


@pytest.mark.parametrize(("exclusive", "seconds"), [(False, 0.15), (True, 0.3)])
def test_request_is_refused_if_the_searches_before_it_take_too_long(new_item, exclusive, seconds):
    queue = backlog(threads=2)
    for number in range(31):
        queue.add(new_item(0, 20, exclusive=exclusive))
        if not number:
            queue.note("alike", len(queue.take(0)), 0.01)
    assert code_of(queue, 0, 2 * seconds) == "too_many_requests"
    assert code_of(queue, 0, 4 * seconds) is None


def test_request_that_waited_to_be_read_for_most_of_its_time_is_refused_though_nothing_else_waits():
    assert code_of(backlog(), 0, 10, late=1) is None
    assert code_of(backlog(), 0, 10, late=4) == "too_many_requests"


@pytest.mark.parametrize(
    ("pace", "exclusive", "workers", "taken"),
    [
        (PACE, False, 1, [4, 5, 1]),
        (PACE, True, 1, [8, 0, 1, 1]),
        (PACE / 10, False, 2, [8, 1, 1]),
        (PACE, False, 2, [8, 0, 1, 1]),
    ],
)
def test_threads_share_expensive_queries_and_one_takes_all_where_each_worker_has_a_processor(
    new_item, pace, exclusive, workers, taken
):
    queue = backlog(threads=2, workers=workers)
    queue.note("alike", 1, pace)
    found = []
    for count in (8, 1):
        for _ in range(count):
            queue.add(new_item(0, 10, exclusive=exclusive))
        found.append(len(queue.take(0) or ()))
    queue.add(new_item(0, 10, "beside"))
    queue.note("alike", 8, pace)  # a search has ended
    while items := queue.take(0):
        found.append(len(items))
    assert found == taken


def test_call_that_was_held_up_does_not_make_cheap_work_expensive_but_several_do(new_item):
    """Nor does it cut what waits together: the parts would seem to cost more, and be cut again."""
    queue = backlog()
    for _ in range(10):
        queue.note("alike", 1, 1e-4)
    queue.note("alike", 1, 0.01)
    for _ in range(8):
        queue.add(new_item(0, 1))
    assert len(queue.take_cheap(0)) == 8
    for _ in range(30):
        queue.note("alike", 1, 0.01)
    queue.add(new_item(0, 1))
    assert queue.take_cheap(0) is None


def where(items):
    return [threading.current_thread().name] * len(items)


def slowly(items):
    sleep(0.002)
    return where(items)


def threads_of(answer, times=3, key="key", inline=True):

    async def ask():
        queue = WorkQueue(1, 10, 10, lambda: None)
        queue.start()

        def submit(answer, key):
            return queue.submit(Trace("id"), perf_counter() + 10, answer, None, key, inline=inline)

        try:
            for _ in range(5):  # what is cheap is known once it was done
                await submit(where, "known to be cheap")
            return [await submit(answer, key) for _ in range(times)]
        finally:
            queue.stop()

    return asyncio.run(ask())


def test_work_known_to_be_cheap_is_done_in_the_event_loop():
    first, *_, last = threads_of(where, times=20)
    assert first == "search-0"
    assert last == threading.current_thread().name


@pytest.mark.parametrize(
    "given",
    [{"answer": slowly}, {"key": None}, {"inline": False}],
    ids=["what takes long", "what no other resembles", "what is said to be otherwise"],
)
def test_all_other_work_is_done_in_a_thread(given):
    assert set(threads_of(**{"answer": where} | given)) == {"search-0"}


@contextmanager
def started(prepare=lambda: None):
    queue = WorkQueue(1, 2000, 256, prepare)
    queue.start()
    try:
        yield queue
    finally:
        queue.stop()


def ask(queue, answer, item=0, key=None, **more):
    trace = Trace(str(item))
    return queue.submit(trace, trace.started + 20, answer, item, key, **more)


def echo(items):
    return items


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda items: [*items, "one more"], id="too many results"),
        pytest.param(lambda items: [StopIteration()], id="what no future takes"),
        pytest.param(lambda items: next(iter(())), id="an iterator that ends"),
        pytest.param(lambda items: exit(), id="an exit"),
    ],
)
def test_answer_that_fails_as_no_answer_may_is_an_error_of_its_request_alone(caplog, answer, exclusive):
    async def run():
        with pytest.raises(RuntimeError):
            await ask(queue, answer, key="key", exclusive=exclusive)
        return [await ask(queue, echo, item, "key", exclusive=exclusive) for item in range(3)]

    with started() as queue:
        assert asyncio.run(run()) == [0, 1, 2]


def test_thread_that_cannot_be_prepared_searches_all_the_same(caplog):
    with started(lambda: 1 / 0) as queue:
        assert asyncio.run(run_one(queue)) == 0
    assert "division by zero" in caplog.text


async def run_one(queue):
    return await asyncio.wait_for(ask(queue, echo), 20)
