"""Where the time of a query goes: `python -m benchmarks.http_layers [--catalog DIR]`.

One request of JSON with 512 numbers is handed to the server's protocol without a socket, and answered by more and more
of the service: each line has all lines above it. 1,000 targets, flat, ten hits, one connection. Times are processor
time of the event loop, the fifth percentile of many turns, in which all lines take part.
"""

import argparse
import asyncio
import os
import tempfile
from pathlib import Path
from time import thread_time

import numpy as np
import uvloop
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from benchmarks import harness, wrk
from benchmarks.empty_service import bare, fastapi
from benchmarks.http_goals import BANK, DIM, QUERIES, build
from benchmarks.http_service import PACKAGES, PATH
from hubless_service.app import create_app
from hubless_service.http.bodies import parse
from hubless_service.http.edge.protocol import protocol_of
from hubless_service.http.queries import query_of_json
from hubless_service.http.values import Subject
from hubless_service.observing.observer import server_timing
from hubless_service.processes.sharing import share_python
from hubless_service.routes.at_once import FOUND, QueriesAtOnce
from hubless_service.routes.searches import PATH as QUERY
from hubless_service.settings import Settings

TARGETS = 1000
TURNS, REQUESTS = 150, 16


class Wire:
    """A transport that sends nothing."""

    def get_extra_info(self, name, default=None):
        return ("127.0.0.1", 1234) if name in ("peername", "sockname") else default

    def get_write_buffer_size(self):
        return 0

    def is_closing(self):
        return False

    def write(self, data):
        """Forget it."""

    close = abort = pause_reading = resume_reading = lambda self: None


class UpTo(QueriesAtOnce):
    """Does what an answer to a query needs, up to a step, and answers an empty object."""

    def __init__(self, whole, last):
        vars(self).update(vars(whole))
        self.last = last

    def __call__(self, cycle):
        """As `QueriesAtOnce`."""
        trace = self.observer.begin(cycle.scope["headers"], cycle.arrived)
        if self.last != "observing":
            self._reader(cycle.scope, cycle)
            collection = self._collection(cycle.scope)
        if self.last == "json":
            parse(bytes(cycle.body))
        if self.last in ("vector", "library"):
            wanted = query_of_json(bytes(cycle.body), Subject(collection, self._settings))
            if self.last == "library":
                collection.query(wanted.asked, prepared=True)
        cycle.answer(200, FOUND % (2, trace.request_id.encode(), server_timing(trace)), b"{}")
        self.observer.end(cycle.scope, QUERY, 200, trace)
        return True


def connection(app, protocol):
    """A connection to an app."""
    config = Config(
        app, loop="uvloop", http=protocol, log_config=None, access_log=False, server_header=False, ws="none"
    )
    config.load()
    made = protocol(config=config, server_state=ServerState(), app_state={}, _loop=asyncio.get_running_loop())
    made.connection_made(Wire())
    return made


async def ask(made, requests):
    for request in requests:
        made.data_received(request)
        while made.cycle is None or not made.cycle.response_complete:
            await asyncio.sleep(0)


async def measure(catalog, name):
    """Microseconds of each line."""
    settings = Settings(catalog=catalog, log_level="warning")
    share_python()
    app = create_app(settings)
    bodies = wrk.json_bodies(harness.low_rank(QUERIES, DIM, 2, harness.LEAN))
    head = f"POST {PATH.format(name)} HTTP/1.1\r\nHost: x\r\nContent-Type: {wrk.JSON}\r\nContent-Length: "
    requests = [f"{head}{len(body)}\r\n\r\n".encode() + body for body in bodies]
    ours = protocol_of(settings)
    async with app.router.lifespan_context(app):
        while app.state.hubless.engine.shelf.loading:
            await asyncio.sleep(0.05)
        lines = {
            "bare uvicorn": connection(bare, HttpToolsProtocol),
            "empty route of FastAPI": connection(fastapi(), HttpToolsProtocol),
            "bare application, on our protocol": connection(bare, ours),
        }
        service, whole = connection(app, ours), app.at_once
        steps = {
            "our protocol, id, log, metrics, Server-Timing": UpTo(whole, "observing"),
            "+ finding the collection": UpTo(whole, "collection"),
            "+ JSON": UpTo(whole, "json"),
            "+ checking the vector": UpTo(whole, "vector"),
            "+ the library's search": UpTo(whole, "library"),
            "+ queue, batch, live hubness, hits: everything": whole,
            "everything, by a task": None,
        }
        lines |= dict.fromkeys(steps, service)
        times = {name: [] for name in lines}
        for turn in range(TURNS):
            for name, made in lines.items():
                chosen = [requests[(turn * REQUESTS + i) % len(requests)] for i in range(REQUESTS)]
                service._at_once = steps.get(name)
                before = thread_time()
                await ask(made, chosen)
                times[name].append(1e6 * (thread_time() - before) / REQUESTS)
    return {name: float(np.percentile(taken, 5)) for name, taken in times.items()}


def tables(result):
    found = result["microseconds"]
    lines = [["layer", "µs", "more than the line above"]]
    before = None
    for name, taken in found.items():
        more = f"{taken - before:.0f}" if before is not None and name.startswith("+") else ""
        lines.append([name, f"{taken:.0f}", more])
        before = taken
    return [lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catalog", type=Path, help="where the collection is, or is to be built")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        catalog = options.catalog or Path(temporary) / "catalog"
        found = uvloop.run(measure(*build(catalog, "flat", TARGETS)))
        harness.write("http_layers", {"bank": BANK, "microseconds": found}, None, PACKAGES, tables)
        os._exit(0)  # the engine's threads were started once and serve several apps


if __name__ == "__main__":
    main()
