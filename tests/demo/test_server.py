import contextlib
import os
import signal
import socket
import subprocess
import sys

import httpx
import pytest

from hubless.demo.server import ServerFailed, running_server


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_server_answers_inside_whatever_the_environment_and_is_gone_after_an_exception(catalog, monkeypatch):
    for name, value in {"HUBLESS_PORT": "no number", "HTTP_PROXY": "http://127.0.0.1:1"}.items():
        monkeypatch.setenv(name, value)
        monkeypatch.setenv(name.lower(), value)
    with contextlib.suppress(KeyboardInterrupt), running_server(catalog) as server:
        assert httpx.get(f"{server.url}/readyz", trust_env=False).status_code == 200
        with pytest.raises(ServerFailed, match=r"404.*collection_not_found"):
            server.ask("nowhere", "anything", strength=1.0, limit=3)
        raise KeyboardInterrupt
    assert not is_alive(server.process.pid)


def test_catalog_that_is_missing_is_said_in_the_servers_own_words(tmp_path):
    with pytest.raises(ServerFailed, match="ended with code 1"), running_server(tmp_path / "nowhere" / "catalog"):
        pass


def test_port_that_is_taken_is_an_error_and_not_somebody_elses_server(catalog):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(ServerFailed, match=f"port {port} of 127.0.0.1 cannot be used"),
            running_server(catalog, port),
        ):
            pass


def test_server_that_dies_is_noticed_while_waiting(catalog):
    with running_server(catalog) as server:
        server.process.kill()
        with pytest.raises(ServerFailed, match="ended by itself"):
            server.wait()


WAITER = """
import sys
from pathlib import Path
from hubless.demo.server import running_server

with running_server(Path(sys.argv[1])) as server:
    print(server.process.pid, flush=True)
    server.wait()
"""


def test_server_is_gone_after_its_owner_was_told_to_end(catalog):
    owner = subprocess.Popen([sys.executable, "-c", WAITER, catalog], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        pid = int(owner.stdout.readline())
        assert is_alive(pid)
        owner.send_signal(signal.SIGTERM)
        owner.communicate(timeout=60)
    finally:
        owner.kill()
        owner.communicate()
    assert not is_alive(pid)
