"""The outermost layer: observes each request, and answers one to an endpoint past the other layers."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from fastapi import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hubless_service.access.authentication import KeyCheck
from hubless_service.http.exchange import Exchange
from hubless_service.http.problems import respond
from hubless_service.http.trace import SCOPE_KEY, Trace, heads_of
from hubless_service.observing.middleware import CLIENT_CLOSED, Observer
from hubless_service.routes.route import AppState, Call, DirectRoute


@dataclass
class Front:
    """Pure ASGI, as `BaseHTTPMiddleware` costs more than a search.

    The `layers` below cost as much as a small search. A request to an endpoint needs none of them, unless it is of a
    page of another origin, and some are allowed: its key is checked here, and its route is called.
    """

    layers: ASGIApp
    state: AppState
    observer: Observer
    check_key: KeyCheck | None
    cors: Callable[[ASGIApp], ASGIApp] | None
    routes: list[BaseRoute]

    def __post_init__(self) -> None:
        self._direct = [(route.methods or set(), route) for route in self.routes if isinstance(route, DirectRoute)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever happens below."""
        if scope["type"] != "http":
            await self.layers(scope, receive, send)
            return
        trace: Trace | None = scope.get(SCOPE_KEY)
        if trace is None:  # of another server
            scope[SCOPE_KEY] = trace = Trace("", scope, heads_of(scope["headers"]), receive)
        self.observer.begin(trace)
        try:
            answer = await self._answer(scope, receive, trace)
        except (Exception, asyncio.CancelledError) as error:
            failure = self.observer.failed(error, trace)
            if failure is None:
                self.observer.end(scope, CLIENT_CLOSED, trace)
                return
            answer = failure
        status = answer.status_code
        self.observer.end(scope, status, trace)
        headers = self.observer.stamped(scope["path"], trace, answer.raw_headers)
        del scope[SCOPE_KEY]
        body = b"" if scope["method"] == "HEAD" else bytes(answer.body)
        if isinstance(trace, Exchange):
            await trace.answer(status, headers, body)
        else:
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})

    async def _answer(self, scope: Scope, receive: Receive, trace: Trace) -> Response:
        """Return the answer of what is asked, whole."""
        if isinstance(trace, Exchange) and trace.refusal:
            return respond(trace.refusal, trace)
        method = scope["method"]
        cors = self.cors if b"origin" in trace.heads else None
        found = None if cors else self._find(method, scope["path"])
        if found:
            scope["route"], scope["path_params"] = found
        asks_first = cors and method == "OPTIONS" and b"access-control-request-method" in trace.heads  # without a key
        problem = self.check_key(scope) if self.check_key and not asks_first else None
        if cors:
            return await self._through(cors(respond(problem, trace) if problem else self.layers), scope, receive)
        if problem:
            return respond(problem, trace)
        if found:
            return await found[0].respond(Call(scope, self.state))
        return await self._through(self.layers, scope, receive)

    def _find(self, method: str, path: str) -> tuple[DirectRoute, dict[str, str]] | None:
        """Return the endpoint of a path, and the parts of the path. HEAD is GET, and its answer has no body."""
        for methods, route in self._direct:
            if ("GET" if method == "HEAD" else method) in methods and (found := route.path_regex.match(path)):
                return route, found.groupdict()
        return None

    async def _through(self, app: ASGIApp, scope: Scope, receive: Receive) -> Response:
        """Return the answer of layers below, once it is whole: pages are small."""
        answer = Response()

        async def collect(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer.status_code, answer.raw_headers = message["status"], list(message.get("headers", ()))
            else:
                answer.body = bytes(answer.body) + message.get("body", b"")

        inner = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        await app(inner, receive, collect)
        if "route" in inner:
            scope["route"] = inner["route"]
        return answer
