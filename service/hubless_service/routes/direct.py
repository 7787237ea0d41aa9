"""A route that calls its endpoint at once, without the work that FastAPI does on each request."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from hubless.errors import CollectionNotFound, HublessError
from hubless_service.access.authentication import access_of
from hubless_service.app_state import state_of
from hubless_service.http.problems import HttpProblem, from_library, respond
from hubless_service.http.trace import BODY_READ, trace_of

_ABOUT_A_COLLECTION = "/v1/collections/{collection}/"


def match_whole_paths(routes: Iterable[BaseRoute]) -> None:
    """Let routes match paths to their last character, and parameters hold any character.

    Starlette's patterns end in `$`, which also matches before a line's end: `points/x%0A` would find `x`. And their `.`
    stands for any character but a line's end, so that an id with one inside would not be found.
    """
    for route in routes:
        if isinstance(route, Route):
            route.path_regex = re.compile(route.path_regex.pattern.removesuffix("$") + r"\Z", re.DOTALL)


class DirectRoute(APIRoute):
    """Calls the endpoint with the request and the parameters of the path, which are all strings.

    FastAPI would solve dependencies, which costs as much as a search. It still reads the signature, for the document.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        self.app = self._answer

    async def response_to(self, request: Request) -> Response:
        """What the endpoint answers."""
        try:
            response: Response = await self.endpoint(request, **request.path_params)
        except (CollectionNotFound, HttpProblem) as error:
            if BODY_READ in request.scope:  # it would not come a second time
                raise
            # another worker may just have created it
            name = request.path_params.get("collection", "")
            absent = not isinstance(error, HttpProblem) or error.code == "not_ready"
            if not (absent and name and access_of(request).sees(name) and await state_of(request).engine.appears(name)):
                raise
            response = await self.endpoint(request, **request.path_params)
        return response

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self.response_to(Request(scope, receive, send))
        await response(scope, receive, send)


class QuickRoutes:
    """Finds routes about a collection by one look into a dictionary. Starlette's router finds all others.

    The router tries one pattern after another, and wraps each request in what handles exceptions.
    """

    def __init__(self, routes: Iterable[BaseRoute], others: ASGIApp) -> None:
        """Take the routes `/v1/collections/{collection}/...` that have no other parameter.

        Parameters
        ----------
        others : answers all other requests
        """
        self._others = others
        self._routes = {
            (method, route.path.removeprefix(_ABOUT_A_COLLECTION)): route
            for route in routes
            if isinstance(route, DirectRoute) and _has_one_parameter(route)
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        found = self._find(scope) if scope["type"] == "http" else None
        if found is None:
            await self._others(scope, receive, send)
            return
        scope["route"], scope["path_params"] = found
        request = Request(scope, receive, send)
        try:
            response = await found[0].response_to(request)
        except HttpProblem as problem:
            response = respond(problem, trace_of(request))
        except HublessError as error:
            response = respond(from_library(error), trace_of(request))
        await response(scope, receive, send)

    def _find(self, scope: Scope) -> tuple[DirectRoute, dict[str, str]] | None:
        path: str = scope["path"]
        if not path.startswith("/v1/collections/"):
            return None
        _, _, _, name, *rest = path.split("/", 4)
        route = self._routes.get((scope["method"], rest[0])) if rest and name else None
        return None if route is None else (route, {"collection": name})


def _has_one_parameter(route: DirectRoute) -> bool:
    return route.path.startswith(_ABOUT_A_COLLECTION) and route.path.count("{") == 1
