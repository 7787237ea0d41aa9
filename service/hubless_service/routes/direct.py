"""A route without FastAPI's work on each request: it calls the endpoint with the request and the path's parameters."""

from collections.abc import Callable
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send


class DirectRoute(APIRoute):
    """Solving dependencies costs as much as a search, and our endpoints have none.

    The endpoint's signature still documents the path's parameters, which are strings all.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        self.app = self._answer

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        response = await self.endpoint(request, **request.path_params)
        await response(scope, receive, send)
