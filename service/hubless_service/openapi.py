"""The OpenAPI document: what FastAPI cannot know of routes that answer in bytes."""

from typing import Annotated, Any

from fastapi import Depends, Query, Security
from fastapi.security import APIKeyHeader, HTTPBearer
from pydantic import TypeAdapter

from hubless_service.http import answers, problems
from hubless_service.http.arrow import ARROW, ARROW_FILE
from hubless_service.http.requests import BINARY, JSON, RequestModel
from hubless_service.http.values import FILTERS, Json, refer

BODY = ("malformed_body", "request_timeout", "body_too_large", "unsupported_media_type")
"""Why a body is refused, whatever it says."""
FIELDS = ("invalid_input", "unknown_field")
QUERIES = (
    "dimension_mismatch",
    "not_finite",
    "zero_vector",
    "no_encoder",
    "unknown_words",
    "text_refused",
    "encoder_failed",
    "encoder_timeout",
)
"""Why a vector is refused, or a text or a picture that is to become one."""
UNSERVED = ("engine_unavailable", "bundle_damaged", "unsupported_bundle", "storage")
"""Why a collection, or all of them, may not be served."""
SEARCHED = ("too_many_requests", "engine_failed", *UNSERVED, "deadline_exceeded")
"""Why a request that needs a search thread may not get one."""
READ = ("collection_not_found", *UNSERVED)
EDGE = ("internal_error", "malformed_request", "head_too_large", "not_ready")
"""What any request may be answered: the server fails, stops or lacks memory, or refuses what it reads of the head."""
TAG: Json = {"schema": {"type": "string"}, "description": "What If-Match takes."}
ETAG: dict[int | str, Json] = {200: {"headers": {"ETag": TAG}}}
"""The headers of an answer that can be changed on condition."""
_ABOUT = "One of the API keys of the server, where it has any."
KEY_SCHEMES = [
    Security(HTTPBearer(scheme_name="bearer", description=_ABOUT, auto_error=False)),
    Security(APIKeyHeader(name="X-API-Key", scheme_name="header", description=_ABOUT, auto_error=False)),
]


def route(
    summary: str,
    answer: Any,
    *codes: str,
    also: dict[int | str, Json] | None = None,
    public: bool = False,
    **options: Any,
) -> Json:
    """Document a route: its answer, and the problems that it and any route may have. `also`: other responses.

    Other options are FastAPI's own.
    """
    guard = () if public else ("unauthenticated", "too_many_wrong_keys")
    by_status: dict[int, list[str]] = {}
    for code in dict.fromkeys([*codes, *EDGE, *guard]):
        by_status.setdefault(problems.PROBLEM_TYPES[code].status, []).append(code)
    refusals = {status: _problems(status, by_status[status]) for status in sorted(by_status)}
    return {"summary": summary, "response_model": answer, "responses": {**(also or {}), **refusals}, **options}


def other_bodies(url: type[RequestModel], binary: str = "", arrow: str = "", file: str = "") -> Json:
    """Document bodies that are not JSON, beside which fields stand in the URL."""

    def fields(url: Any) -> None:
        """Stand for them in the contract."""

    fields.__annotations__["url"] = Annotated[url, Query()]
    kinds = {BINARY: binary, ARROW: arrow, ARROW_FILE: file}
    schema = {"type": "string", "format": "binary"}
    content = {kind: {"schema": {**schema, "description": text}} for kind, text in kinds.items() if text}
    return {"dependencies": [Depends(fields)], "openapi_extra": {"requestBody": {"content": content}}}


def complete(document: Json) -> Json:
    """Add the components that FastAPI does not see."""
    schemas = document["components"]["schemas"]
    schemas |= {**FILTERS, "ProblemAnswer": TypeAdapter(answers.ProblemAnswer).json_schema()}
    for name, base in (("QueryAnswer", "QueryHits"), ("PointAnswer", "StoredTarget")):
        schemas[name]["properties"] |= schemas[base]["properties"]  # texts of a base, which pydantic does not look at
    for name in ("HTTPValidationError", "ValidationError"):  # FastAPI's own, which are never sent
        del schemas[name]
    for name, schema in schemas.items():
        if not (name.startswith(("Filter", "PointTo")) or name.endswith("Request")):
            schema.pop("additionalProperties", None)  # answers may get more members; clients must bear that
    for methods in document["paths"].values():
        for operation in methods.values():
            if JSON in operation["responses"].get("422", {}).get("content", {}):
                del operation["responses"]["422"]
            if "401" not in operation["responses"]:
                operation["security"].append({})  # a key is not needed
    document["components"]["schemas"] = _plain(schemas, {"title", "default"})
    made: Json = _plain(document, {"default"})
    return made


def _plain(value: Any, noise: set[str]) -> Any:
    """Return a part of the document without generated titles and defaults that are null."""
    if isinstance(value, list):
        return [_plain(item, noise) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _plain(item, noise)
        for name, item in value.items()
        if name not in noise or isinstance(item, dict) or (name == "default" and item is not None)
    }


def _problems(status: int, codes: list[str]) -> Json:
    headers = {
        401: {"WWW-Authenticate": {"schema": {"type": "string"}, "description": "A bearer token is wanted."}},
        429: {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait, where waiting helps."}},
    }
    headers[503] = headers[429]
    examples = {
        code: {"value": problems.problem_document(problems.HttpProblem(code, "Details stand here."), "0c5cb4d5")}
        for code in codes
    }
    return {
        "description": "; ".join(f"`{code}`: {problems.PROBLEM_TYPES[code].title}" for code in codes),
        "content": {problems.MEDIA_TYPE: {"schema": refer("ProblemAnswer"), "examples": examples}},
        **({"headers": headers[status]} if status in headers else {}),
    }
