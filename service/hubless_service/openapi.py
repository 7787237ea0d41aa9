"""What FastAPI cannot know of routes that read and write bytes: their bodies, answers and problems, with examples."""

from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from hubless_service.access.authentication import PUBLIC
from hubless_service.http import problems, schemas
from hubless_service.http.bodies import BINARY, JSON
from hubless_service.http.queries import URL_FIELDS

# why a collection, or all of them, may not be served
UNSERVED = ("not_ready", "bundle_damaged", "bundle_too_new", "storage")
# why a request that needs a search thread may not get one
SEARCHED = ("too_many_requests", *UNSERVED, "deadline_exceeded")
Json = dict[str, Any]
_SCHEME = "One of the API keys of the server, where it has any."
SECURITY_SCHEMES: Json = {
    "bearer": {"type": "http", "scheme": "bearer", "description": _SCHEME},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": _SCHEME},
}


def answers(model: type[BaseModel], example: Json, *codes: str, headers: Json | None = None) -> dict[int | str, Json]:
    """Document the responses of a route: its answer, and the problems of these codes besides those of any route."""
    content = {JSON: {"schema": _reference(model), "example": example}}
    described: Json = {"description": (model.__doc__ or "").strip(), "content": content}
    if headers:
        described["headers"] = headers
    return {200: described, **refusals(*codes, "internal_error")}


def refusals(*codes: str) -> dict[int | str, Json]:
    """Document problems by their statuses. That a key is missing is added to all routes that need one."""
    by_status: dict[int, list[str]] = {}
    for code in codes:
        by_status.setdefault(problems.KINDS[code].status, []).append(code)
    return {status: _problems(status, by_status[status]) for status in sorted(by_status)}


def body(model: type[BaseModel], examples: dict[str, Json], *, binary: str = "", required: bool = True) -> Json:
    """Document what a route reads: JSON, and bytes with the fields in the URL if `binary` says what they are."""
    content: Json = {
        JSON: {"schema": _reference(model), "examples": {name: {"value": value} for name, value in examples.items()}}
    }
    operation: Json = {"requestBody": {"required": required, "content": content}}
    if binary:
        content[BINARY] = {"schema": {"type": "string", "format": "binary", "description": binary}}
        operation["parameters"] = list(_url_parameters())
    return operation


def url_parameter(name: str, schema: Json, description: str) -> Json:
    """Document a parameter in the URL's query."""
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": description}


def header_parameter(name: str, description: str) -> Json:
    """Document a header that a request may bear."""
    return {"name": name, "in": "header", "required": False, "schema": {"type": "string"}, "description": description}


def install(app: FastAPI) -> None:
    """Make /openapi.json complete: the schemas that the routes refer to are in no signature."""

    def document() -> Json:
        if not app.openapi_schema:
            made = get_openapi(
                title=app.title,
                version=app.version,
                description=app.description,
                routes=app.routes,
                tags=app.openapi_tags,
            )
            made.setdefault("components", {}).setdefault("schemas", {}).update(schemas.components())
            made["components"]["securitySchemes"] = SECURITY_SCHEMES
            for path, operations in made["paths"].items():
                for operation in operations.values() if path not in PUBLIC else ():
                    operation["security"] = [{}, *({name: []} for name in SECURITY_SCHEMES)]
                    for code in ("unauthenticated", "too_many_wrong_keys"):
                        _add(operation["responses"], code)
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # the way that FastAPI's documentation has it


def _add(responses: Json, code: str) -> None:
    """Document one more problem of a route, perhaps of a status that it has already."""
    status = problems.KINDS[code].status
    known = responses[str(status)]["content"][problems.MEDIA_TYPE]["examples"] if str(status) in responses else ()
    responses[str(status)] = _problems(status, [*known, code])


def _problems(status: int, codes: Iterable[str]) -> Json:
    documented: Json = {
        "description": "; ".join(f"`{code}`: {problems.KINDS[code].title}" for code in codes),
        "content": {
            problems.MEDIA_TYPE: {
                "schema": _reference(schemas.Problem),
                "examples": {code: {"value": _example(code)} for code in codes},
            }
        },
    }
    if status == 401:
        challenge = {"schema": {"type": "string"}, "description": "That a bearer token is wanted."}
        documented["headers"] = {"WWW-Authenticate": challenge}
    if status in (429, 503):
        retry = {"schema": {"type": "integer"}, "description": "Seconds to wait; only where waiting helps."}
        documented["headers"] = {"Retry-After": retry}
    return documented


def _example(code: str) -> Json:
    problem = problems.Problem(code, problems.KINDS[code].title + ": what exactly, stands here.")
    return problems.document(problem, "0c5cb4d56d7a4bbd8e7b1d6f2f6f6c11")


def _url_parameters() -> Iterable[Json]:
    properties = schemas.components()["QueryRequest"]["properties"]
    for name in sorted(URL_FIELDS):
        if name == "dim":
            meaning = "For binary bodies only, which do not tell it: the dimension of their vectors, to be checked."
            yield url_parameter(name, {"type": "integer", "minimum": 1}, meaning)
            continue
        schema = {"type": "string", "example": "payload,vector"} if name == "with" else properties[name]
        yield url_parameter(name, schema, "For binary bodies only; of JSON bodies it is a field.")


def _reference(model: type[BaseModel]) -> Json:
    return {"$ref": f"#/components/schemas/{model.__name__}"}
