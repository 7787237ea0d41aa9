"""A server that is stopped under load, and one whose files vanish or change."""

import asyncio
import os
import shutil
import signal
import time

import httpx
import pytest
from support import busy, raw, small
from support.server_process import command_line, served

import hubless

WAITING = 6
PATIENT = {"search_threads": 1, "default_timeout_ms": 60_000}
WORKERS = pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.slow), 2])


async def stopping(server):
    """Stop a server with batches that are searched or wait, most of them; an async client, the batches, its /readyz."""
    client = httpx.AsyncClient(base_url=server.url, timeout=60)
    tasks = []
    while (await asyncio.to_thread(server.metrics)).get("hubless_waiting_queries", 0) < 1000:
        # fast machines answer some before all have come
        tasks = [task for task in tasks if not task.done()]
        tasks += [asyncio.create_task(client.post(busy.BATCH, **busy.batch(330))) for _ in range(WAITING - len(tasks))]
        await asyncio.sleep(0.01)
    server.process.send_signal(signal.SIGTERM)
    while (ready := await client.get("/readyz")).status_code == 200:
        await asyncio.sleep(0.01)
    return client, tasks, ready


@WORKERS
def test_queued_work_is_finished_after_sigterm_while_readyz_says_503(busy_catalog, workers):
    async def run(server):
        client, tasks, ready = await stopping(server)
        connection.sendall(raw.request("POST", busy.BATCH, *heads, body=rows) + 2 * raw.LIVE)
        late = await client.post(busy.QUERY, **busy.batch(1))
        answers = await asyncio.gather(*tasks)
        await client.aclose()
        return ready, late, answers

    rows = busy.batch(330)["content"]
    heads = "content-type: application/octet-stream", f"content-length: {len(rows)}"
    with served(busy_catalog, "--workers", workers, **PATIENT) as server, raw.connect(server.url) as connection:
        ready, late, answers = asyncio.run(run(server))
        assert [answer.status for answer in raw.answers(raw.read_to_end(connection))] == [200] * 3
        assert (ready.status_code, ready.json()["detail"]) == (503, "The server is about to stop.")
        assert late.status_code == 200
        assert [answer.status_code for answer in answers] == [200] * WAITING
        assert server.process.wait(30) == 0
    assert not any("Traceback" in line for line in server.log)


@WORKERS
def test_second_sigterm_ends_it_at_once_with_work_in_the_queue(busy_catalog, workers):
    async def run(server):
        client, tasks, _ = await stopping(server)
        server.process.send_signal(signal.SIGTERM)
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        await client.aclose()
        return answers

    # without the second signal it would drain for longer than the test waits
    with served(busy_catalog, "--workers", workers, grace_seconds=6000, **PATIENT) as server:
        pids = server.workers()
        answers = asyncio.run(run(server))
        assert server.process.wait(30) == -signal.SIGTERM
        assert any(isinstance(answer, httpx.TransportError) for answer in answers)
        assert not any(command_line(pid) for pid in pids)


QUICK = {"poll_seconds": 0.1}


@pytest.fixture
def copy(catalog, tmp_path):
    return shutil.copytree(catalog, tmp_path / "catalog")


def ask(server, collection, **more):
    """The status of a query's answer, or None where the connection broke."""
    body = {"vector": [1.0] * 24, "with": ["payload", "vector"], **more}
    try:
        return httpx.post(f"{server.url}/v1/collections/{collection}/query", json=body, timeout=60).status_code
    except httpx.TransportError:
        return None


def ready(server):
    return httpx.get(f"{server.url}/readyz").json()["collections"]


def test_deleted_version_is_served_on_from_what_is_mapped(copy):
    with served(copy, **QUICK) as server:
        # perhaps while its hashes are still compared
        folder = hubless.Catalog(copy).folder("words")
        for deleted in {folder, *(path.parent for path in small.paths(folder))}:
            shutil.rmtree(deleted.rename(copy.with_name("deleted")))
        time.sleep(0.5)  # some looks at the catalog
        assert [ask(server, "words", limit=300) for _ in range(3)] == [200] * 3
        assert ready(server)["words"]["status"] == "ready"


def test_index_that_is_cut_kills_a_single_process_and_is_refused_at_its_next_start(copy):
    with served(copy, **QUICK) as server:
        os.truncate(small.path_of(hubless.Catalog(copy).folder("words"), "index.faiss"), 0)
        while (status := ask(server, "words")) is not None:
            assert status == 200  # a part may still be in memory
        assert server.process.wait(30) == -signal.SIGBUS
    with served(copy, **QUICK) as server:
        state = ready(server)
        assert state["words"] == {"status": "failed", "code": "bundle_damaged", "detail": state["words"]["detail"]}
        assert state["words"]["detail"].startswith("index.faiss: has 0 bytes")
        assert (ask(server, "words"), ask(server, "numbers")) == (503, 200)
