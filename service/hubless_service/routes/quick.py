"""Queries by the shortest way: past the router, which costs a query a tenth of its time."""

from starlette.types import ASGIApp, Receive, Scope, Send

from hubless.errors import HublessError
from hubless_service.http.problems import HttpProblem, on_problem
from hubless_service.routes.route import Call, DirectRoute

_BEFORE, _AFTER = "/v1/collections/", "/query"
_SLASHES = 4


class QuickQueries:
    """Answers queries by their route, and leaves all other requests to the app."""

    def __init__(self, app: ASGIApp, route: DirectRoute) -> None:
        self.app = app
        self.route = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if not _is_query(scope):
            await self.app(scope, receive, send)
            return
        scope["route"] = self.route
        scope["path_params"] = {"collection": scope["path"][len(_BEFORE) : -len(_AFTER)]}
        call = Call(scope, receive, send)
        try:
            response = await self.route.respond(call)
        except (HttpProblem, HublessError) as error:
            response = await on_problem(call, error)
        await response(scope, receive, send)


def _is_query(scope: Scope) -> bool:
    if scope["type"] != "http" or scope["method"] != "POST":
        return False
    path: str = scope["path"]
    named = len(path) > len(_BEFORE) + len(_AFTER) and path.count("/") == _SLASHES
    return named and path.startswith(_BEFORE) and path.endswith(_AFTER)
