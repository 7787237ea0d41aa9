"""Servers in quick succession, each a process of its own that ends as `hubless serve` does.

Run as a script. It imports the service once and forks for each server, as most of a start is imports. It does nothing
else, so that no thread is there when it forks.
"""

import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from support import processes


@dataclass
class Child:
    """A server that listens at `host` and `port`; `log` is the reading end of its standard error."""

    pid: int
    log: object
    host: str
    port: int
    nursery: "Nursery"

    def stop(self, sig=signal.SIGTERM):
        with suppress(ProcessLookupError):
            os.kill(self.pid, sig)

    def status(self, seconds=60):
        """The exit status, negative for a signal; None if it has not ended by then."""
        return self.nursery.ask(wait=self.pid, seconds=seconds)["status"]


class Nursery:
    """Starts servers of one catalog. Only the latest is killed when the nursery closes."""

    def __init__(self, catalog, folder):
        self._catalog = catalog
        self._fifo = folder / "log"
        os.mkfifo(self._fifo)
        # buffered as for anybody: without that, a signal in the middle of a write is no danger
        plain = {name: value for name, value in processes.environment().items() if name != "PYTHONUNBUFFERED"}
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={name: value for name, value in plain.items() if not name.startswith("HUBLESS_")},
        )

    def ask(self, **request):
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    @contextmanager
    def server(self, before="", **settings):
        """A server that has just said that it listens; `before` is Python that the process runs first."""
        given = {f"HUBLESS_{name.upper()}": str(value) for name, value in settings.items()}
        environment = {"HUBLESS_WORKERS": "1"} | given
        pid = self.ask(catalog=str(self._catalog), log=str(self._fifo), environment=environment, before=before)["pid"]
        with self._fifo.open() as log:
            try:
                for line in log:
                    if address := re.search(r"listening on http://([\d.]+):(\d+),", line):
                        break
                else:
                    raise AssertionError("the server did not start")
                yield Child(pid, log, address[1], int(address[2]), self)
            finally:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                self.ask(wait=pid, seconds=60)

    def close(self):
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


@contextmanager
def drained(log):
    """Read a log in a thread until its end; yields the list of lines, which grows."""
    lines = []
    thread = threading.Thread(target=lines.extend, args=[log])
    thread.start()
    try:
        yield lines
    finally:
        thread.join()


def fork(catalog, log, environment, before):
    if pid := os.fork():
        return pid
    os.dup2(os.open(log, os.O_WRONLY), 2)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.environ.update(environment)
    exec(before, {})  # noqa: S102
    serve(catalog=Path(catalog), host=None, port=0, workers=None)
    sys.exit()


def main():
    ended = {}
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            answer = {"status": reap(request["wait"], request["seconds"], ended)}
        else:
            answer = {"pid": fork(**request)}
        print(json.dumps(answer), flush=True)


def reap(pid, seconds, ended):
    for _ in range(int(100 * seconds)):
        if pid not in ended:
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                ended[pid] = os.waitstatus_to_exitcode(status)
        if pid in ended:
            return ended[pid]
        select.select([], [], [], 0.01)
    return None


if __name__ == "__main__":
    import faiss  # noqa: F401
    import uvloop  # noqa: F401

    from hubless_service import app  # noqa: F401
    from hubless_service.command import serve

    main()
