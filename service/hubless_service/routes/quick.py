"""The quick way of single queries and of rerankings: past the layers of ASGI, which cost as much as a small search."""

import asyncio
from dataclasses import dataclass
from typing import cast

from fastapi import FastAPI, Response
from starlette.types import Receive, Scope, Send

from hubless_service.access.authentication import KeyCheck
from hubless_service.http.problems import respond
from hubless_service.http.trace import EXCHANGE, SCOPE_KEY
from hubless_service.observing.middleware import CLIENT_CLOSED, Observer
from hubless_service.routes import reranking, searches
from hubless_service.routes.route import Call, DirectRoute, route_at

_QUERY = route_at(searches.query_routes, searches.PATH)
_RERANK = route_at(reranking.rerank_routes, reranking.RERANK_PATH)
_BEFORE, _AFTER = searches.PATH.split("{collection}")


@dataclass
class QuickQueries:
    """Calls what the layers call, in their order: trace, key, route; and the connection sends the answer in one write.

    It takes what comes over our own server, but for requests of pages of other origins if some are allowed.
    """

    _app: FastAPI
    _observer: Observer
    _check_key: KeyCheck | None
    _origins: bool

    def takes(self, scope: Scope) -> bool:
        """Return True if a request is for this way."""
        if EXCHANGE not in scope or scope["method"] != "POST":
            return False
        if _way(scope["path"]) is None:
            return False
        return not (self._origins and any(name == b"origin" for name, _ in scope["headers"]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever happens."""
        exchange = scope[EXCHANGE]
        path = scope["path"]
        route, parts = cast(tuple[DirectRoute, dict[str, str]], _way(path))
        trace = self._observer.begin(scope)
        scope[SCOPE_KEY], scope["app"], scope["route"] = trace, self._app, route
        scope["path_params"] = parts
        try:
            response: Response | None
            if self._check_key and (problem := self._check_key(scope)):
                response = respond(problem, trace)
            else:
                response = await route.respond(Call(scope, receive, send))
        except (Exception, asyncio.CancelledError) as error:
            response = self._observer.failed(error, trace)
        status = response.status_code if response else CLIENT_CLOSED
        self._observer.end(scope, route.path_format, status, trace)
        if response:
            headers = [*response.raw_headers, *self._observer.stamps(path, trace)]
            await exchange.answer(status, headers, cast(bytes, response.body))


def _way(path: str) -> tuple[DirectRoute, dict[str, str]] | None:
    """Return the route of a path, and what the path names; None for any other route."""
    if path == reranking.RERANK_PATH:
        return _RERANK, {}
    if not (path.startswith(_BEFORE) and path.endswith(_AFTER)) or "/" in (name := path[len(_BEFORE) : -len(_AFTER)]):
        return None
    return _QUERY, {"collection": name}
