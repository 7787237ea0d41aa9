"""Which requests are taken, made to wait or refused, in a time of its own: nothing here depends on the machine."""

import asyncio
import sys
from collections import Counter

import pytest

from hubless_service.http.problems import HttpProblem
from hubless_service.http.trace import Trace
from hubless_service.searching.waiting import Job, Waiting, queries_of

PACE = 0.002
"""Seconds a query: a batch of 256 takes half a second."""


@pytest.fixture
def loop():
    made = asyncio.new_event_loop()
    yield made
    made.close()


@pytest.fixture
def new_job(loop):
    """Makes a job that came at a time, and has some seconds of patience."""

    def new_job(now, patience, key="alike", size=1, whole=False):
        future = loop.create_future()
        timer = loop.call_later(patience, future.cancel)
        return Job(key, list, None, size, now + patience, True, whole, Trace("id"), future, now, timer)

    return new_job


def waiting(threads=1, together=256):
    return Waiting(2000, together, threads)


def code_of(waiting, now, seconds, late=0.0):
    """How one more request would be refused; None if it may wait."""
    try:
        waiting.check_wait(now, late, seconds)
    except HttpProblem as problem:
        return problem.code


class Searching:
    """One thread that takes jobs as it becomes free, on a clock that is moved on by `until`."""

    def __init__(self, waiting):
        self.waiting = waiting
        self.free, self.jobs, self.ended = 0.0, [], Counter()

    def until(self, now):
        while self.free <= now:
            self.end()
            taken = self.waiting.take(self.free)
            if taken is None:
                self.free = now
                return
            self.ended["late"] += len(taken.late)
            self.begin(taken.jobs)

    def begin(self, jobs):
        self.jobs, self.started = jobs, self.free
        self.free += PACE * queries_of(jobs)

    def end(self):
        if self.jobs:
            self.waiting.note(self.jobs, self.free - self.started)
            for job in self.jobs:
                self.ended["in time" if self.free <= job.deadline else "too late"] += 1
            self.jobs = []


def offer(waiting, new_job, count, rate, patience):
    """Requests at a rate, each with some seconds of patience: how they ended."""
    searching = Searching(waiting)
    for number in range(count):
        now = number / rate
        searching.until(now)
        if code := code_of(waiting, now, patience):
            searching.ended[code] += 1
        else:
            waiting.add(new_job(now, patience))
            searching.until(now)
    while waiting.queries:
        searching.until(searching.free)
    searching.end()
    return searching.ended


@pytest.mark.parametrize("patience", [0.1, 0.4, 3])
def test_four_times_the_capacity_leaves_most_of_it_to_requests_that_are_answered_in_time(new_job, patience):
    """Searched in their order and together, those of little patience would all come too late."""
    rate, seconds = 4 / PACE, 2
    ended = offer(waiting(), new_job, int(rate * seconds), rate, patience)
    assert ended.total() == rate * seconds
    assert ended["in time"] > 0.7 * seconds / PACE
    assert ended["too late"] < 0.05 * ended["in time"]


def test_estimate_that_was_far_too_long_is_put_right(new_job):
    queue = waiting()
    queue.note([new_job(0, 1)], 100.0)
    ended = offer(queue, new_job, 300, 0.5 / PACE, 2)
    assert ended["in time"] > 200


def test_request_that_waits_for_no_other_is_taken_whatever_was_learnt(new_job):
    queue = waiting()
    queue.note([new_job(0, 1)], 100.0)
    assert code_of(queue, 1, 0.5) is None
    queue.add(job := new_job(1, 0.5))
    assert queue.take(1).jobs == [job]


def test_request_that_would_wait_too_long_is_refused_at_once_and_one_that_has_the_time_is_not(new_job):
    queue = waiting()
    queue.note([new_job(0, 1, size=100)], 100 * PACE)
    for _ in range(5):
        queue.add(new_job(0, 10, size=100))
    # a second of work
    assert code_of(queue, 0.4, 0.5) == "too_many_requests"
    assert code_of(queue, 0.4, 20) is None


