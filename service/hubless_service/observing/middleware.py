"""An id, Server-Timing, a log line and metrics for each request, and an answer even if all else fails."""

import asyncio
import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from random import getrandbits
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from fastapi import Response
from starlette.requests import ClientDisconnect
from starlette.types import Scope

from hubless_service.access.authentication import CONSOLE, DOCS
from hubless_service.http.cycle import Headers
from hubless_service.http.problems import HttpProblem, internal_error, respond
from hubless_service.http.trace import EXCHANGE, Trace
from hubless_service.observing.metrics import Metrics

if TYPE_CHECKING:
    from hubless_service.observing.tracing import Tracing

_log = logging.getLogger("hubless.requests")

_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"cache-control": b"no-store",
}
"""An answer is not a page: a browser runs nothing in it, loads nothing for it, and does not keep it."""
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

    It tells before the answer goes out: whoever has an answer finds it counted, even if the process is killed then.
    """

    metrics: Metrics
    tracing: "Tracing | None" = None

    def begin(self, scope: Scope) -> Trace:
        """Return the trace of a request that comes."""
        return Trace(_request_id(scope["headers"]), scope.get(EXCHANGE), intervals=self.tracing is not None)

    def stamped(self, path: str, trace: Trace, given: Headers) -> Headers:
        """Return the headers of an answer, with those that each has, unless it says them itself."""
        # a copy, as a search that is too late still adds to them
        stages = [*trace.seconds.items(), ("total", perf_counter() - trace.started)]
        timing = ", ".join([f"{name};dur={1e3 * seconds:.3f}" for name, seconds in stages])  # milliseconds
        ours = {**_HEADERS, b"x-request-id": trace.request_id.encode(), b"server-timing": timing.encode()}
        for name, _ in given:  # such as how long a picture may be kept
            ours.pop(name, None)
        for name in _NOT_OF_PAGES if path.startswith(_PAGES) else ():
            ours.pop(name, None)
        return [*given, *ours.items()]

    def failed(self, error: BaseException, trace: Trace) -> Response | None:
        """Return the answer to what nobody foresaw; None if the client is gone."""
        if isinstance(error, ClientDisconnect):
            return None
        if isinstance(error, asyncio.CancelledError):  # the server stops, and has waited as long as it may
            detail = "The server has stopped before it could answer."
            return respond(HttpProblem("not_ready", detail), trace)
        _log.error("request %s failed", trace.request_id, exc_info=error)
        return respond(internal_error(), trace)

    def end(self, scope: Scope, route: str, status: int, trace: Trace) -> None:
        """Count and log a request whose answer is ready."""
        method: str = scope["method"]
        seconds = perf_counter() - trace.started
        self.metrics.observe(route, method, status, seconds, trace)
        if self.tracing:
            self.tracing.export(scope["headers"], method, route, status, trace)
        if _log.isEnabledFor(logging.INFO):
            path = scope["raw_path"].decode("ascii", "backslashreplace")
            _log.info(RequestLine(method, path, route, status, seconds, trace))


class RequestLine(NamedTuple):
    """Says of a request what the log needs, as text or by `fields`: a formatter makes only what it writes."""

    method: str
    path: str  # without the query string, which may hold anything
    route: str
    status: int
    seconds: float
    trace: Trace

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


def _request_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    for name, value in headers:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            return str(value, "ascii")
    return f"{getrandbits(128):032x}"  # no secret; needs no system call
