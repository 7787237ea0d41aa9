"""The outermost layer: observes each request, and answers one to an endpoint past the other layers."""

import asyncio
from dataclasses import dataclass
from typing import cast

from fastapi import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hubless_service.access.authentication import KeyCheck
from hubless_service.http.problems import respond
from hubless_service.http.trace import EXCHANGE, REFUSAL, SCOPE_KEY, Trace
from hubless_service.observing.middleware import CLIENT_CLOSED, Observer
from hubless_service.routes.route import Call, DirectRoute


@dataclass
class Front:
    """Pure ASGI, as `BaseHTTPMiddleware` costs more than a search.

    The layers below cost as much as a small search. A request over our own server to an endpoint needs none of them,
    unless it is of a page of another origin, and some are allowed: its key is checked here, its route is called, and
    the connection sends the answer in one write.
    """

    app: ASGIApp
    observer: Observer
    check_key: KeyCheck | None
    origins: bool
    routes: list[BaseRoute]

    def __post_init__(self) -> None:
        direct = [route for route in self.routes if isinstance(route, DirectRoute)]
        self._direct = [(route.methods or set(), route) for route in direct]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever happens below."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        method: str = scope["method"]
        scope[SCOPE_KEY] = trace = self.observer.begin(scope)
        # the server leaves out the body of an answer to HEAD, so below this HEAD is GET
        inner = {**scope, "method": "GET"} if method == "HEAD" else scope
        exchange = None if method == "HEAD" else scope.get(EXCHANGE)
        response: Response | None = None
        ended = False

        def end(status: int) -> None:
            nonlocal ended
            ended = True
            self.observer.end(scope, getattr(inner.get("route"), "path_format", "other"), status, trace)

        async def send_stamped(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = self.observer.stamped(scope["path"], trace, list(message.get("headers", ())))
                end(message["status"])
            await send(message)

        try:
            response = await self._answer(scope, receive, send, trace, alone=exchange is not None)
            if response is None:
                await self.app(inner, receive, send_stamped)
        except (Exception, asyncio.CancelledError) as error:
            response = self.observer.failed(error, trace)
            if response is None:
                end(CLIENT_CLOSED)
            elif ended:
                if isinstance(error, Exception):
                    raise  # half an answer is sent: only a broken connection says that it is not whole
                return
        if response and exchange:
            end(response.status_code)
            headers = self.observer.stamped(scope["path"], trace, response.raw_headers)
            await exchange.answer(response.status_code, headers, cast(bytes, response.body))
        elif response:
            await response(inner, receive, send_stamped)

    async def _answer(
        self, scope: Scope, receive: Receive, send: Send, trace: Trace, *, alone: bool
    ) -> Response | None:
        """Return the answer to what needs no layers; None for all else, and unless this can send it `alone`."""
        if REFUSAL in scope:
            return respond(scope[REFUSAL], trace)
        if not alone or (self.origins and any(name == b"origin" for name, _ in scope["headers"])):
            return None
        method, path = scope["method"], scope["path"]
        for methods, route in self._direct:
            if method in methods and (found := route.path_regex.match(path)):
                scope["path_params"], scope["route"] = found.groupdict(), route
                if self.check_key and (problem := self.check_key(scope)):
                    return respond(problem, trace)
                return await route.respond(Call(scope, receive, send))
        return None
