"""Errors as RFC 9457 problem documents: every code with its status, and the library's errors as such."""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson
from fastapi import Response

from hubless.errors import BundleError, HublessError, InputError, StorageError
from hubless_service.http.trace import Trace

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER = {"Retry-After": "1"}
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Kind:
    """What all problems of one code have in common."""

    status: int
    title: str


# The codes are part of the contract. Those of the library's errors are theirs: errors.py says what they mean.
KINDS = {
    "malformed_body": Kind(400, "The body cannot be parsed"),
    "unauthenticated": Kind(401, "An API key is needed"),
    "forbidden": Kind(403, "The API key does not allow this"),
    "not_found": Kind(404, "There is nothing at this path"),
    "collection_not_found": Kind(404, "There is no such collection"),
    "version_not_found": Kind(404, "There is no such version"),
    "alias_not_found": Kind(404, "There is no such alias"),
    "point_not_found": Kind(404, "There is no such point"),
    "method_not_allowed": Kind(405, "The path does not have this method"),
    "request_timeout": Kind(408, "The body did not come in time"),
    "cursor_expired": Kind(410, "The cursor belongs to another version"),
    "precondition_failed": Kind(412, "It is not as it was expected to be"),
    "body_too_large": Kind(413, "The body is too large"),
    "unsupported_media_type": Kind(415, "The body is of a type that is not understood"),
    "invalid_input": Kind(422, "A value is not what it has to be"),
    "unknown_field": Kind(422, "There is no such field"),
    "dimension_mismatch": Kind(422, "The vector has the wrong dimension"),
    "not_finite": Kind(422, "The vector holds a number that float32 cannot"),
    "zero_vector": Kind(422, "The vector has no direction"),
    "no_encoder": Kind(422, "The collection does not take texts"),
    "unknown_words": Kind(422, "No word of the text is known"),
    "text_refused": Kind(422, "The encoder of the collection does not take the text"),
    "precondition_required": Kind(428, "Changing it needs If-Match"),
    "too_many_requests": Kind(429, "Too many queries are waiting"),
    "too_many_wrong_keys": Kind(429, "Too many wrong API keys came from this address"),
    "internal_error": Kind(500, "The server has failed"),
    "encoder_failed": Kind(502, "The encoder of the collection has failed"),
    "not_ready": Kind(503, "The server is not ready"),
    "bundle_damaged": Kind(503, "The collection cannot be served: its files are damaged"),
    "bundle_too_new": Kind(503, "The collection cannot be served: its format is too new"),
    "storage": Kind(503, "The storage of the server refuses"),
    "deadline_exceeded": Kind(504, "The time that the request has is over"),
    "encoder_timeout": Kind(504, "The encoder of the collection did not answer in time"),
}


class Problem(Exception):
    """An error with a code of `KINDS`, to be raised anywhere below a route."""

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
        self.headers = headers


def internal_error() -> Problem:
    """The answer to an exception that nobody foresaw: says nothing about it."""
    return Problem("internal_error", "Something went wrong; the log of the server says more under the request id.")


def from_library(error: HublessError) -> Problem:
    """The library's error as a problem; one that no client can cause is an internal error."""
    if error.code not in KINDS:
        raise error
    if isinstance(error, InputError):
        parts = {"parameter": error.parameter, "expected": error.expected, "received": clip(error.received)}
        return Problem(error.code, "{parameter}: expected {expected}, got {received}".format(**parts), parts)
    if isinstance(error, BundleError | StorageError):
        # where things lie on the server is nobody's business: the file's name says enough
        return Problem(error.code, f"{error.path.name}: {error.problem}")
    return Problem(error.code, clip(str(error)))


def respond(problem: Problem, trace: Trace) -> Response:
    """The problem as a response, its code noted for log and metrics."""
    trace.code = problem.code
    body = orjson.dumps(document(problem, trace.request_id))
    return Response(body, KINDS[problem.code].status, problem.headers, MEDIA_TYPE)


def document(problem: Problem, request_id: str) -> dict[str, object]:
    """The problem in the members of RFC 9457 and ours."""
    kind = KINDS[problem.code]
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
    """What the client sent, short enough to be sent back."""
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
