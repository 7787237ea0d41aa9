"""The search threads: what goes together, and that no failure ends them."""

import asyncio
import threading
from contextlib import contextmanager

import pytest

from hubless_service.http.trace import Trace
from hubless_service.searching.batching import Batcher


@contextmanager
def started(threads, **more):
    batcher = Batcher(**{"threads": threads, "room": 2000, "together": 256, "prepare": lambda: None, **more})
    batcher.start()
    try:
        yield batcher
    finally:
        batcher.stop()


def ask(batcher, answer, item=0, key=None, **more):
    """Submit a request that has time enough."""
    trace = Trace(str(item))
    return batcher.submit(trace, trace.started + 20, answer, item, key, **more)


def echo(items):
    return items


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

    async def run():
        first = ask(batcher, whole, 0, "whole", whole=True)
        await asyncio.to_thread(begun.acquire, timeout=20)
        others = [ask(batcher, whole, item, "whole", whole=True) for item in range(1, 6)]
        beside = await asyncio.gather(*(ask(batcher, echo, item, "beside") for item in range(5)))
        assert batches == [[0]]
        free.set()
        return beside, await first, await asyncio.gather(*others)

    with started(threads=3) as batcher:
        try:
            assert asyncio.run(run()) == ([0, 1, 2, 3, 4], 0, [1, 2, 3, 4, 5])
        finally:
            free.set()
    assert batches == [[0], [1, 2, 3, 4, 5]]


def test_client_that_asks_again_at_once_goes_with_the_next_search_that_takes_all_processors():
    """Else those who were just answered and those who wait would take turns, in half as large batches for ever."""
    sizes, first = [], threading.Event()

    def work(items):
        sizes.append(len(items))
        assert first.wait(20)
        return items

    async def ask_again_and_again(item):
        for _ in range(20):
            trace = Trace(str(item))
            await batcher.submit(trace, trace.started + 20, work, item, "whole", whole=True)

    async def run():
        asking = [asyncio.create_task(ask_again_and_again(item)) for item in range(16)]
        while batcher.waiting < 15:
            await asyncio.sleep(0)
        first.set()
        await asyncio.gather(*asking)

    with started(threads=2) as batcher:
        asyncio.run(run())
    assert sum(sizes) == 16 * 20
    assert sizes.count(16) > 10


def test_searches_that_may_not_go_together_run_at_the_same_time_whatever_they_take():
    both = threading.Barrier(2, timeout=20)

    def work(items):
        both.wait()
        return items

    async def run():
        return await asyncio.gather(*(ask(batcher, work, item, "whole", whole=True) for item in range(2)))

    with started(threads=2, together=1) as batcher:
        assert asyncio.run(run()) == [0, 1]


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda items: [*items, "one more"], id="too many results"),
        pytest.param(lambda items: [StopIteration()], id="what no future takes"),
        pytest.param(lambda items: next(iter(())), id="an iterator that ends"),
        pytest.param(lambda items: exit(), id="an exit"),
    ],
)
def test_answer_that_fails_as_no_answer_may_is_an_error_of_its_request_alone(caplog, answer, whole):
    async def run():
        with pytest.raises(RuntimeError):
            await ask(batcher, answer, key="key", whole=whole)
        return [await ask(batcher, echo, item, "key", whole=whole) for item in range(3)]

    with started(threads=1) as batcher:
        assert asyncio.run(run()) == [0, 1, 2]


def test_thread_that_cannot_be_prepared_searches_all_the_same(caplog):
    def refuse():
        raise PermissionError("on purpose")

    with started(threads=1, prepare=refuse) as batcher:
        assert asyncio.run(asyncio.wait_for(run_one(batcher), 20)) == 0
    assert "on purpose" in caplog.text


async def run_one(batcher):
    return await ask(batcher, echo)


@pytest.mark.parametrize("whole", [False, True])
def test_failure_that_a_thread_survives_is_counted_and_logged(caplog, whole):
    survived = []

    async def run():
        with pytest.raises(RuntimeError, match="a search thread has failed"):
            await ask(batcher, lambda items: exit(), key="key", whole=whole)
        return await ask(batcher, echo, 1, "key", whole=whole)

    with started(threads=1) as batcher:
        batcher.on_failure = lambda: survived.append(1)
        assert asyncio.run(run()) == 1
    assert survived == [1]
    assert "a search thread has failed and goes on" in caplog.text
