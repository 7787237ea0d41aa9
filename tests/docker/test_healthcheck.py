import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "docker" / "healthcheck.py"


@contextmanager
def service(status):
    """The port of a server whose /readyz answers with a status, and whose other paths are not found."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status if self.path == "/readyz" else 404)
            self.end_headers()

        def log_message(self, *args):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def check(port):
    """The exit status and what is said; the proxy of the environment must not be asked."""
    environment = os.environ | {"HUBLESS_PORT": str(port), "http_proxy": "http://127.0.0.1:9"}
    done = subprocess.run([sys.executable, str(SCRIPT)], env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(("status", "expected"), [(200, (0, "")), (503, (1, "not ready: 503\n"))])
def test_service_is_healthy_if_it_is_ready_and_its_status_is_said_otherwise(status, expected):
    with service(status) as port:
        assert check(port) == expected


def test_service_that_does_not_listen_is_unhealthy_in_one_line():
    with service(200) as port:
        pass
    code, said = check(port)
    assert (code, said[:11], said.count("\n")) == (1, "no answer: ", 1)
