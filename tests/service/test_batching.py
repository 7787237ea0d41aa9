"""The queue before the search threads, with searches that take a known time."""

import asyncio
import threading
import time
from collections import Counter
from functools import partial

import pytest

from hubless_service.http.problems import Problem
from hubless_service.http.trace import Trace
from hubless_service.searching.batching import Batcher

PACE = 0.002
"""Seconds a query: a batch of 256 takes half a second."""


def search(items):
    time.sleep(PACE * len(items))
    return items


@pytest.fixture
def batcher():
    made = Batcher(threads=1, room=2000, together=256, prepare=lambda: None)
    made.start()
    yield made
    made.stop()


async def offer(batcher, count, rate, patience):
    """Requests at a rate, each with some seconds of patience: how they ended."""

    async def ask(number):
        trace = Trace(str(number))
        try:
            return await batcher.submit(trace, trace.started + patience, search, number, "alike") == number
        except Problem as problem:
            return problem.code

    started, tasks = time.perf_counter(), []
    while len(tasks) < count:
        while len(tasks) < min(count, rate * (time.perf_counter() - started)):
            tasks.append(asyncio.create_task(ask(len(tasks))))
        await asyncio.sleep(0.001)
    return Counter(await asyncio.gather(*tasks))


@pytest.mark.parametrize("patience", [0.1, 0.4, 3])
def test_four_times_the_capacity_leaves_most_of_it_to_requests_that_are_answered_in_time(batcher, patience):
    """Searched in their order and together, those of little patience would all come too late."""
    rate, seconds = 4 / PACE, 2
    ended = asyncio.run(offer(batcher, int(rate * seconds), rate, patience))
    assert set(ended) <= {True, "too_many_requests", "deadline_exceeded"}
    assert ended[True] > 0.3 * seconds / PACE


def test_estimate_that_was_far_too_long_is_put_right(batcher):
    batcher._paces.note("alike", 100.0)
    ended = asyncio.run(offer(batcher, 300, 0.5 / PACE, 2))
    assert ended[True] > 200


def test_requests_of_which_none_waits_for_another_are_answered_whatever_was_learnt(batcher):
    batcher._paces.note("alike", 100.0)
    assert asyncio.run(offer(batcher, 1, 10, 0.5)) == {True: 1}


def test_who_would_wait_too_long_is_told_so_at_once_and_who_has_the_time_is_not(batcher):
    async def run():
        waiting = [
            asyncio.create_task(_submit(batcher, number, patience=10, batch=100)) for number in range(5)
        ]  # a second of work
        await asyncio.sleep(0.4)
        with pytest.raises(Problem, match="It would wait for about") as refusal:
            await _submit(batcher, 5, patience=0.5)
        patient = _submit(batcher, 6, patience=20)
        return refusal.value.code, await patient, await asyncio.gather(*waiting)

    refused, answered, others = asyncio.run(run())
    assert (refused, answered, others) == ("too_many_requests", 6, [0, 1, 2, 3, 4])


def test_search_that_takes_long_keeps_out_those_that_cannot_wait_for_its_end():
    begun, free = threading.Event(), threading.Event()

    def hold(items):
        begun.set()
        assert free.wait(20)
        return items

    async def run(batcher):
        held = asyncio.create_task(_submit(batcher, 0, patience=20, work=hold))
        await asyncio.to_thread(begun.wait, 20)
        first = asyncio.create_task(_submit(batcher, 1, patience=20))
        await asyncio.sleep(0.3)
        with pytest.raises(Problem, match=r"and has 0\.5 in all") as refusal:
            await _submit(batcher, 2, patience=0.5)
        free.set()
        return refusal.value.code, await held, await first

    batcher = Batcher(threads=1, room=2000, together=256, prepare=lambda: None)
    batcher.start()
    try:
        assert asyncio.run(run(batcher)) == ("too_many_requests", 0, 1)
    finally:
        batcher.stop()


def test_who_waited_to_be_read_for_most_of_the_time_is_refused_though_nothing_else_waits(batcher):
    async def ask(late, patience):
        trace = Trace("late", time.perf_counter() - late)
        return await batcher.submit(trace, trace.started + patience, search, 1)

    assert asyncio.run(ask(late=1, patience=10)) == 1
    with pytest.raises(Problem, match="It would wait") as refusal:
        asyncio.run(ask(late=4, patience=10))
    assert refusal.value.code == "too_many_requests"