@pytest.mark.parametrize("key", ["alike", "seen for the first time"])
def test_search_that_the_system_held_up_does_not_keep_out_those_that_came_meanwhile(new_job, key):
    queue = waiting(threads=2)
    for _ in range(20):
        queue.note([new_job(0, 1)], PACE)
    queue.note([new_job(0, 1)], 250 * PACE)
    for _ in range(50):
        queue.add(new_job(0, 5, key))
    assert code_of(queue, 0, 5) is None


def test_wait_is_reckoned_by_what_waits_and_not_by_what_was_searched_last(new_job):
    queue = waiting()
    for _ in range(20):
        queue.note([new_job(0, 1, "cheap")], PACE / 20)
        queue.note([new_job(0, 1, "dear")], 100 * PACE)
    for _ in range(100):
        queue.add(new_job(0, 1, "cheap"))
    assert code_of(queue, 0, 0.1) is None  # 10 ms of work
    for _ in range(5):
        queue.add(new_job(0, 10, "dear"))
    assert code_of(queue, 0, 3) == "too_many_requests"  # a second
    queue.take(0)
    queue.take(0)
    for _ in range(100):
        queue.add(new_job(0, 1, "cheap"))
    assert code_of(queue, 0, 0.1) is None


def test_search_that_takes_long_keeps_out_those_that_cannot_wait_for_its_end(new_job):
    queue = waiting()
    queue.add(new_job(0, 20))
    queue.take(0)
    assert code_of(queue, 5, 0.5) is None  # nothing waits
    queue.add(new_job(0, 20))
    assert code_of(queue, 0.1, 0.5) is None
    assert code_of(queue, 0.3, 0.5) == "too_many_requests"
    assert code_of(queue, 0.3, 20) is None


def test_request_that_waited_to_be_read_for_most_of_its_time_is_refused_though_nothing_else_waits():
    assert code_of(waiting(), 0, 10, late=1) is None
    assert code_of(waiting(), 0, 10, late=4) == "too_many_requests"


def test_the_wait_is_that_of_the_oldest_request_that_still_waits(new_job):
    queue = waiting()
    for came, key in enumerate("abc"):
        queue.add(new_job(came, 100, key))
    assert code_of(queue, 10, 31) == "too_many_requests"  # the first has waited for 10 seconds
    assert code_of(queue, 10, 34) is None
    queue.take(10)
    assert code_of(queue, 10, 31) is None  # the second for 9
    assert code_of(queue, 10, 29) == "too_many_requests"


@pytest.mark.parametrize("groups", [10, 2000])
def test_to_say_how_long_one_would_wait_takes_as_few_steps_however_many_wait(new_job, groups):
    """The event loop does it for each request."""
    queue, steps = waiting(), []
    for key in range(groups):
        queue.add(new_job(0, 10, key))
    sys.setprofile(lambda frame, event, argument: steps.append(event))
    try:
        queue.check_wait(0, 0, 10)
    finally:
        sys.setprofile(None)
    assert len(steps) < 10


def test_request_that_nobody_waits_for_any_more_is_dropped(new_job):
    queue = waiting()
    jobs = [new_job(0, 10) for _ in range(3)]
    for job in jobs:
        queue.add(job)
    jobs[1].future.cancel()
    assert queue.take(0).jobs == [jobs[0], jobs[2]]
    assert (queue.queries, queue.take(0)) == (0, None)


@pytest.mark.parametrize(("pace", "whole", "taken"), [(PACE, False, 4), (PACE, True, 8), (PACE / 10, False, 8)])
def test_thread_takes_no_more_than_its_share_of_dear_queries(new_job, pace, whole, taken):
    queue = waiting(threads=2)
    queue.note([new_job(0, 10, whole=whole)], pace)
    for _ in range(8):
        queue.add(new_job(0, 10, whole=whole))
    assert len(queue.take(0, share=4).jobs) == taken


def test_job_of_more_queries_than_a_share_is_taken_whole(new_job):
    queue = waiting(threads=2)
    queue.note([new_job(0, 10)], PACE)
    queue.add(new_job(0, 10, size=6))
    assert queries_of(queue.take(0, share=3).jobs) == 6
