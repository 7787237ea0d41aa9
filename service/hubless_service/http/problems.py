"""Errors as problem documents (RFC 9457): each code with its status, and the library's errors as problems."""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson
from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.routing import Match

from hubless.errors import BundleError, EngineError, HublessError, InputError, LogCut, StorageError, VersionReplaced
from hubless_service.http.trace import SCOPE_KEY, Trace

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER = {"Retry-After": "1"}
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class ProblemType:
    """Members of all problems of one code: the status, the title, and whether it helps to wait a second."""

    status: int
    title: str
    passes: bool = False


# The codes are part of the contract. hubless/errors.py says what the codes of the library mean.
PROBLEM_TYPES = {
    "malformed_request": ProblemType(400, "The request is not HTTP"),
    "malformed_body": ProblemType(400, "The body cannot be parsed"),
    "unauthenticated": ProblemType(401, "An API key is needed"),
    "forbidden": ProblemType(403, "The API key does not allow this"),
    "not_found": ProblemType(404, "There is nothing at this path"),
    "collection_not_found": ProblemType(404, "There is no such collection"),
    "version_not_found": ProblemType(404, "There is no such version"),
    "alias_not_found": ProblemType(404, "There is no such alias"),
    "scores_not_found": ProblemType(404, "There is no such correction of scores"),
    "point_not_found": ProblemType(404, "There is no such point"),
    "picture_not_found": ProblemType(404, "There is no such picture"),
    "method_not_allowed": ProblemType(405, "The path does not have this method"),
    "request_timeout": ProblemType(408, "The body did not come in time"),
    "point_exists": ProblemType(409, "There is such a point already"),
    "collection_exists": ProblemType(409, "There is such a collection already, with other settings"),
    "collection_aliased": ProblemType(409, "Aliases stand for the collection"),
    "cursor_expired": ProblemType(410, "The cursor belongs to another version"),
    "precondition_failed": ProblemType(412, "It is not as it was expected to be"),
    "body_too_large": ProblemType(413, "The body is too large"),
    "unsupported_media_type": ProblemType(415, "The body is of a type that is not understood"),
    "invalid_input": ProblemType(422, "A value is not what it has to be"),
    "unknown_field": ProblemType(422, "There is no such field"),
    "dimension_mismatch": ProblemType(422, "The vector has the wrong dimension"),
    "not_finite": ProblemType(422, "The vector holds a number that float32 cannot"),
    "zero_vector": ProblemType(422, "The vector has no direction"),
    "no_encoder": ProblemType(422, "The collection does not take texts"),
    "unknown_words": ProblemType(422, "No word of the text is known"),
    "text_refused": ProblemType(422, "The encoder of the collection does not take the text"),
    "precondition_required": ProblemType(428, "Changing it needs If-Match"),
    "too_many_requests": ProblemType(429, "Too many queries are waiting", passes=True),
    "too_many_wrong_keys": ProblemType(429, "Too many wrong API keys came from this address"),
    "merge_needed": ProblemType(429, "Too many points stand beside the index"),
    "head_too_large": ProblemType(431, "Heads of requests are too large, or too many wait"),
    "internal_error": ProblemType(500, "The server has failed"),
    "encoder_failed": ProblemType(502, "The encoder of the collection has failed"),
    "engine_failed": ProblemType(502, "The engine of the collection has failed"),
    "not_ready": ProblemType(503, "The server is not ready", passes=True),
    "engine_unavailable": ProblemType(503, "The engine of the collection cannot be reached"),
    "bundle_damaged": ProblemType(503, "The collection cannot be served: its files are damaged"),
    "unsupported_bundle": ProblemType(503, "The collection cannot be served: another hubless made it"),
    "log_damaged": ProblemType(503, "The log of the collection is damaged"),
    "storage": ProblemType(503, "The storage of the server refuses"),
    "deadline_exceeded": ProblemType(504, "The time that the request has is over"),
    "encoder_timeout": ProblemType(504, "The encoder of the collection did not answer in time"),
}

_ENGINES = {"deadline_exceeded": "The engine of the collection did not answer in the time that the request has."}
_LATER = {503: RETRY_AFTER}


