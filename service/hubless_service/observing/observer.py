"""Observation of every request: its id and Server-Timing for the client, one log line, metrics, a span."""

import logging
import re
from collections.abc import Iterable
from random import getrandbits
from time import perf_counter
from typing import TYPE_CHECKING

from starlette.types import Scope

from hubless_service.http.trace import Trace
from hubless_service.observing.metrics import Metrics

if TYPE_CHECKING:
    from hubless_service.observing.tracing import Tracing

log = logging.getLogger("hubless.requests")

Headers = Iterable[tuple[bytes, bytes]]

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)
"""An answer is not a page: a browser runs nothing in it, loads nothing for it, and does not keep it."""
CLIENT_CLOSED = 499
"""nginx' number for a client that hung up; appears in log and metrics only."""
# bounded and printable: it is echoed in a header and written to logs
_REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,128}")


class Observer:
    """Begins the trace of each request, and tells of the request when it has been answered."""

    def __init__(self, metrics: Metrics, tracing: "Tracing | None") -> None:
        self._metrics = metrics
        self._tracing = tracing

    def begin(self, headers: Headers, arrived: float | None) -> Trace:
        """The trace of a request that arrived at a time of `perf_counter`, or now."""
        return Trace(_request_id(headers), arrived, intervals=self._tracing is not None)

    def end(self, scope: Scope, route: str, status: int, trace: Trace) -> None:
        """Tell of a request that has been answered.

        Parameters
        ----------
        route : its template, so that there are few of them
        """
        method: str = scope["method"]
        seconds = perf_counter() - trace.started
        self._metrics.observe(route, method, status, seconds, trace)
        if self._tracing:
            self._tracing.export(scope["headers"], method, route, status, trace)
        _log(scope, route, status, seconds, trace)


def server_timing(trace: Trace) -> bytes:
    """The value of Server-Timing: the milliseconds of each stage, and of all until now."""
    stages = [*trace.stages(), ("total", perf_counter() - trace.started)]
    return ", ".join([f"{name};dur={1e3 * seconds:.3f}" for name, seconds in stages]).encode()


def _request_id(headers: Headers) -> str:
    for name, value in headers:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            return str(value, "ascii")
    return f"{getrandbits(128):032x}"  # no secret; needs no system call


def _log(scope: Scope, route: str, status: int, seconds: float, trace: Trace) -> None:
    if not log.isEnabledFor(logging.INFO):
        return
    fields = {
        "method": scope["method"],
        "path": scope["raw_path"].decode(
            "ascii", "backslashreplace"
        ),  # without the query string, which may hold anything
        "route": route,
        "status": status,
        "ms": round(1e3 * seconds, 3),
        "request_id": trace.request_id,
        "code": trace.code,
        "stages": {stage: round(1e3 * taken, 3) for stage, taken in trace.stages()},
    }
    code = f" code={trace.code}" if trace.code else ""
    text = f"{fields['method']} {fields['path']} {status} {1e3 * seconds:.1f}ms id={trace.request_id}{code}"
    log.info("%s", text, extra={"fields": fields})
