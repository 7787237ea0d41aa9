"""A server of Chroma: its databases, and an application that writes while corrections run."""

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest
from support import stores
from support.processes import free_port
from support.until import until

import hubless
from hubless.errors import InputError

chromadb = pytest.importorskip("chromadb", reason="needs chromadb: `make stores`")
SharedSystemClient = pytest.importorskip("chromadb.api.shared_system_client").SharedSystemClient


# its client leaves sockets open, where it is refused and where it is closed
pytestmark = pytest.mark.filterwarnings(
    "ignore:unclosed <socket:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


def answers(port):
    try:
        return httpx.get(f"http://127.0.0.1:{port}/api/v2/heartbeat", timeout=60).is_success
    except httpx.HTTPError:
        return False


class ChromaServer(stores.Chroma):
    """The collection in a database of its own, of a server."""

    def __init__(self, port):
        self.port, self.clients = port, []
        self.address = f"chroma://127.0.0.1:{port}/default_tenant/pictures/photos"

    def client(self, database="pictures"):
        settings = chromadb.Settings(anonymized_telemetry=False)
        self.clients.append(chromadb.HttpClient("127.0.0.1", self.port, settings=settings, database=database))
        return self.clients[-1]

    def close(self):
        for each in self.clients:
            each.close()
        self.clients.clear()
        SharedSystemClient.clear_system_cache()  # it holds what was closed, with its sockets


@pytest.fixture
def server(tmp_path):
    port = free_port()
    command = [Path(sys.executable).parent / "chroma", "run", "--path", tmp_path, "--port", str(port)]
    quiet = {**os.environ, "ANONYMIZED_TELEMETRY": "false"}
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=quiet)
    store = ChromaServer(port)
    try:
        until(lambda: running.poll() is not None or answers(port))
        assert running.poll() is None
        databases = f"http://127.0.0.1:{port}/api/v2/tenants/default_tenant/databases"
        httpx.post(databases, json={"name": "pictures"}, timeout=60).raise_for_status()
        store.fill(0, stores.FIRST)
        yield store
    finally:
        store.close()
        running.terminate()
        running.wait()
        gc.collect()  # here, where the warnings above are left alone


def test_database_of_a_server_is_corrected_while_an_application_writes(server, fitted, best):
    done = hubless.publish(fitted, server.address)
    assert stores.asked(server, done.query) == best(fitted)
    kept, ended = stores.Kept(server), threading.Event()

    def application():
        while not ended.is_set():
            for work in (kept.change, kept.change, kept.insert, kept.delete):
                work()

    writer = threading.Thread(target=application)
    writer.start()
    for run in ({"query_bank": stores.BANK_QUERIES, "bank_of_targets": True}, {"sync": True}):
        hubless.correct(server.address, **run)
    ended.set()
    writer.join()
    hubless.correct(server.address, sync=True)
    assert kept.behind() == []
    assert [server.search(query) for query in stores.QUERIES] == kept.found()
    assert len(hubless.undo(server.address)) == 3


def test_names_that_a_server_lacks_are_named(server):
    with pytest.raises(InputError, match="expected a Chroma that lets you in"):
        hubless.correct(server.address.replace("pictures", "nowhere"), stores.BANK_QUERIES)
