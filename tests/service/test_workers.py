"""Several processes serve one port: counted together, replaced when killed, ended together."""

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from support.serving import wait_until_ready

SERVE = [sys.executable, "-c", "import typer; from hubless_service.command import serve; typer.run(serve)"]
QUERY = "/v1/collections/words/query"
ASK = {"text": "amber"}


@contextmanager
def served(catalog, workers, *more):
    """A supervisor and its address; killed with its workers if it is still there in the end."""
    process = subprocess.Popen(
        [*SERVE, "--catalog", str(catalog), "--port", "0", "--workers", str(workers), *more],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"HUBLESS_DRAIN_SECONDS": "0.5"},
    )
    try:
        for line in process.stderr:
            if address := re.search(r"listening on (http://\S+),", line):
                break
        wait_until_ready(address[1])
        yield process, address[1]
    finally:
        process.kill()
        process.communicate()


def children(process):
    """The workers of a supervisor; its resource tracker has a command line of its own."""
    found = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(pid) for pid in found if b"spawn_main" in command_line(pid)]


def command_line(pid):
    """What a process was started with; nothing once it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def ask(base_url):
    """One query over a connection of its own; its status, or None where the worker died meanwhile."""
    try:
        return httpx.post(f"{base_url}{QUERY}", json=ASK).status_code
    except httpx.TransportError:
        return None


def counted(base_url):
    page = httpx.get(f"{base_url}/metrics").text
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in page.splitlines() if line[0] != "#"}


ANSWERED = 'hubless_requests_total{method="POST",route="/v1/collections/{collection}/query",status="200"}'


def test_metrics_count_the_requests_of_all_workers(catalog):
    with served(catalog, 2) as (process, base_url):
        assert len(children(process)) == 2
        for _ in range(20):
            while ask(base_url) != 200:
                pass  # the other worker may still be loading
        pages = [counted(base_url) for _ in range(10)]
        assert {page[ANSWERED] for page in pages} == {20}
        assert all(page["hubless_waiting_queries"] == 0 for page in pages)
        assert all(page['hubless_collections{state="ready"}'] <= 2 for page in pages)
        one = int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{children(process)[0]}/status").read_text())[1]) * 1024
        assert pages[-1]["process_resident_memory_bytes"] > 1.5 * one


def test_worker_that_is_killed_is_replaced_and_what_it_counted_stays(catalog):
    with served(catalog, 2) as (process, base_url):
        for _ in range(5):
            while ask(base_url) != 200:
                pass
        before = children(process)
        os.kill(before[0], signal.SIGKILL)
        while len(now := children(process)) < 2 or before[0] in now:
            pass
        assert before[1] in now
        while ask(base_url) != 200:
            pass
        assert counted(base_url)[ANSWERED] >= 6


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_signal_to_the_supervisor_ends_all_in_order(catalog, ending):
    with served(catalog, 2) as (process, base_url):
        workers = children(process)
        process.send_signal(ending)
        assert process.wait(30) == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{base_url}/livez")


def test_workers_end_when_their_supervisor_is_killed(catalog):
    with served(catalog, 2) as (process, _):
        workers = children(process)
        process.kill()
        process.wait()
        while any(command_line(pid) for pid in workers):
            pass