def test_what_is_light_is_done_by_some_threads_only_unless_they_are_at_something_heavy():
    """The event loop has as much to do for it, and needs a processor."""
    begun, free, seen = threading.Semaphore(0), threading.Event(), {"light": set(), "heavy": set()}

    def light(items):
        seen["light"].add(threading.current_thread().name)
        time.sleep(0.005)
        return items

    def heavy(items):
        seen["heavy"].add(threading.current_thread().name)
        begun.release()
        assert free.wait(20)
        return items

    async def ask(work, key):
        trace = Trace(key)
        return await batcher.submit(trace, trace.started + 20, work, key, key)

    async def run():
        batcher._paces.note("light", 1e-4)
        for _ in range(5):
            batcher._paces.note("light", 1e-4)
            await asyncio.gather(*(ask(light, "light") for _ in range(20)))
        alone = set(seen["light"])
        # the first takes one, the only thread for what is light; the others the second and the third
        tasks = [asyncio.create_task(ask(heavy, f"heavy {number}")) for number in range(2)]
        for _ in tasks:
            await asyncio.to_thread(begun.acquire, timeout=20)
        batcher._paces.note("light", 1e-4)
        await ask(light, "light")  # and this comes through
        free.set()
        await asyncio.gather(*tasks)
        return alone

    batcher = Batcher(threads=3, room=2000, together=256, prepare=lambda: None, light=1)
    batcher.start()
    try:
        assert asyncio.run(run()) == {"search-0"}
    finally:
        free.set()
        batcher.stop()
    assert len(seen["heavy"]) == 2


def test_searches_that_take_all_processors_go_one_at_a_time_and_together_while_others_run_beside_them():
    begun, free, batches, running = threading.Semaphore(0), threading.Event(), [], []

    def whole(items):
        batches.append(list(items))
        running.append(1)
        begun.release()
        assert free.wait(20)
        assert len(running) == 1
        running.pop()
        return items

    async def ask(item, work, key, whole):
        trace = Trace(key)
        return await batcher.submit(trace, trace.started + 20, work, item, key, whole=whole)

    async def run():
        first = asyncio.create_task(ask(0, whole, "whole", True))
        await asyncio.to_thread(begun.acquire, timeout=20)
        others = [asyncio.create_task(ask(item, whole, "whole", True)) for item in range(1, 6)]
        beside = await asyncio.gather(*(ask(item, search, "beside", False) for item in range(5)))
        assert batches == [[0]]
        free.set()
        return beside, await first, await asyncio.gather(*others)

    batcher = Batcher(threads=3, room=2000, together=256, prepare=lambda: None)
    batcher.start()
    try:
        assert asyncio.run(run()) == ([0, 1, 2, 3, 4], 0, [1, 2, 3, 4, 5])
    finally:
        free.set()
        batcher.stop()
    assert batches == [[0], [1, 2, 3, 4, 5]]


def test_who_asks_again_at_once_goes_with_the_next_search_that_takes_all_processors():
    """Else those who were just answered and those who wait would take turns, in half as large batches for ever."""
    sizes = []

    def work(items):
        sizes.append(len(items))
        time.sleep(0.01)
        return items

    async def ask_again_and_again(item):
        for _ in range(20):
            trace = Trace(str(item))
            await batcher.submit(trace, trace.started + 20, work, item, "whole", whole=True)

    async def run():
        await asyncio.gather(*(ask_again_and_again(item) for item in range(16)))

    batcher = Batcher(threads=2, room=2000, together=256, prepare=lambda: None)
    batcher.start()
    try:
        asyncio.run(run())
    finally:
        batcher.stop()
    assert sum(sizes) == 16 * 20
    assert max(sizes[2:]) == 16


def test_searches_that_may_not_go_together_run_at_the_same_time_whatever_they_take():
    both = threading.Barrier(2, timeout=20)

    def work(items):
        both.wait()
        return items

    async def ask(item):
        trace = Trace(str(item))
        return await batcher.submit(trace, trace.started + 20, work, item, "whole", whole=True)

    async def run():
        return await asyncio.gather(ask(0), ask(1))

    batcher = Batcher(threads=2, room=2000, together=1, prepare=lambda: None)
    batcher.start()
    try:
        assert asyncio.run(run()) == [0, 1]
    finally:
        batcher.stop()


async def _submit(batcher, item, patience, batch=1, work=search):
    trace = Trace(str(item))
    return await batcher.submit(trace, trace.started + patience, partial(_repeat, work, batch), item, size=batch)


def _repeat(work, times, items):
    work(items * times)
    return items
