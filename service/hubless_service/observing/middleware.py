"""The outermost middleware: an id, Server-Timing, a log line and metrics, and an answer even if all else fails."""

import asyncio
import logging

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hubless_service.access.authentication import CONSOLE, DOCS
from hubless_service.http.problems import internal_error, respond, stopped
from hubless_service.http.trace import EXCHANGE, REFUSAL, SCOPE_KEY
from hubless_service.observing.observer import CLIENT_CLOSED, HEADERS, Observer, server_timing

log = logging.getLogger("hubless.requests")

# pages say themselves what they load, and may be kept
_PAGE_HEADERS = HEADERS[:3]
_PAGES = (DOCS, CONSOLE)


class ObserveRequests:
    """Pure ASGI, as `BaseHTTPMiddleware` costs more than a search."""

    def __init__(self, app: ASGIApp, observer: Observer) -> None:
        self.app = app
        self.observer = observer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever happens below."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        method: str = scope["method"]
        exchange = scope.get(EXCHANGE)
        trace = self.observer.begin(scope["headers"], exchange and exchange.arrived)
        # the server leaves out the body of an answer to HEAD, so below this HEAD is GET
        inner = {**scope, SCOPE_KEY: trace, "method": "GET" if method == "HEAD" else method}
        status = 0

        async def send_stamped(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", ()),
                    *(_PAGE_HEADERS if scope["path"].startswith(_PAGES) else HEADERS),
                    (b"x-request-id", trace.request_id.encode()),
                    (b"server-timing", server_timing(trace)),
                ]
            await send(message)

        try:
            if REFUSAL in scope:
                await respond(scope[REFUSAL], trace)(inner, receive, send_stamped)
            else:
                await self.app(inner, receive, send_stamped)
        except ClientDisconnect:
            status = CLIENT_CLOSED
        except asyncio.CancelledError:  # the server stops, and has waited for this request as long as it may
            if not status:
                await respond(stopped(), trace)(inner, receive, send_stamped)
        except Exception:
            log.exception("request %s failed", trace.request_id)
            if status:
                raise  # half an answer is sent: only a broken connection says that it is not whole
            await respond(internal_error(), trace)(inner, receive, send_stamped)
        finally:
            self.observer.end(scope, getattr(inner.get("route"), "path_format", "other"), status, trace)
