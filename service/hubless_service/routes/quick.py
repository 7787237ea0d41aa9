"""The way of requests to endpoints over our own server: past the layers of ASGI, which cost as much as a search."""

import asyncio
from dataclasses import dataclass
from typing import cast

from fastapi import FastAPI, Response
from starlette.types import Receive, Scope, Send

from hubless_service.access.authentication import KeyCheck
from hubless_service.http.problems import respond
from hubless_service.http.trace import EXCHANGE, REFUSAL, SCOPE_KEY
from hubless_service.observing.middleware import CLIENT_CLOSED, Observer
from hubless_service.routes.route import Call, DirectRoute


@dataclass
class QuickWay:
    """Calls what the layers call, in their order: trace, key, route; and the connection sends the answer in one write.

    It leaves to them what comes over other servers, what has no endpoint, and requests of pages of other origins, if
    some are allowed.
    """

    _app: FastAPI
    _observer: Observer
    _check_key: KeyCheck | None
    _origins: bool

    def __post_init__(self) -> None:
        routes = [route for route in self._app.routes if isinstance(route, DirectRoute)]
        self._routes = [(route.methods or set(), route) for route in routes]

    def route_of(self, scope: Scope) -> DirectRoute | None:
        """Return the route that this way leads to, and note in the scope what the path names; None for the layers."""
        if EXCHANGE not in scope or REFUSAL in scope:
            return None
        if self._origins and any(name == b"origin" for name, _ in scope["headers"]):
            return None
        method, path = scope["method"], scope["path"]
        for methods, route in self._routes:
            if method in methods and (found := route.path_regex.match(path)):
                scope["path_params"], scope["route"], scope["app"] = found.groupdict(), route, self._app
                return route
        return None

    async def answer(self, route: DirectRoute, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever happens."""
        scope[SCOPE_KEY] = trace = self._observer.begin(scope)
        response: Response | None
        try:
            if self._check_key and (problem := self._check_key(scope)):
                response = respond(problem, trace)
            else:
                response = await route.respond(Call(scope, receive, send))
        except (Exception, asyncio.CancelledError) as error:
            response = self._observer.failed(error, trace)
        status = response.status_code if response else CLIENT_CLOSED
        self._observer.end(scope, route.path_format, status, trace)
        if response:
            headers = self._observer.stamped(scope["path"], trace, response.raw_headers)
            await scope[EXCHANGE].answer(status, headers, cast(bytes, response.body))
