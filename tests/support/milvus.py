"""Milvus over the network: the server of milvus-lite, which answers as a cluster does as far as tests ask."""

import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from pymilvus import MilvusClient
from pymilvus.exceptions import MilvusException

_PATIENCE = 120
_TRIES = 5


class Double:
    """A running server.

    Attributes
    ----------
    uri : where it listens, on the loopback
    """

    def __init__(self, folder, port):
        self.port = port
        self.uri = f"http://127.0.0.1:{port}"
        self._folder = folder
        self._process = None

    def client(self):
        """A new client of it."""
        return MilvusClient(self.uri, timeout=_PATIENCE)

    def start(self):
        """Start it, with what it held when it was stopped. False if another program has taken the port."""
        # --host: it listens to all networks unless told
        options = ["--data-dir", str(self._folder), "--host", "127.0.0.1", "--port", str(self.port)]
        program = Path(sys.executable).with_name("milvus-lite")
        with (self._folder.parent / f"{self._folder.name}.log").open("ab") as log:
            self._process = subprocess.Popen([program, "server", *options], stdout=log, stderr=log)
        until = time.monotonic() + _PATIENCE
        while self._process.poll() is None and not self._answers():
            assert time.monotonic() < until, "milvus-lite did not start"
            time.sleep(0.05)
        return self._process.poll() is None

    def _answers(self):
        try:
            MilvusClient(self.uri, timeout=1).close()
        except MilvusException:
            return False
        return True

    def stop(self):
        """Stop it, and wait until it has ended."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextmanager
def running(folder):
    """A server until the block ends; its data stand in a folder."""
    for _ in range(_TRIES):  # between the choice of a port and the start, somebody else may take it
        double = Double(folder / "data", _free_port())
        if double.start():
            break
    else:
        raise AssertionError((folder / "data.log").read_text()[-2000:])
    try:
        yield double
    finally:
        double.stop()


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
