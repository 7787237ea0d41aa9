"""Errors as problem documents (RFC 9457): each code with its status, and the library's errors as problems."""

from collections.abc import Mapping
from typing import NamedTuple

import orjson
from fastapi import Request, Response
from starlette.exceptions import HTTPException
from starlette.routing import Match

from hubless.errors import BundleError, EngineError, HublessError, InputError, LogCut, StorageError, VersionReplaced
from hubless_service.http.trace import SCOPE_KEY, Trace

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER = {"Retry-After": "1"}
_LONGEST = 200


class ProblemType(NamedTuple):
    """Members of all problems of one code."""

    status: int
    title: str


# The codes are part of the contract. hubless/errors.py says what the codes of the library mean.
_TITLES = {
    400: {
        "malformed_request": "The request is not HTTP",
        "malformed_body": "The body cannot be parsed",
    },
    401: {
        "unauthenticated": "An API key is needed",
    },
    403: {
        "forbidden": "The API key does not allow this",
    },
    404: {
        "not_found": "There is nothing at this path",
        "collection_not_found": "There is no such collection",
        "version_not_found": "There is no such version",
        "alias_not_found": "There is no such alias",
        "scores_not_found": "There is no such correction of scores",
        "point_not_found": "There is no such point",
        "picture_not_found": "There is no such picture",
    },
    405: {
        "method_not_allowed": "The path does not have this method",
    },
    408: {
        "request_timeout": "The body did not come in time",
    },
    409: {
        "point_exists": "There is such a point already",
        "collection_exists": "There is such a collection already, with other settings",
        "collection_aliased": "Aliases stand for the collection",
    },
    410: {
        "cursor_expired": "The cursor belongs to another version",
    },
    412: {
        "precondition_failed": "It is not as it was expected to be",
    },
    413: {
        "body_too_large": "The body is too large",
    },
    415: {
        "unsupported_media_type": "The body is of a type that is not understood",
    },
    422: {
        "invalid_input": "A value is not what it has to be",
        "unknown_field": "There is no such field",
        "dimension_mismatch": "The vector has the wrong dimension",
        "not_finite": "The vector holds a number that float32 cannot",
        "zero_vector": "The vector has no direction",
        "no_encoder": "The collection does not take texts",
        "unknown_words": "No word of the text is known",
        "text_refused": "The encoder of the collection does not take the text",
    },
    428: {
        "precondition_required": "Changing it needs If-Match",
    },
    429: {
        "too_many_requests": "Too many queries are waiting",
        "too_many_wrong_keys": "Too many wrong API keys came from this address",
        "merge_needed": "Too many points stand beside the index",
    },
    431: {
        "head_too_large": "Heads of requests are too large, or too many wait",
    },
    500: {
        "internal_error": "The server has failed",
    },
    502: {
        "encoder_failed": "The encoder of the collection has failed",
        "engine_failed": "The engine of the collection has failed",
    },
    503: {
        "not_ready": "The server is not ready",
        "engine_unavailable": "The engine of the collection cannot be reached",
        "bundle_damaged": "The collection cannot be served: its files are damaged",
        "unsupported_bundle": "The collection cannot be served: another hubless made it",
        "log_damaged": "The log of the collection is damaged",
        "storage": "The storage of the server refuses",
    },
    504: {
        "deadline_exceeded": "The time that the request has is over",
        "encoder_timeout": "The encoder of the collection did not answer in time",
    },
}
"""The title of each code, by its status."""
PROBLEM_TYPES = {
    code: ProblemType(status, title) for status, titles in _TITLES.items() for code, title in titles.items()
}

_PASSING = {"too_many_requests", "not_ready", "engine_unavailable"}  # a second later
_ENGINES = {"deadline_exceeded": "The engine of the collection did not answer in the time that the request has."}


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
        self.headers = RETRY_AFTER if headers is None and code in _PASSING else headers


def internal_error() -> HttpProblem:
    """The answer to an exception that is not foreseen: it says nothing about the exception."""
    return HttpProblem("internal_error", "Something went wrong; the log of the server says more under the request id.")


OUT_OF_MEMORY = "not_ready", "The server has too little memory for this now: ask for less at a time, or later."
"""The answer where memory does not suffice, which may pass."""


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
        return HttpProblem(error.code, _ENGINES.get(error.code, f"{PROBLEM_TYPES[error.code].title}."))
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


async def on_http_exception(request: Request, error: HTTPException) -> Response:
    """Answer what no route takes with problem documents. Routes and the middleware answer all other errors."""
    path = clip(request.url.path)
    match error.status_code:
        case 404:
            problem = HttpProblem("not_found", f"There is nothing at {path}.")
        case 405:
            allowed = {"Allow": _methods_of(request)}
            if request.method == "OPTIONS":
                return Response(None, 204, allowed)
            detail = f"{path} takes {allowed['Allow']}, not {request.method}."
            problem = HttpProblem("method_not_allowed", detail, headers=allowed)
        case _:
            raise error
    return respond(problem, request.scope[SCOPE_KEY])


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
