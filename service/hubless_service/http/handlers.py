"""Turns each exception that a route raises into a problem document."""

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from hubless.errors import HublessError
from hubless_service.http.problems import HttpProblem, clip, from_library, respond
from hubless_service.http.trace import trace_of


def install(app: FastAPI) -> None:
    """Answer exceptions with problem documents. The middleware answers all that are not foreseen."""
    app.exception_handler(HttpProblem)(on_problem)
    app.exception_handler(HublessError)(on_problem)
    app.exception_handler(HTTPException)(_on_http_exception)


async def on_problem(request: Request, error: HttpProblem | HublessError) -> Response:
    """Answer an error of the service or of the library."""
    return respond(error if isinstance(error, HttpProblem) else from_library(error), trace_of(request))


async def _on_http_exception(request: Request, error: HTTPException) -> Response:
    path = clip(request.url.path)
    match error.status_code:
        case 404:
            return respond(HttpProblem("not_found", f"There is nothing at {path}."), trace_of(request))
        case 405:
            allowed = _allowed(error)
            if request.method == "OPTIONS":
                return Response(None, 204, allowed)
            detail = f"{path} takes {allowed['Allow']}, not {request.method}."
            return respond(HttpProblem("method_not_allowed", detail, headers=allowed), trace_of(request))
    raise error


def _allowed(error: HTTPException) -> dict[str, str]:
    # the routes do not know of HEAD, which the middleware answers, and of OPTIONS above
    methods = (error.headers or {}).get("Allow", "GET").replace("GET", "GET, HEAD")
    return {"Allow": f"{methods}, OPTIONS"}
