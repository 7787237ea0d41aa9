"""An id, Server-Timing, a log line and metrics for each request, and an answer even if all else fails."""

import asyncio
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import getrandbits
from time import perf_counter, time
from typing import TYPE_CHECKING, Any, NamedTuple

from fastapi import Response
from starlette.requests import ClientDisconnect
from starlette.types import Scope

from hubless_service.access.authentication import CONSOLE, DOCS
from hubless_service.http.problems import HttpProblem, internal_error, respond
from hubless_service.http.trace import Headers, Trace
from hubless_service.observing.later import Later
from hubless_service.observing.metrics import Metrics

if TYPE_CHECKING:
    from hubless_service.observing.tracing import Tracing

_log = logging.getLogger("hubless.requests")

_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
]
"""An answer is not a page: a browser runs nothing in it, loads nothing for it, and does not keep it."""
_NAMES = frozenset(dict(_HEADERS))
# pages say themselves what they load, and may be kept
_NOT_OF_PAGES = (b"content-security-policy", b"cache-control")
_PAGES = (DOCS, CONSOLE)
CLIENT_CLOSED = 499
"""nginx' number for a client that hung up; appears in log and metrics only."""
# bounded and printable: it is echoed in a header and written to logs
_REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,128}")


@dataclass
class Observer:
    """Begins the trace of each request, stamps its answer, and tells of it in the end: metrics, a span, a log line.

    It tells a moment after the answer, of several requests together; the metrics' page waits for that.
    """

    metrics: Metrics
    tracing: "Tracing | None" = None

    def __post_init__(self) -> None:
        self._ended = Later(self._tell)
        self.metrics.catch_up = self._ended.now

    def begin(self, trace: Trace) -> None:
        """Note that the app answers a request now."""
        trace.late = perf_counter() - trace.started
        sent = trace.heads.get(b"x-request-id")
        if sent and _REQUEST_ID.fullmatch(sent):
            trace.request_id = str(sent, "ascii")
        else:
            trace.request_id = f"{getrandbits(128):032x}"  # no secret; needs no system call
        if self.tracing:
            trace.intervals = []

    def stamped(self, path: str, trace: Trace, given: Headers) -> Headers:
        """Return the headers of an answer, with those that each has, unless it says them itself."""
        # a copy, as a search that is too late still adds to them
        stages = [*trace.seconds.items(), ("total", perf_counter() - trace.started)]
        timing = ", ".join([f"{name};dur={1e3 * seconds:.3f}" for name, seconds in stages])  # milliseconds
        known = {name for name, _ in given}  # such as how long a picture may be kept
        if path.startswith(_PAGES):
            known.update(_NOT_OF_PAGES)
        ours = _HEADERS if known.isdisjoint(_NAMES) else [each for each in _HEADERS if each[0] not in known]
        return [*given, *ours, (b"x-request-id", trace.request_id.encode()), (b"server-timing", timing.encode())]

    def failed(self, error: BaseException, trace: Trace) -> Response | None:
        """Return the answer to what nobody foresaw; None if the client is gone."""
        if isinstance(error, ClientDisconnect):
            return None
        if isinstance(error, asyncio.CancelledError):  # the server stops, and has waited as long as it may
            return respond(HttpProblem("not_ready", "The server has stopped before it could answer."), trace)
        _log.error("request %s failed", trace.request_id, exc_info=error)
        return respond(internal_error(), trace)

    def end(self, scope: Scope, status: int, trace: Trace) -> None:
        """Have a request counted and logged whose answer is ready."""
        route: str = getattr(scope.get("route"), "path_format", "other")
        seconds = perf_counter() - trace.started
        headers = scope["headers"] if self.tracing else ()
        self._ended.add(RequestLine(scope["method"], scope["raw_path"], route, status, seconds, trace, headers, time()))

    def _tell(self, lines: Sequence["RequestLine"]) -> None:
        told = _log.isEnabledFor(logging.INFO)
        for line in lines:
            self.metrics.observe(line.route, line.method, line.status, line.seconds, line.trace)
            if self.tracing:
                self.tracing.export(line.headers, line.method, line.route, line.status, line.trace)
            if told:
                record = _log.makeRecord(_log.name, logging.INFO, "", 0, line, (), None)
                record.created, record.msecs = line.ended, line.ended % 1 * 1e3
                _log.handle(record)
        self.metrics.show_waiting()


class RequestLine(NamedTuple):
    """Says of a request what the log needs, as text or by `fields`: a formatter makes only what it writes."""

    method: str
    raw_path: bytes  # without the query string, which may hold anything
    route: str
    status: int
    seconds: float
    trace: Trace
    headers: Sequence[tuple[bytes, bytes]]  # for tracing only
    ended: float  # by the clock of the day

    @property
    def path(self) -> str:
        return self.raw_path.decode("ascii", "backslashreplace")

    @property
    def fields(self) -> dict[str, Any]:
        """Return what a line of JSON has."""
        return {
            "method": self.method,
            "path": self.path,
            "route": self.route,
            "status": self.status,
            "ms": round(1e3 * self.seconds, 3),
            "request_id": self.trace.request_id,
            "code": self.trace.code,
            # a copy, as a search that is too late still adds to them
            "stages": {stage: round(1e3 * taken, 3) for stage, taken in list(self.trace.seconds.items())},
        }

    def __str__(self) -> str:
        code = f" code={self.trace.code}" if self.trace.code else ""
        return f"{self.method} {self.path} {self.status} {1e3 * self.seconds:.1f}ms id={self.trace.request_id}{code}"
