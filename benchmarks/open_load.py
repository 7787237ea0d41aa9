"""Send requests at a fixed rate: `python -m benchmarks.open_load URL QUERIES.npy --rate 500 --seconds 5`.

`benchmarks.load` waits for each answer, so it asks a slow server less often. Here each request goes out at its time,
over a free connection or a new one, and its latency counts from that time. Prints a line of JSON: how often each
status came, its latencies in milliseconds, and how many processors this generator kept busy.
"""

import argparse
import asyncio
import json
from collections import defaultdict
from time import perf_counter, process_time
from urllib.parse import urlsplit

import numpy as np
import uvloop

from benchmarks.load import BINARY, request_of

MOST_CONNECTIONS = 10_000
DRAIN_SECONDS = 30


class Connection(asyncio.Protocol):
    """Sends one request at a time. It is free again when the answer is there."""

    def __init__(self, free, seen):
        self.free, self.seen = free, seen
        self.received = b""
        self.due = None

    def connection_made(self, transport):
        self.transport = transport

    def send(self, request, due):
        self.due = due
        self.transport.write(request)

    def data_received(self, data):
        self.received += data
        head, end, body = self.received.partition(b"\r\n\r\n")
        if end and len(body) >= int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]):
            self.seen[head[9:12].decode()].append((self.due, perf_counter(), body))
            self.due, self.received = None, b""
            self.free.append(self)

    def connection_lost(self, error):
        if self.due is not None:
            self.seen["broken"].append((self.due, perf_counter(), b""))
        if self in self.free:
            self.free.remove(self)


async def offer(url, requests, rate, seconds):
    """Send requests at a rate.

    Returns status -> (when due, when answered, what was answered) of each, how many there were, and how many went late.
    """
    loop = asyncio.get_running_loop()
    parts = urlsplit(url)
    free = []
    seen = defaultdict(list)
    count = 0
    late = 0

    async def connect(request, due):
        try:
            _, made = await loop.create_connection(lambda: Connection(free, seen), parts.hostname, parts.port)
        except OSError:
            seen["refused"].append((due, perf_counter(), b""))
        else:
            made.send(request, due)

    opening = set()
    start = perf_counter()
    while (now := perf_counter() - start) < seconds:
        while count < now * rate:
            due = start + count / rate
            request = requests[count % len(requests)]
            late += perf_counter() - due > 0.1
            count += 1
            if free:
                free.pop().send(request, due)
            else:
                task = loop.create_task(connect(request, due))
                opening.add(task)
                task.add_done_callback(opening.discard)
        await asyncio.sleep(0.001)
    end = perf_counter() + DRAIN_SECONDS
    while sum(map(len, seen.values())) < count and perf_counter() < end:
        await asyncio.sleep(0.01)
    return seen, count, late, start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("queries")
    parser.add_argument("--rate", type=float, required=True, help="requests a second")
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    requests = [request_of(options.url, row.astype("<f4").tobytes(), BINARY) for row in np.load(options.queries)]
    seen, count, late, start = uvloop.run(offer(options.url, requests, options.rate, options.seconds))
    statuses = {}
    for status, times in seen.items():
        taken = np.array([answered - due for due, answered, _ in times]) * 1e3
        quantiles = {f"p{q}_ms": float(np.percentile(taken, q)) for q in (50, 99)}
        statuses[status] = {"answers": len(times), **quantiles}
    good = [answered - start for _, answered, _ in seen.get("200", [])]
    # the time at the beginning in which the queue fills is left out, and that in which it empties
    within = [moment for moment in good if options.seconds / 4 < moment <= options.seconds]
    found = {
        "processors": process_time() / options.seconds,
        "offered": count,
        "late": late,
        "lost": count - sum(entry["answers"] for entry in statuses.values()),
        "goodput": len(within) / (0.75 * options.seconds),
        "statuses": statuses,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
