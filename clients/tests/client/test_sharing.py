"""One client in many threads, tasks, event loops and processes, and what copies and pickles of it are."""

import asyncio
import copy
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from textwrap import dedent

import httpx
import pytest
from support.copies import COPIES, pickled
from support.until import until
from support.wire import ANSWER, Server, problem

from hubless_client import ApiNotReady, AsyncClient, CannotSend, Client, ClientError, Hits, Retries
from hubless_client.connection import PLACES

CALLS = 10 * PLACES
NO_WAIT_FOR_A_CONNECTION = httpx.Timeout(30.0, pool=0.001)


class Busy(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Answers each call when `together` of them are there, and counts how many there are at a time."""

    def __init__(self, together=PLACES):
        self.inside, self.most = 0, 0
        self.gate, self.changed = threading.Event(), asyncio.Event()
        self.lock = threading.Lock()
        self.together = together

    def came(self, more):
        with self.lock:
            self.inside += more
            self.most = max(self.most, self.inside)
            if self.inside >= self.together:
                self.gate.set()
                self.changed.set()

    def handle_request(self, request):
        self.came(1)
        self.gate.wait(30)
        self.came(-1)
        return httpx.Response(200, json=ANSWER)

    async def handle_async_request(self, request):
        self.came(1)
        await self.changed.wait()
        await asyncio.sleep(0)
        self.came(-1)
        return httpx.Response(200, json=ANSWER)


def test_calls_of_many_tasks_wait_for_a_place_and_none_is_lost():
    async def session():
        busy = Busy()
        async with AsyncClient(transport=busy) as client:
            found = await asyncio.gather(*(client.query("songs", [1.0]) for _ in range(CALLS)))
        return found, busy.most

    found, most = asyncio.run(session())
    assert (len(found), {type(hits) for hits in found}, most) == (CALLS, {Hits}, PLACES)


def test_calls_of_many_threads_wait_for_a_place_and_none_is_lost():
    busy = Busy()
    with Client(transport=busy) as client, ThreadPoolExecutor(2 * PLACES) as threads:
        found = list(threads.map(lambda _: client.query("songs", [1.0]), range(CALLS)))
    assert (len(found), {type(hits) for hits in found}, busy.most) == (CALLS, {Hits}, PLACES)


def test_waiting_for_a_place_is_no_part_of_the_timeout(server):
    async def session():
        async with AsyncClient(server, timeout=NO_WAIT_FOR_A_CONNECTION) as client:
            return await asyncio.gather(*(client.live() for _ in range(CALLS)))

    assert all(asyncio.run(session()))


def test_cancelled_calls_give_their_places_back():
    async def session():
        busy = Busy(together=10**6)
        async with AsyncClient(transport=busy) as client:
            tasks = [asyncio.create_task(client.query("songs", [1.0])) for _ in range(2 * PLACES)]
            while busy.inside < PLACES:
                await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            busy.changed.set()
            await asyncio.gather(*(client.query("songs", [1.0]) for _ in range(PLACES)))
        return {type(each) for each in ended}

    assert asyncio.run(session()) == {asyncio.CancelledError}


@pytest.mark.parametrize("failure", [httpx.ReadError("lost"), problem(503, "not_ready")])
def test_failed_calls_give_their_places_back(ask, failure):
    server = Server(*[failure] * PLACES, ANSWER)
    with Client(transport=httpx.MockTransport(server), retries=Retries(0)) as client:
        for _ in range(PLACES):
            with pytest.raises(ClientError):
                client.query("songs", [1.0])
        assert len(client.query("songs", [1.0])) == 1


def test_async_client_serves_one_event_loop_after_another_and_several_at_once(peer):
    client = AsyncClient(peer.url)

    async def session():
        return (await client.query("songs", [1.0]))[0].id

    found = [asyncio.run(session()) for _ in range(3)]
    with ThreadPoolExecutor(4) as threads:
        found += threads.map(lambda _: asyncio.run(session()), range(8))
    asyncio.run(client.close())
    assert found == [7] * 11
    with pytest.raises(CannotSend, match="closed"):
        asyncio.run(session())


def test_calls_that_run_when_the_client_is_closed_end_as_usual_and_later_ones_are_refused():
    async def session():
        busy = Busy(together=10**6)
        client = AsyncClient(transport=busy)
        running = [asyncio.create_task(client.query("songs", [1.0])) for _ in range(PLACES + 3)]
        while busy.inside < PLACES:
            await asyncio.sleep(0)
        await client.close()
        busy.changed.set()
        return await asyncio.gather(*running, return_exceptions=True)

    kinds = [type(each) for each in asyncio.run(session())]
    assert kinds == [Hits] * PLACES + [CannotSend] * 3


def test_threads_that_wait_for_an_answer_when_the_client_is_closed_get_it():
    busy = Busy(together=10**6)
    client = Client(transport=busy)
    with ThreadPoolExecutor(4) as threads:
        running = [threads.submit(client.query, "songs", [1.0]) for _ in range(4)]
        until(lambda: busy.inside == 4)
        client.close()
        busy.gate.set()
        assert {len(each.result()) for each in running} == {1}
    with pytest.raises(CannotSend, match="closed"):
        client.query("songs", [1.0])


FORKED = """
    import asyncio, os, sys, threading
    from hubless_client import AsyncClient, Client

    client, tasks = Client(sys.argv[1]), AsyncClient(sys.argv[1])
    ended = threading.Event()

    def until_the_end():
        while not ended.is_set():
            client.query("songs", [1.0])

    thread = threading.Thread(target=until_the_end)
    thread.start()

    async def ask():
        await asyncio.gather(*(tasks.query("songs", [1.0]) for _ in range(3)))

    async def parent():
        await ask()
        for _ in range(6):
            if not (child := os.fork()):
                asyncio._set_running_loop(None)  # as multiprocessing does
                client.query("songs", [1.0])
                asyncio.run(ask())
                os._exit(0)
            while os.waitpid(child, os.WNOHANG) == (0, 0):
                await ask()
        await tasks.close()

    asyncio.run(parent())
    ended.set()
    thread.join()
    client.close()
    print("done")
"""


def test_forked_process_opens_connections_of_its_own(peer):
    script = [sys.executable, "-W", "ignore", "-c", dedent(FORKED), peer.url]
    done = subprocess.run(script, capture_output=True, text=True, timeout=100, check=False)
    assert (done.stdout, done.stderr) == ("done\n", "")
    assert len(set(peer.ports)) >= 1 + 6 * (1 + 1)


KEPT = """
    import os, sys
    from hubless_client import Client

    client = Client(sys.argv[1])
    client.query("songs", [1.0])
    if not (child := os.fork()):
        client.query("songs", [1.0])
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    client.query("songs", [1.0])
    client.close()
"""


def test_connection_that_is_kept_open_is_not_shared_with_a_forked_process(peer):
    script = [sys.executable, "-W", "ignore", "-c", dedent(KEPT), peer.url]
    subprocess.run(script, timeout=100, check=True)
    before, of_child, after = peer.ports
    assert before == after != of_child


@pytest.mark.parametrize("made_of", COPIES)
def test_copy_of_a_client_has_its_settings_and_connections_of_its_own(peer, made_of):
    first = Client(peer.url, api_key="reader-0123456789", timeout=7.0, retries=Retries(0))
    with made_of(first) as second:
        first.close()
        assert second.query("songs", [1.0])[0].id == 7
        assert (repr(second), second._settings) == (repr(first), first._settings)

    async def session():
        async with made_of(AsyncClient(peer.url)) as other:
            return (await other.query("songs", [1.0]))[0].id

    assert asyncio.run(session()) == 7


def test_client_with_a_transport_can_be_copied_and_says_why_it_cannot_be_pickled():
    client = Client("http://hubless.test", transport=httpx.MockTransport(Server(ANSWER)))
    assert len(copy.deepcopy(client).query("songs", [1.0])) == 1
    with pytest.raises(TypeError, match=r"Client\('http://hubless.test/'\) cannot be pickled with its transport"):
        pickled(client)


def test_answers_and_errors_can_be_pickled():
    server = Server(ANSWER, problem(503, "not_ready", headers={"Retry-After": "4"}, engine="x"))
    with Client(transport=httpx.MockTransport(server), retries=Retries(0)) as client:
        hits = client.query("songs", [1.0])
        with pytest.raises(ApiNotReady) as caught:
            client.query("songs", [1.0])
    assert pickled(hits) == hits
    again = pickled(caught.value)
    assert (type(again), vars(again), str(again)) == (ApiNotReady, vars(caught.value), str(caught.value))
