import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "docker" / "healthcheck.py"


@contextmanager
def service(status: int) -> Iterator[int]:
    """A server whose /readyz answers `status` and whose other paths are not found; gives its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/readyz" else 404)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def check(port: int, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT)],
        env=os.environ | {"HUBLESS_PORT": str(port)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_ready_service_is_healthy():
    with service(200) as port:
        result = check(port)
    assert (result.returncode, result.stderr) == (0, "")


def test_service_that_is_not_ready_is_unhealthy_and_the_status_is_said():
    with service(503) as port:
        result = check(port)
    assert (result.returncode, result.stderr) == (1, "not ready: 503\n")


def test_service_that_does_not_listen_is_unhealthy_in_one_line():
    with service(200) as port:
        pass
    result = check(port)
    assert result.returncode == 1
    assert result.stderr.startswith("no answer: ")
    assert result.stderr.count("\n") == 1


def test_proxy_of_the_environment_is_not_asked():
    with service(200) as port:
        result = check(port, http_proxy="http://127.0.0.1:9", HTTP_PROXY="http://127.0.0.1:9")
    assert result.returncode == 0
