"""`hubless serve` in a process of its own, to be killed, signalled and looked at from outside."""

import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep

import httpx
from support.serving import wait_until_ready

from hubless_service.settings import Settings

START = "import typer; from hubless_service.command import serve; typer.run(serve)"


@dataclass
class Served:
    """A running server: `log` grows while it writes."""

    process: subprocess.Popen
    url: str
    log: list = field(default_factory=list)

    @property
    def pid(self):
        return self.process.pid

    def workers(self):
        """The worker processes of a supervisor; its resource tracker has a command line of its own."""
        found = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [int(pid) for pid in found if b"spawn_main" in command_line(pid)]

    def wait_until_all_have_loaded(self, collection, workers):
        """Each says it in its log; until it has, it takes no request."""
        while sum(f'collection "{collection}" is ready' in line for line in self.log) < workers:
            sleep(0.01)

    def metrics(self):
        page = httpx.get(f"{self.url}/metrics", timeout=60).text
        pairs = [line.rpartition(" ") for line in page.splitlines() if line[0] != "#"]
        return {series: float(value) for series, _, value in pairs}


@contextmanager
def served(catalog, *options, ready=True, **more):
    """Serve a catalog as `launched` does, and read its log. Wait until all is loaded, unless `ready` is False."""
    with launched(catalog, *options, **more) as server:
        # or the pipe would be full; at its end the workers have ended too, which hold it as well
        reading = threading.Thread(target=server.log.extend, args=[server.process.stderr])
        reading.start()
        try:
            if ready:
                wait_until_ready(server.url)
            yield server
        finally:
            server.process.kill()
            reading.join()


@contextmanager
def launched(catalog, *options, before="", **settings):
    """A server that has just said that it listens. At the end it is killed, with its workers, unless it has ended.

    `before` is Python that the process runs first. Settings may be limits that no setting changes, too, in a server of
    one process.
    """
    constants = {name: settings.pop(name) for name in list(settings) if name not in Settings.model_fields}
    if constants:
        set_all = "; ".join(f"Settings.{name} = {value!r}" for name, value in constants.items())
        before += f"\nfrom hubless_service.settings import Settings; {set_all}"
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("HUBLESS_") and name != "PYTHONUNBUFFERED"
    }
    process = subprocess.Popen(
        [sys.executable, "-c", before + "\n" + START, "--catalog", str(catalog), "--port", "0", *map(str, options)],
        stderr=subprocess.PIPE,
        text=True,
        env=ours
        | {"HUBLESS_WORKERS": "1"}
        | {f"HUBLESS_{name.upper()}": str(value) for name, value in settings.items()},
    )
    log = []
    try:
        for line in process.stderr:
            log.append(line)
            if address := re.search(r"listening on (http://\S+),", line):
                break
        else:
            raise AssertionError("the server did not start:\n" + "".join(log))
        yield Served(process, address[1], log)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def command_line(pid):
    """What a process was started with; nothing once it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def resources(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return {
        "memory": 1024 * int(re.search(r"VmRSS:\s+(\d+)", status)[1]),
        "threads": int(re.search(r"Threads:\s+(\d+)", status)[1]),
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),  # noqa: PTH208
    }
