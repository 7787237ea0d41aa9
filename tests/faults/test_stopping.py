"""SIGTERM under load: work that is queued is finished, and a second one does not wait for it."""

import asyncio
import signal

import httpx
import pytest
from support import busy
from support.server_process import command_line, served

WAITING = 6
PATIENT = {"search_threads": 1, "max_waiting": 100_000, "default_timeout_ms": 60_000}
WORKERS = pytest.mark.parametrize("workers", [1, 2])


async def queued(server):
    """An async client, and batches that are being searched or wait, so many that most of them wait."""
    client = httpx.AsyncClient(base_url=server.url, timeout=60)
    tasks = [asyncio.create_task(client.post(busy.BATCH, **busy.batch(1000))) for _ in range(WAITING)]
    while (await asyncio.to_thread(server.metrics)).get("hubless_waiting_queries", 0) < 1000:
        await asyncio.sleep(0.01)
    return client, tasks


@WORKERS
def test_queued_work_is_finished_after_sigterm_while_readyz_says_503(busy_catalog, workers):
    async def run(server):
        client, tasks = await queued(server)
        server.process.send_signal(signal.SIGTERM)
        while (ready := await client.get("/readyz")).status_code == 200:
            await asyncio.sleep(0.01)
        late = await client.post(busy.QUERY, **busy.batch(1))
        answers = await asyncio.gather(*tasks)
        await client.aclose()
        return ready, late, answers

    with served(busy_catalog, "--workers", workers, drain_seconds=2, **PATIENT) as server:
        ready, late, answers = asyncio.run(run(server))
        assert (ready.status_code, ready.json()["detail"]) == (503, "The server is about to stop.")
        assert late.status_code == 200
        assert [answer.status_code for answer in answers] == [200] * WAITING
        assert server.process.wait(30) == 0
    assert not any("Traceback" in line for line in server.log)


@WORKERS
def test_second_sigterm_ends_it_at_once_with_work_in_the_queue(busy_catalog, workers):
    async def run(server):
        client, tasks = await queued(server)
        server.process.send_signal(signal.SIGTERM)
        while (await client.get("/readyz")).status_code == 200:
            await asyncio.sleep(0.01)
        server.process.send_signal(signal.SIGTERM)
        status = await asyncio.to_thread(server.process.wait, 30)
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        await client.aclose()
        return status, answers

    # without the second signal it would drain for longer than the test waits
    with served(busy_catalog, "--workers", workers, drain_seconds=600, **PATIENT) as server:
        pids = server.workers()
        status, answers = asyncio.run(run(server))
        assert status == -signal.SIGTERM
        assert any(isinstance(answer, httpx.TransportError) for answer in answers)
        assert not any(command_line(pid) for pid in pids)
