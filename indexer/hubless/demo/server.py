"""A real server in its own process. It stops however the demo ends."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Any, NoReturn

import httpx

from hubless.errors import HublessError

HOST = "127.0.0.1"
READY_SECONDS = 60
ANSWER_SECONDS = 30
STOP_SECONDS = 10
_POLL_SECONDS = 0.05
_LOG_LINES = 5


class ServerFailed(HublessError):
    """The server did not start, or refused a question. The message has the end of its log."""

    code = "server_failed"


@dataclass(frozen=True)
class DemoServer:
    """A running server."""

    url: str
    process: subprocess.Popen[bytes]
    client: httpx.Client

    def ask(self, collection: str, text: str, strength: float, limit: int) -> list[dict[str, Any]]:
        """Return the hits of a question in words, with payload."""
        question = {"text": text, "strength": strength, "limit": limit, "with": ["payload"]}
        try:
            answer = self.client.post(f"/v1/collections/{collection}/query", json=question)
        except httpx.HTTPError as error:
            raise ServerFailed(f"no answer from {self.url}: {error}") from error
        if not answer.is_success:
            raise ServerFailed(f"{self.url} answers {answer.status_code}: {answer.text}")
        hits: list[dict[str, Any]] = answer.json()["hits"]
        return hits

    def wait(self) -> NoReturn:
        """Wait for Ctrl-C or SIGTERM. Raises `ServerFailed` if the server ends by itself."""
        raise ServerFailed(f"the server ended by itself with code {self.process.wait()}")


@contextlib.contextmanager
def running_server(catalog: Path, port: int = 0) -> Iterator[DemoServer]:
    """Serve a catalog while inside, on the given port or a free one.

    The server gets no Ctrl-C of its own, and SIGTERM and SIGHUP become exceptions, so that every way out but SIGKILL
    passes through here and stops it.
    """
    port = _free_port(port)
    url = f"http://{HOST}:{port}"
    command = [sys.executable, "-m", "hubless", "serve", "--catalog", str(catalog), "--host", HOST, "--port", str(port)]
    command += ["--workers", "1"]  # it starts faster, and one caller asks
    # the environment may have settings for another server
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HUBLESS_")}
    # requests to this machine must not go through a proxy
    client = httpx.Client(base_url=url, trust_env=False, timeout=ANSWER_SECONDS)
    with client, _signals_raise(), tempfile.TemporaryFile() as log:
        process = subprocess.Popen(  # noqa: S603  (our own command)
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
        )
        try:
            _wait_until_ready(client, process, log)
            yield DemoServer(url, process, client)
        finally:
            _stop(process)


def _free_port(wanted: int) -> int:
    """Return the port if it is free, or any free one for 0. Otherwise another server could answer."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, wanted))
        except OSError as error:
            raise ServerFailed(f"port {wanted} of {HOST} cannot be used: {error.strerror}") from error
        port: int = probe.getsockname()[1]
        return port


def _wait_until_ready(client: httpx.Client, process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise ServerFailed(f"the server ended with code {process.returncode}:\n{_last_lines(log)}")
        with contextlib.suppress(httpx.TransportError):  # it does not listen yet
            if client.get("/readyz").is_success:
                return
        time.sleep(_POLL_SECONDS)
    raise ServerFailed(f"the server is not ready after {READY_SECONDS} s:\n{_last_lines(log)}")


def _last_lines(log: IO[bytes]) -> str:
    log.seek(0)
    return "\n".join(log.read().decode(errors="replace").splitlines()[-_LOG_LINES:])


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
    finally:
        process.kill()  # nothing happens if it has ended
        process.wait()


@contextlib.contextmanager
def _signals_raise() -> Iterator[None]:
    ending = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, _exit) for number in ending}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