class HttpProblem(Exception):
    """An error with a code of `PROBLEM_TYPES`. Code below a route may raise it anywhere.

    `headers` take the place of Retry-After, which problems that pass have.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        members: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.members = members or {}
        self.headers = RETRY_AFTER if headers is None and PROBLEM_TYPES[code].passes else headers


def internal_error() -> HttpProblem:
    """The answer to an exception that is not foreseen: it says nothing about the exception."""
    return HttpProblem("internal_error", "Something went wrong; the log of the server says more under the request id.")


def out_of_memory() -> HttpProblem:
    """The answer where memory does not suffice, which may pass."""
    detail = "The server has too little memory for this now: ask for less at a time, or later."
    return HttpProblem("not_ready", detail)


def from_library(error: HublessError) -> HttpProblem:
    """The library's error as a problem. An error that no client can cause is raised as it is."""
    if error.code not in PROBLEM_TYPES:
        raise error
    if isinstance(error, InputError):
        parts = {"parameter": error.parameter, "expected": error.expected, "received": clip(error.received)}
        return HttpProblem(error.code, "{parameter}: expected {expected}, got {received}".format(**parts), parts)
    if isinstance(error, LogCut | VersionReplaced):  # this worker looks for the newer version now
        return HttpProblem("not_ready", "A newer version of the collection is being loaded.")
    if isinstance(error, EngineError):  # its text says where the engine is, for the log only
        kind = PROBLEM_TYPES[error.code]
        return HttpProblem(error.code, _ENGINES.get(error.code, f"{kind.title}."), headers=_LATER.get(kind.status))
    if isinstance(error, BundleError | StorageError):
        # clients see the name of the file, and not where it lies on the server
        return HttpProblem(error.code, f"{error.path.name}: {error.problem}")
    return HttpProblem(error.code, clip(str(error)))


def respond(problem: HttpProblem, trace: Trace) -> Response:
    """The problem as a response. Log and metrics get its code."""
    trace.code = problem.code
    body = orjson.dumps(problem_document(problem, trace.request_id))
    return Response(body, PROBLEM_TYPES[problem.code].status, problem.headers, MEDIA_TYPE)


def problem_document(problem: HttpProblem, request_id: str) -> dict[str, object]:
    """The JSON of a problem: the members of RFC 9457, and our own."""
    kind = PROBLEM_TYPES[problem.code]
    return {
        "type": f"urn:hubless:problem:{problem.code}",
        "title": kind.title,
        "status": kind.status,
        "detail": problem.detail,
        "code": problem.code,
        "request_id": request_id,
        **problem.members,
    }


def clip(text: str) -> str:
    """Cut the text of a client so that it can be sent back."""
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def describe(value: object) -> str:
    """A JSON value in a few words, for an error about it."""
    match value:
        case list():
            return f"a list of {len(value)}"
        case dict():
            return "an object"
        case str():
            return clip(f'the string "{value}"')
    return orjson.dumps(value, str).decode()


def install(app: FastAPI) -> None:
    """Answer what no route takes with problem documents. Routes and the middleware answer all other errors."""
    app.exception_handler(HTTPException)(_on_http_exception)


async def _on_http_exception(request: Request, error: HTTPException) -> Response:
    path = clip(request.url.path)
    match error.status_code:
        case 404:
            return respond(HttpProblem("not_found", f"There is nothing at {path}."), request.scope[SCOPE_KEY])
        case 405:
            allowed = {"Allow": _methods_of(request)}
            if request.method == "OPTIONS":
                return Response(None, 204, allowed)
            detail = f"{path} takes {allowed['Allow']}, not {request.method}."
            return respond(HttpProblem("method_not_allowed", detail, headers=allowed), request.scope[SCOPE_KEY])
    raise error


def _methods_of(request: Request) -> str:
    """Return the methods of all routes of a path, with HEAD, which the middleware answers, and OPTIONS."""
    scope = request.scope
    scope = {**scope, "root_path": scope.get("app_root_path", "")}  # a folder of files has put itself there
    found = {"OPTIONS"}
    for route in request.app.routes:
        if route.matches(scope)[0] is not Match.NONE:
            found |= getattr(route, "methods", {"GET"})  # a folder of files has no list of them
    if "GET" in found:
        found.add("HEAD")
    return ", ".join(sorted(found))
