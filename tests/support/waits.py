"""How long a server keeps others waiting while something is done to it.

Run as a script, so that what the test itself does is not measured: asks for /livez until its input ends, then prints
the longest wait in seconds.
"""

import http.client
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

import httpx


@dataclass
class Probe:
    """`longest` is the longest wait in seconds, known when the block has ended."""

    longest: float | None = None


@contextmanager
def probed(url):
    found = Probe()
    process = subprocess.Popen(
        [sys.executable, __file__, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "begun\n"
        yield found
    finally:
        told, _ = process.communicate()
    found.longest = float(told)


def main(url):
    url = httpx.URL(url)
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    connection = http.client.HTTPConnection(url.host, url.port, timeout=60)
    longest = 0.0
    connection.connect()
    print("begun", flush=True)
    while True:
        asked = perf_counter()
        connection.request("GET", "/livez")
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b'{"status":"ok"}')
        longest = max(longest, perf_counter() - asked)
        if ended.wait(0.002):
            break
    print(longest)


if __name__ == "__main__":
    main(sys.argv[1])
