"""The clock of the machine jumps, for the whole process and not only for Python, as when somebody sets it."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import httpx
import pytest
from support import small
from support.raw import answers, connect, read_to_end, request
from support.server_process import served

import hubless

COMPILER = shutil.which("cc")
CLOCK = Path(__file__).parents[1] / "support" / "clock.c"
PRELOADED = """
import os, sys
if "LD_PRELOAD" not in os.environ:
    os.environ |= {environment}
    os.execv(sys.executable, sys.orig_argv)
"""
DAY = 86_400
JUMPS = [0, DAY, -DAY, 40 * DAY, -400 * DAY, 3600 * DAY, -3600 * DAY, 1, -1]
KEY = "a-key-of-somebody"
QUERY = "/v1/collections/photos/query"


def jump(file, seconds):
    """Set the clock of the processes that look at this file."""
    with file.open("r+b") as opened:
        opened.write(seconds.to_bytes(8, sys.byteorder, signed=True))


@pytest.fixture
def clock(tmp_path):
    """A file for `jump`, and the environment of a process that goes by it."""
    file, library = tmp_path / "clock", tmp_path / "clock.so"
    file.write_bytes(bytes(8))
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-o", library, CLOCK, "-ldl"], check=True)
    return file, {"LD_PRELOAD": str(library), "HUBLESS_TEST_CLOCK": str(file)}


@pytest.mark.skipif(not COMPILER or sys.platform != "linux", reason="needs a C compiler, and Linux")
@pytest.mark.slow
@pytest.mark.parametrize("jumps", [24, 600])
def test_requests_deadlines_and_reloads_do_not_notice_that_the_clock_jumps(tmp_path, clock, jumps):
    catalog, keys = tmp_path / "catalog", tmp_path / "keys.json"
    file, environment = clock
    first, second = (small.build(catalog, data=data).version for data in (0, 1))
    keys.write_text(json.dumps({"keys": [{"key": KEY, "role": "admin"}]}))
    patient = {"receive_seconds": 5, "default_timeout_ms": 60_000}
    settings = {"keys_file": keys, "poll_seconds": 0.05, **patient}
    before = PRELOADED.format(environment=environment)
    ask = {"vector": small.query_bank()[0].tolist(), "limit": 3}
    ended = threading.Event()
    with served(catalog, before=before, **settings) as server:
        client = httpx.Client(base_url=server.url, headers={"X-API-Key": KEY}, timeout=60)

        def ask_until_ended():
            seen = []
            with httpx.Client(base_url=server.url, headers={"X-API-Key": KEY}, timeout=60) as own:
                while not ended.is_set():
                    seen.append(own.post(QUERY, json=ask).status_code)
            return seen

        with ThreadPoolExecutor(3) as pool:
            asking = [pool.submit(ask_until_ended) for _ in range(3)]
            for number, (by, version) in enumerate(
                zip(itertools.islice(itertools.cycle(JUMPS), jumps), itertools.cycle([first, second]), strict=False)
            ):
                jump(file, by)
                if number % 8 == 0:
                    hubless.Catalog(catalog).rollback("photos", version)
                    while client.get("/v1/collections/photos").json()["version"] != version:
                        sleep(0.01)
                assert client.get("/readyz").status_code == 200
                assert client.get("/metrics").status_code == 200
                ended.wait(0.02)
            with connect(server.url) as slow:  # its time is over after five seconds, whatever the clock says
                headers = (f"X-API-Key: {KEY}", "Content-Type: application/json", "Content-Length: 9")
                slow.sendall(request("POST", QUERY, *headers))
                jump(file, -20 * DAY)
                assert [answer.status for answer in answers(read_to_end(slow))] == [408]
            keys.write_text(json.dumps({"keys": [{"key": KEY, "role": "admin"}, {"key": KEY + "-2", "role": "read"}]}))
            while client.get("/v1/collections", headers={"X-API-Key": KEY + "-2"}).status_code != 200:
                sleep(0.01)
            ended.set()
            statuses = [status for future in asking for status in future.result()]
        assert set(statuses) == {200}
        client.close()
        os.kill(server.pid, signal.SIGTERM)
        assert server.process.wait(60) == 0
    assert not [line for line in server.log if "Traceback" in line or " ERROR " in line]
    dates = {line.split()[0] for line in server.log if line[:2] in ("19", "20", "21")}
    assert len(dates) > 2  # that the server did see the clock jump
