"""The outermost middleware: an id, Server-Timing, a log line and metrics, and an answer even if all else fails."""

import asyncio
import logging
import re
from collections.abc import Iterable
from random import getrandbits
from time import perf_counter
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hubless_service.access.authentication import CONSOLE, DOCS
from hubless_service.http.problems import RETRY_AFTER, HttpProblem, internal_error, respond
from hubless_service.http.trace import EXCHANGE, REFUSAL, SCOPE_KEY, Trace
from hubless_service.observing.metrics import Metrics

if TYPE_CHECKING:
    from hubless_service.observing.tracing import Tracing

log = logging.getLogger("hubless.requests")

_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)
"""An answer is not a page: a browser runs nothing in it, loads nothing for it, and does not keep it."""
# pages say themselves what they load, and may be kept
_PAGE_HEADERS = _HEADERS[:3]
_PAGES = (DOCS, CONSOLE)
_CLIENT_CLOSED = 499
"""nginx' number for a client that hung up; appears in log and metrics only."""
# bounded and printable: it is echoed in a header and written to logs
_REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,128}")


class ObserveRequests:
    """Pure ASGI, as `BaseHTTPMiddleware` costs more than a search."""

    def __init__(self, app: ASGIApp, metrics: Metrics, tracing: "Tracing | None" = None) -> None:
        self.app = app
        self.metrics = metrics
        self.tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever happens below."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        method: str = scope["method"]
        trace = Trace(_request_id(scope["headers"]), scope.get(EXCHANGE), intervals=self.tracing is not None)
        # the server leaves out the body of an answer to HEAD, so below this HEAD is GET
        inner = {**scope, SCOPE_KEY: trace, "method": "GET" if method == "HEAD" else method}
        status = 0

        async def send_stamped(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", ()),
                    *(_PAGE_HEADERS if scope["path"].startswith(_PAGES) else _HEADERS),
                    (b"x-request-id", trace.request_id.encode()),
                    (b"server-timing", _server_timing(trace)),
                ]
            await send(message)

        try:
            if REFUSAL in scope:
                await respond(scope[REFUSAL], trace)(inner, receive, send_stamped)
            else:
                await self.app(inner, receive, send_stamped)
        except ClientDisconnect:
            status = _CLIENT_CLOSED
        except asyncio.CancelledError:  # the server stops, and has waited for this request as long as it may
            if not status:
                stopped = HttpProblem(
                    "not_ready", "The server has stopped before it could answer.", headers=RETRY_AFTER
                )
                await respond(stopped, trace)(inner, receive, send_stamped)
        except Exception:
            log.exception("request %s failed", trace.request_id)
            if status:
                raise  # half an answer is sent: only a broken connection says that it is not whole
            await respond(internal_error(), trace)(inner, receive, send_stamped)
        finally:
            self.end(scope, getattr(inner.get("route"), "path_format", "other"), status, trace)

    def end(self, scope: Scope, route: str, status: int, trace: Trace) -> None:
        """Count and log a request that has been answered."""
        method: str = scope["method"]
        seconds = perf_counter() - trace.started
        self.metrics.observe(route, method, status, seconds, trace)
        if self.tracing:
            self.tracing.export(scope["headers"], method, route, status, trace)
        if not log.isEnabledFor(logging.INFO):
            return
        fields = {
            "method": method,
            # without the query string, which may hold anything
            "path": scope["raw_path"].decode("ascii", "backslashreplace"),
            "route": route,
            "status": status,
            "ms": round(1e3 * seconds, 3),
            "request_id": trace.request_id,
            "code": trace.code,
            # a copy, as a search that is too late still adds to them
            "stages": {stage: round(1e3 * taken, 3) for stage, taken in list(trace.seconds.items())},
        }
        code = f" code={trace.code}" if trace.code else ""
        text = f"{method} {fields['path']} {status} {1e3 * seconds:.1f}ms id={trace.request_id}{code}"
        log.info("%s", text, extra={"fields": fields})


def _server_timing(trace: Trace) -> bytes:
    """Return the value of Server-Timing: the milliseconds of each stage, and of all until now."""
    # a copy, as a search that is too late still adds to them
    stages = [*trace.seconds.items(), ("total", perf_counter() - trace.started)]
    return ", ".join([f"{name};dur={1e3 * seconds:.3f}" for name, seconds in stages]).encode()


def _request_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    for name, value in headers:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            return str(value, "ascii")
    return f"{getrandbits(128):032x}"  # no secret; needs no system call
