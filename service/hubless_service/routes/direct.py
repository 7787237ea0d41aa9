"""A route that calls its endpoint at once, without the work that FastAPI does on each request."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from hubless.errors import CollectionNotFound
from hubless_service.access.authentication import access_of
from hubless_service.http.problems import Problem
from hubless_service.state import state_of


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

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        try:
            response = await self.endpoint(request, **request.path_params)
        except (CollectionNotFound, Problem) as error:
            # another worker may just have created it
            name = request.path_params.get("collection", "")
            absent = not isinstance(error, Problem) or error.code == "not_ready"
            if not (absent and name and access_of(request).sees(name) and await state_of(request).engine.appears(name)):
                raise
            response = await self.endpoint(request, **request.path_params)
        await response(scope, receive, send)
