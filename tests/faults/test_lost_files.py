"""Files that vanish or change under a running server: what is deleted stays mapped, what is cut kills who reads it."""

import os
import shutil
import signal
import time

import httpx
import pytest
from support.server_process import served

import hubless

QUICK = {"poll_seconds": 0.1}


@pytest.fixture
def copy(catalog, tmp_path):
    """A catalog that may be damaged."""
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
        shutil.rmtree(hubless.Catalog(copy).folder("words").rename(copy.with_name("deleted")))
        time.sleep(0.5)  # some looks at the catalog
        assert [ask(server, "words", limit=300) for _ in range(3)] == [200] * 3
        assert ready(server)["words"]["status"] == "ready"


def truncate(catalog, collection):
    os.truncate(hubless.Catalog(catalog).folder(collection) / "index.faiss", 0)


def test_index_that_is_cut_kills_a_single_process_and_is_refused_at_its_next_start(copy):
    with served(copy, **QUICK) as server:
        truncate(copy, "words")
        while (status := ask(server, "words")) is not None:
            assert status == 200  # a part may still be in memory
        assert server.process.wait(30) == -signal.SIGBUS
    with served(copy, **QUICK) as server:
        state = ready(server)
        assert state["words"] == {"status": "failed", "code": "bundle_damaged", "detail": state["words"]["detail"]}
        assert state["words"]["detail"].startswith("index.faiss: has 0 bytes")
        assert (ask(server, "words"), ask(server, "numbers")) == (503, 200)


@pytest.mark.slow
def test_index_that_is_cut_costs_its_collection_alone_where_there_are_several_workers(copy):
    with served(copy, "--workers", 2, **QUICK) as server:
        truncate(copy, "words")
        refusals = 0
        while refusals < 20:
            refusals = refusals + 1 if ask(server, "words") == 503 else 0
        assert {ask(server, "numbers") for _ in range(20)} == {200}
        while len(server.workers()) < 2:
            time.sleep(0.01)  # the last to look at what was cut has yet to be replaced


NO_WRITING = """
import errno, os, sys
def refuse(event, args):
    if event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and args[0] != os.devnull:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), args[0])
sys.addaudithook(refuse)
"""


def test_server_that_can_write_nowhere_serves_and_says_that_it_can_change_nothing(copy):
    with served(copy, before=NO_WRITING, **QUICK) as server:
        assert ask(server, "words") == 200
        assert {state["status"] for state in ready(server).values()} == {"ready"}
        version = ready(server)["words"]["version"]
        for method, path, body in (
            ("POST", f"collections/words/versions/{version}/activate", None),
            ("PUT", "aliases/terms", {"collection": "words"}),
        ):
            answer = httpx.request(method, f"{server.url}/v1/{path}", json=body)
            assert (answer.status_code, answer.json()["code"]) == (503, "storage"), answer.text
        assert ask(server, "words") == 200
