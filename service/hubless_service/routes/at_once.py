"""Queries that are answered without a task of asyncio: the event loop calls, and the batch of a search calls back.

A query goes the way of all requests if it has to wait for something else than its search, such as an encoder, or if it
is unusual. `QueriesAtOnce` finds that out before anything has been done for it. Both ways send the same answers.
"""

import asyncio
import logging
from collections.abc import Callable
from time import perf_counter
from typing import cast

from fastapi import Request
from starlette.types import Scope

import hubless
from hubless.errors import HublessError
from hubless_service.access.keys import Access
from hubless_service.http import heavy
from hubless_service.http.edge.cycle import Cycle
from hubless_service.http.edge.heads import FORWARDED
from hubless_service.http.hits import FoundHits, hits_of, most_weight
from hubless_service.http.problems import HttpProblem, from_library, internal_error, respond, stopped
from hubless_service.http.queries import Query, query_of_binary, query_of_json
from hubless_service.http.responses import encode
from hubless_service.http.trace import SCOPE_KEY, Trace
from hubless_service.http.values import Subject
from hubless_service.observing.observer import CLIENT_CLOSED, HEADERS, Observer, server_timing
from hubless_service.routes.searches import PATH, names_time
from hubless_service.searching.search_service import SearchService
from hubless_service.settings import Settings

log = logging.getLogger("hubless.requests")

Read = Callable[[bytes, Subject], Query]
_BEFORE, _AFTER = PATH.split("{collection}")
_SLASHES = PATH.count("/")
_READ: dict[bytes | None, Read] = {
    b"application/json": query_of_json,
    b"application/json; charset=utf-8": query_of_json,
    b"application/octet-stream": query_of_binary,
}
_UNUSUAL = frozenset({b"origin", b"content-encoding"})  # of a browser's page, of a coded body
_STAMP = b"".join([b"%b: %b\r\n" % header for header in HEADERS]) + b"x-request-id: %b\r\nserver-timing: %b\r\n"
FOUND = b"content-length: %d\r\ncontent-type: application/json\r\n" + _STAMP


class QueriesAtOnce:
    """Takes requests from connections, all in the event loop.

    Parameters
    ----------
    access : what the key of a request allows; None to have it checked on the other way
    heeds_clients : whether it matters for whom a proxy asks
    """

    def __init__(
        self,
        engine: SearchService,
        settings: Settings,
        observer: Observer,
        access: Callable[[Scope], Access | None],
        *,
        heeds_clients: bool,
    ) -> None:
        self.engine = engine
        self.observer = observer
        self.pending: set[Answering] = set()
        self._settings = settings
        self._access = access
        self._unusual = _UNUSUAL | FORWARDED if heeds_clients else _UNUSUAL
        self._most_bytes = min(heavy.LIGHT, settings.max_query_bytes, settings.max_body_bytes)

    def awaits(self, cycle: Cycle) -> bool:
        """Whether a request of which only the head has come may be one for this way."""
        if self._reader(cast(Scope, cycle.scope), cycle) is None:
            return False
        length = cycle.fields.get(b"content-length", b"")
        return length.isdigit() and int(length) <= self._most_bytes

    def __call__(self, cycle: Cycle) -> bool:
        """Answer a request that has come whole, now or when its search has ended; whether it is one for this way."""
        scope = cast(Scope, cycle.scope)
        read = self._reader(scope, cycle)
        if read is None or (collection := self._collection(scope)) is None:
            return False
        trace = self.observer.begin(scope["headers"], cycle.arrived)
        scope[SCOPE_KEY] = trace
        answering = Answering(self, cycle, trace, collection)
        try:
            wanted = self._read(read, bytes(cycle.body), collection, trace)
            if wanted is None:
                return False
            answering.ask(wanted)
        except Exception as error:
            answering.set_exception(error)
        return True

    def stop(self) -> None:
        """Answer what the search has not."""
        for answering in tuple(self.pending):
            answering.set_exception(stopped())

    def _reader(self, scope: Scope, cycle: Cycle) -> Read | None:
        """What reads the body of a usual query; None for any other request."""
        path: str = scope["path"]
        if scope["method"] != "POST" or not (path.startswith(_BEFORE) and path.endswith(_AFTER)):
            return None
        if path.count("/") != _SLASHES or scope["query_string"] or len(cycle.body) > self._most_bytes:
            return None
        fields = cycle.fields
        if len(fields) < len(scope["headers"]) or not self._unusual.isdisjoint(fields):
            return None
        return _READ.get(fields.get(b"content-type"))

    def _collection(self, scope: Scope) -> hubless.Collection | None:
        """The collection that is asked; None if it is not there, as another worker may just have created it."""
        if (access := self._access(scope)) is None:
            return None
        try:
            return self.engine.shelf.collection(scope["path"][len(_BEFORE) : -len(_AFTER)], access)
        except (HttpProblem, HublessError):
            return None

    def _read(self, read: Read, body: bytes, collection: hubless.Collection, trace: Trace) -> Query | None:
        """The query; None if to answer it takes more than a search."""
        self.engine.check_room()
        if read is query_of_binary or not names_time(body):
            self.engine.check_wait(trace)
        with trace.stage("parse"):
            wanted = read(body, Subject(collection, self._settings))
        if isinstance(wanted.asked, str) or wanted.min_seq or wanted.extras.vector:
            return None
        return None if most_weight(wanted.limit) > heavy.LIGHT else wanted


