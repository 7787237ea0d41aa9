"""A worker is killed under load: the others answer, and another takes its place without an answer that is an error."""

import asyncio
import os
import signal
from collections import Counter

import httpx
import pytest
from support.server_process import served

QUERY = "/v1/collections/words/query"
ASK = {"text": "amber"}
CONNECTIONS, KILLS = 8, 10


async def ask_until(stop, url, seen):
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        while not stop.is_set():
            try:
                seen[(await client.post(QUERY, json=ASK)).status_code] += 1
            except httpx.TransportError:
                seen["broken"] += 1


async def kill_under_load(server, seen):
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for _ in range(CONNECTIONS):
            group.create_task(ask_until(stop, server.url, seen))
        for _ in range(KILLS):
            before, answered = server.workers(), seen[200]
            os.kill(before[0], signal.SIGKILL)
            while len(now := server.workers()) < 2 or before[0] in now or seen[200] < answered + 100:
                await asyncio.sleep(0.01)
        stop.set()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_only_the_connections_of_killed_workers_break(catalog, attack):
    seen = Counter()
    with served(catalog, "--workers", 2) as server:
        server.wait_until_all_have_loaded("words", 2)
        asyncio.run(kill_under_load(server, seen))
        ended = [line for line in server.log if "another takes its place" in line]
    attack("kills of workers under load", KILLS)
    assert set(seen) <= {200, "broken"}
    assert seen["broken"] <= KILLS * CONNECTIONS
    assert len(ended) == KILLS
