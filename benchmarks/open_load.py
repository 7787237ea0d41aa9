"""Send requests at a fixed rate: `python -m benchmarks.open_load URL FILE --rate 500 --seconds 5 --deadline-ms 500`.

`benchmarks.load` waits for each answer, so it asks a slow server less often. Here requests come as those of many people
do, at random moments, whatever has become of the ones before. Each goes out at its moment, over a free connection or a
new one, and its time counts from that moment until its answer is here. Prints a line of JSON: what became of the
requests, and how many processors this generator kept busy.
"""

import argparse
import asyncio
import json
from collections import Counter, defaultdict
from time import perf_counter, process_time
from urllib.parse import urlsplit

import numpy as np
import orjson
import uvloop

from benchmarks.load import requests_of

DRAIN_SECONDS = 30
LATE = 0.05
"""Seconds after its moment from which on a request counts as sent late."""
REFUSED, BROKEN = "connection refused", "connection broken"


class Connection(asyncio.Protocol):
    """Sends one request at a time. When the answer is there, it is free again, or ends."""

    def __init__(self, free, seen, again):
        self.free, self.seen, self.again = free, seen, again
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
            if self.again:
                self.free.append(self)
            else:
                self.transport.close()

    def connection_lost(self, error):
        if self.due is not None:
            self.seen[BROKEN].append((self.due, perf_counter(), b""))
        if self in self.free:
            self.free.remove(self)


async def offer(url, requests, rate, seconds, *, again=True):
    """Send requests at a rate, each over a connection that is free again, or of its own.

    Returns status -> (when due, when answered, what was answered) of each, how many there were, how many went late, and
    when it began.
    """
    loop = asyncio.get_running_loop()
    parts = urlsplit(url)
    free = []
    seen = defaultdict(list)
    pauses = np.random.default_rng(0).exponential(1 / rate, size=round(2 * rate * seconds) + 100)
    moments = np.cumsum(pauses).tolist()
    count = 0
    late = 0

    async def connect(request, due):
        try:
            _, made = await loop.create_connection(lambda: Connection(free, seen, again), parts.hostname, parts.port)
        except OSError:
            seen[REFUSED].append((due, perf_counter(), b""))
        else:
            made.send(request, due)

    opening = set()
    start = perf_counter()
    while (now := perf_counter() - start) < seconds:
        while moments[count] < min(now, seconds):
            due = start + moments[count]
            request = requests[count % len(requests)]
            late += perf_counter() - due > LATE
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


def summary(seen, count, seconds, deadline, start):
    """Return what became of the requests, of which those answered within the deadline are in time."""
    taken = {outcome: np.array([end - due for due, end, _ in each]) for outcome, each in seen.items()}
    answered = taken.pop("200", np.zeros(0))
    in_time = [end - start for due, end, _ in seen.get("200", ()) if end - due <= deadline]
    # the time at the beginning in which the queue fills is left out, and that in which it empties
    within = [moment for moment in in_time if seconds / 4 < moment <= seconds]
    codes = Counter()
    for outcome in taken:
        for _, _, body in seen[outcome]:
            codes[f"{outcome} {orjson.loads(body).get('code', '')}".strip() if body else outcome] += 1
    return {
        "offered": count,
        "answered": len(answered),
        "in_time": len(in_time),
        "other": dict(codes),
        "lost": count - len(answered) - sum(map(len, taken.values())),
        "goodput": len(within) / (0.75 * seconds),
        "p50_ms": quantile(answered, 50),
        "p99_ms": quantile(answered, 99),
        "refused_p99_ms": quantile(np.concatenate([*taken.values(), np.zeros(0)]), 99),
    }


def quantile(taken, percent):
    """Return a quantile of some seconds, in milliseconds; None of none."""
    return 1e3 * float(np.percentile(taken, percent)) if len(taken) else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("file", help="what benchmarks.load takes")
    parser.add_argument("--rate", type=float, required=True, help="requests a second")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--deadline-ms", type=float, default=500)
    parser.add_argument("--fresh", action="store_true", help="a new connection for each request")
    options = parser.parse_args()
    requests = requests_of(options.url, options.file, binary=True)
    seen, count, late, start = uvloop.run(
        offer(options.url, requests, options.rate, options.seconds, again=not options.fresh)
    )
    found = summary(seen, count, options.seconds, options.deadline_ms / 1e3, start)
    print(json.dumps({**found, "late": late, "processors": process_time() / options.seconds}))


if __name__ == "__main__":
    main()