class Answering:
    """The answer to one query. A batch gives it what was found, as it gives that to a future."""

    __slots__ = ("_collection", "_cycle", "_done", "_owner", "_scope", "_trace", "_wanted")

    def __init__(self, owner: QueriesAtOnce, cycle: Cycle, trace: Trace, collection: hubless.Collection) -> None:
        self._owner = owner
        self._cycle = cycle
        self._scope = cast(Scope, cycle.scope)
        self._trace = trace
        self._collection = collection
        self._wanted: Query | None = None
        self._done = False

    def ask(self, wanted: Query) -> None:
        """Have the query searched.

        Raises
        ------
        HttpProblem
        """
        self._wanted = wanted
        self._owner.engine.submit(self._trace, self._collection, wanted, self)
        self._owner.pending.add(self)
        self._cycle.on_gone = self.cancel

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """The loop in which it is used."""
        return self._cycle.loop

    def done(self) -> bool:
        """Whether nobody waits for it."""
        return self._done

    def cancel(self) -> None:
        """Give up, as the client has hung up."""
        if not self._done:
            self._end(CLIENT_CLOSED)

    def set_result(self, found: list[FoundHits]) -> None:
        """Send the hits."""
        trace, started = self._trace, perf_counter()
        try:
            hits = hits_of(found[0])
            body = encode({**hits, "collection": self._collection.name, "version": self._collection.version})
        except Exception as error:
            self.set_exception(error)
            return
        trace.add("serialise", perf_counter() - started)
        self._cycle.answer(200, FOUND % (len(body), trace.request_id.encode(), server_timing(trace)), body)
        self._end(200)
        if (sampling := self._owner.engine.sampling) and (wanted := self._wanted):
            sampling.note(Request(self._scope), self._collection, [wanted], [wanted])

    def set_exception(self, error: Exception) -> None:
        """Send the problem."""
        trace = self._trace
        response = respond(self._problem(error), trace)
        lines = [b"%b: %b\r\n" % header for header in response.raw_headers]
        lines.append(_STAMP % (trace.request_id.encode(), server_timing(trace)))
        self._cycle.answer(response.status_code, b"".join(lines), bytes(response.body))
        self._end(response.status_code)

    def _problem(self, error: Exception) -> HttpProblem:
        try:
            if isinstance(error, HttpProblem):
                return error
            if isinstance(error, HublessError):
                return from_library(error)
            raise error
        except Exception:
            log.exception("request %s failed", self._trace.request_id)
            return internal_error()

    def _end(self, status: int) -> None:
        self._done = True
        self._cycle.on_gone = None
        self._owner.pending.discard(self)
        self._owner.observer.end(self._scope, PATH, status, self._trace)
