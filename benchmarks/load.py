"""Load a server from its own process: `python -m benchmarks.load URL FILE --connections 8 --seconds 5`.

The file has vectors (.npy), each a query, or a list of bodies (.json). Each connection asks, waits for the answer, and
asks again. It uses raw asyncio, because an HTTP library would cost more than the service. Prints a line of JSON:
requests a second, latencies in milliseconds, and how often each status came.
"""

import argparse
import asyncio
import json
import re
from collections import Counter
from pathlib import Path
from time import perf_counter
from urllib.parse import urlsplit

import numpy as np
import orjson
import uvloop

JSON, BINARY = "application/json", "application/octet-stream"
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: (\d+)")


class Asker(asyncio.Protocol):
    """One connection. It sends the next request when the last answer is there."""

    def __init__(self, requests, start, seen):
        self.requests = requests
        self.next = start
        self.seen = seen
        self.received = b""

    def connection_made(self, transport):
        self.transport = transport
        self.ask()

    def ask(self):
        self.asked = perf_counter()
        self.transport.write(self.requests[self.next % len(self.requests)])
        self.next += 1

    def data_received(self, data):
        self.received += data
        head, end, body = self.received.partition(b"\r\n\r\n")
        if end and len(body) >= int(_LENGTH.search(head)[1]):
            self.seen.append((int(head[9:12]), perf_counter() - self.asked))
            self.received = b""
            self.ask()


def request_of(url, body, media_type):
    """Return a whole request as bytes."""
    parts = urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    head = f"POST {target} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: {media_type}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def requests_of(url, file, *, binary):
    """Return whole requests: a query by each vector of a .npy file, or the bodies that a .json file lists."""
    path = Path(file)
    if path.suffix == ".json":
        return [request_of(url, orjson.dumps(body), JSON) for body in orjson.loads(path.read_bytes())]
    if binary:
        return [request_of(url, row.astype("<f4").tobytes(), BINARY) for row in np.load(path)]
    bodies = (orjson.dumps({"vector": row}, option=orjson.OPT_SERIALIZE_NUMPY) for row in np.load(path))
    return [request_of(url, body, JSON) for body in bodies]


async def load(url, requests, connections, seconds):
    """Ask for a while, after a tenth of it to warm up.

    Returns every (status, seconds), how many of them warm up, and the time after the warm-up.
    """
    loop = asyncio.get_running_loop()
    seen = []
    parts = urlsplit(url)
    opened = []
    for number in range(connections):
        start = number * len(requests) // connections
        asker = Asker(requests, start, seen)
        opened.append(await loop.create_connection(lambda asker=asker: asker, parts.hostname, parts.port))
    await asyncio.sleep(seconds / 10)
    warm = len(seen)
    started = perf_counter()
    await asyncio.sleep(seconds)
    taken = perf_counter() - started
    for transport, _ in opened:
        transport.abort()
    return seen, warm, taken


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("file")
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--binary", action="store_true")
    options = parser.parse_args()
    requests = requests_of(options.url, options.file, binary=options.binary)
    seen, warm, taken = uvloop.run(load(options.url, requests, options.connections, options.seconds))
    counted = seen[warm:]
    good = np.array([seconds for status, seconds in counted if status == 200]) * 1e3
    print(
        json.dumps(
            {
                "answers": len(seen),
                "rate": len(good) / taken,
                "p50_ms": float(np.percentile(good, 50)) if len(good) else None,
                "p99_ms": float(np.percentile(good, 99)) if len(good) else None,
                "statuses": {str(status): count for status, count in Counter(s for s, _ in counted).items()},
            }
        )
    )


if __name__ == "__main__":
    main()
