"""The quick way of single queries: past the layers of ASGI and its messages, which cost as much as a small search."""

import asyncio
from typing import cast

from fastapi import FastAPI, Response
from starlette.types import Receive, Scope, Send

from hubless_service.access.authentication import KeyCheck
from hubless_service.http.problems import respond
from hubless_service.http.trace import EXCHANGE, SCOPE_KEY
from hubless_service.observing.middleware import CLIENT_CLOSED, Observer
from hubless_service.routes.route import Call
from hubless_service.routes.searches import ROUTE

_BEFORE, _AFTER = ROUTE.path.split("{collection}")


class QuickQueries:
    """Calls what the layers call, in their order: trace, key, route; and the connection sends the answer in one write.

    It takes queries that come over our own server, but for those of pages of other origins if some are allowed.
    """

    def __init__(self, app: FastAPI, observer: Observer, check_key: KeyCheck | None, *, origins: bool) -> None:
        self._app = app
        self._observer = observer
        self._check_key = check_key
        self._origins = origins

    def takes(self, scope: Scope) -> bool:
        """Return True if a request is for this way."""
        if EXCHANGE not in scope or scope["method"] != "POST":
            return False
        path: str = scope["path"]
        if not (path.startswith(_BEFORE) and path.endswith(_AFTER)) or "/" in path[len(_BEFORE) : -len(_AFTER)]:
            return False
        return not (self._origins and any(name == b"origin" for name, _ in scope["headers"]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one query, whatever happens."""
        exchange, path = scope[EXCHANGE], scope["path"]
        trace = self._observer.begin(scope)
        scope[SCOPE_KEY], scope["app"], scope["route"] = trace, self._app, ROUTE
        scope["path_params"] = {"collection": path[len(_BEFORE) : -len(_AFTER)]}
        status = CLIENT_CLOSED
        try:
            response: Response | None
            if self._check_key and (problem := self._check_key(scope)):
                response = respond(problem, trace)
            else:
                response = await ROUTE.respond(Call(scope, receive, send))
        except (Exception, asyncio.CancelledError) as error:
            response = self._observer.failed(error, trace)
        try:
            if response:
                status = response.status_code
                headers = [*response.raw_headers, *self._observer.stamps(path, trace)]
                await exchange.answer(status, headers, cast(bytes, response.body))
        finally:
            self._observer.end(scope, ROUTE.path_format, status, trace)
