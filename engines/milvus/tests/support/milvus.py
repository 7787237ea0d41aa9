"""Milvus over the network: the server of milvus-lite, which answers as a cluster does as far as tests ask."""

import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

from pymilvus import MilvusClient
from pymilvus.exceptions import MilvusException
from support.processes import free_port, guarded

STANDALONE = Path(__file__).parents[4] / ".venv-milvus" / "bin" / "milvus-server"
"""A real server, of PyPI's `milvus`."""
_PATIENCE = 300
_TRIES = 5
_RARE_PINGS = {"grpc.keepalive_time_ms": 300_000}
"""The server has gRPC's usual limits: while it is slow, it takes pymilvus' pings for an attack."""


def _connect(uri, timeout):
    return MilvusClient(uri, timeout=timeout, dedicated=True, grpc_options=_RARE_PINGS)


class Double:
    """A running server, on the loopback."""

    def __init__(self, folder, port):
        self.port = port
        self.uri = f"http://127.0.0.1:{port}"
        self._folder = folder
        self._process = None

    @cached_property
    def client(self):
        return _connect(self.uri, _PATIENCE)

    def start(self):
        """Start it, with what it held when it was stopped. False if another program has taken the port."""
        with (self._folder.parent / f"{self._folder.name}.log").open("ab") as log:
            self._process = guarded(self._command(), stdout=log, stderr=log)
        until = time.monotonic() + _PATIENCE
        while self._process.poll() is None and not self._answers():
            assert time.monotonic() < until, "milvus-lite did not start"
            time.sleep(0.05)
        return self._process.poll() is None

    def _command(self):
        # --host: it listens to all networks unless told
        options = ["--data-dir", str(self._folder), "--host", "127.0.0.1", "--port", str(self.port)]
        return [Path(sys.executable).with_name("milvus-lite"), "server", *options]

    def _answers(self):
        try:
            _connect(self.uri, 1).close()
        except MilvusException:
            return False
        return True

    def stop(self):
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._process.stdin.close()
            self._process.wait()


class Standalone(Double):
    """A real Milvus of one process, with its own etcd and files."""

    def _command(self):
        return [STANDALONE, "--data", str(self._folder), "--proxy-port", str(self.port)]


@contextmanager
def running(folder, kind=Double):
    for _ in range(_TRIES):  # between the choice of a port and the start, somebody else may take it
        double = kind(folder / "data", free_port())
        if double.start():
            break
    else:
        raise AssertionError((folder / "data.log").read_text()[-2000:])
    try:
        yield double
    finally:
        double.stop()


class Proxy:
    """A way to a server that can be closed, or led nowhere."""

    def __init__(self, port):
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.uri = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._flowing = threading.Event()
        self._open = True
        self._ends = set()
        self.restore()
        threading.Thread(target=self._accept, daemon=True).start()

    def stall(self):
        """Pass nothing on, in either direction."""
        self._flowing.clear()

    def cut(self):
        """Break all connections, and those that come."""
        self._open = False
        for end in list(self._ends):
            _reset(end)
        self._ends.clear()
        self._flowing.set()

    def restore(self):
        """Pass everything on again."""
        self._open = True
        self._flowing.set()

    def close(self):
        self.cut()
        # closing it does not wake a thread that accepts
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self._port))
            except OSError:
                _reset(near)
                continue
            self._ends |= {near, far}
            if not self._open:
                _reset(near)
                _reset(far)
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=[source, target], daemon=True).start()

    def _pump(self, source, target):
        try:
            while data := source.recv(65536):
                self._flowing.wait()
                target.sendall(data)
        except OSError:
            pass
        _reset(source)
        _reset(target)


def _reset(end):
    with suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextmanager
def proxied(port):
    proxy = Proxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
