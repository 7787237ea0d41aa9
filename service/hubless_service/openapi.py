"""The OpenAPI document: what FastAPI cannot know of routes that read and write bytes."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from hubless.filters import filter_schema
from hubless_service.access.authentication import PUBLIC
from hubless_service.http import problems
from hubless_service.http.answers import ANSWERS, ProblemAnswer
from hubless_service.http.arrow import ARROW
from hubless_service.http.bodies import BINARY, JSON
from hubless_service.http.insights import INSIGHTS
from hubless_service.http.requests import REQUESTS, RequestModel
from hubless_service.http.values import FILTER
from hubless_service.settings import Settings

# why a collection, or all of them, may not be served
UNSERVED = ("not_ready", "engine_unavailable", "bundle_damaged", "unsupported_bundle", "storage")
# why a request that needs a search thread may not get one
SEARCHED = ("too_many_requests", "engine_failed", *UNSERVED, "deadline_exceeded")
Json = dict[str, Any]
PATH = "/openapi.json"
_SCHEME = "One of the API keys of the server, where it has any."
SECURITY_SCHEMES: Json = {
    "bearer": {"type": "http", "scheme": "bearer", "description": _SCHEME},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": _SCHEME},
}
_LIMITS = ("maximum", "maxItems", "maxLength")
_REFERENCE = "#/components/schemas/{model}"


def answers(model: type[Any], example: Json, *codes: str, headers: Json | None = None) -> dict[int | str, Json]:
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
        by_status.setdefault(problems.PROBLEM_TYPES[code].status, []).append(code)
    return {status: _problems(status, by_status[status]) for status in sorted(by_status)}


def body(
    model: type[RequestModel],
    *,
    required: bool = True,
    binary: str = "",
    arrow: str = "",
    url: type[RequestModel] | None = None,
) -> Json:
    """Document the body that a route reads: JSON, and bytes or Arrow if a text says what they are.

    Parameters
    ----------
    url : the URL of bodies that are not JSON
    """
    content: Json = {JSON: {"schema": _reference(model)}}
    operation: Json = {"requestBody": {"required": required, "content": content}}
    for kind, meaning in ((BINARY, binary), (ARROW, arrow)):
        if meaning:
            content[kind] = {"schema": {"type": "string", "format": "binary", "description": meaning}}
    if url:
        operation["parameters"] = url_parameters(url, "Of binary bodies only; of JSON bodies it is a field.")
    return operation


def url_parameters(model: type[RequestModel], remark: str = "") -> list[Json]:
    """Document the parameters in the URL's query.

    None has an example or a default: Swagger UI would fill it in, and beside a JSON body that is an error.
    """
    properties = TypeAdapter(model).json_schema(schema_generator=_Schemas)["properties"]
    return [_url_parameter(name, properties[name], remark) for name in sorted(properties)]


def header_parameter(name: str, description: str) -> Json:
    """Document a header that a request may bear."""
    return {"name": name, "in": "header", "required": False, "schema": {"type": "string"}, "description": description}


def app_document(app: FastAPI, settings: Settings) -> Json:
    """The document of an app, complete but for examples of requests."""
    made = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes, tags=app.openapi_tags
    )
    made.setdefault("components", {}).setdefault("schemas", {}).update(_components())
    made["components"]["securitySchemes"] = SECURITY_SCHEMES
    for name in ("HTTPValidationError", "ValidationError"):
        made["components"]["schemas"].pop(name, None)
    for route in app.routes:
        if not (isinstance(route, APIRoute) and route.include_in_schema):
            continue
        for method in route.methods or ():
            operation = made["paths"][route.path_format][method.lower()]
            _mend(operation["responses"], route.responses)
            if route.path not in PUBLIC:
                operation["security"] = [{}, *({name: []} for name in SECURITY_SCHEMES)]
                for code in ("unauthenticated", "too_many_wrong_keys"):
                    _add(operation["responses"], code)
    complete: Json = _with_settings(made, settings)
    return complete


def with_examples(
    document: Json, bodies: Mapping[str, Mapping[str, Json]], parameters: Mapping[str | tuple[str, ...], Any]
) -> Json:
    """A document with examples of requests, which Swagger UI fills in.

    Parameters
    ----------
    bodies : examples by the name of the body's model
    parameters : examples by the parameter's name, by method and name, or by method, path and name
    """

    def filled(path: str, method: str, operation: Json) -> Json:
        operation = {**operation}
        if "parameters" in operation:
            operation["parameters"] = [with_example(path, method, parameter) for parameter in operation["parameters"]]
        if "requestBody" in operation:
            content = operation["requestBody"]["content"]
            model = content[JSON]["schema"]["$ref"].rpartition("/")[2]
            examples = {name: {"value": value} for name, value in bodies[model].items()}
            with_json = {**content, JSON: {**content[JSON], "examples": examples}}
            operation["requestBody"] = {**operation["requestBody"], "content": with_json}
        return operation

    def with_example(path: str, method: str, parameter: Json) -> Json:
        name = parameter["name"]
        known = ((method, path, name), (method, name), name)
        example = next((parameters[key] for key in known if key in parameters), None)
        return parameter if example is None else {**parameter, "example": example}

    paths = {
        path: {method: filled(path, method, operation) for method, operation in operations.items()}
        for path, operations in document["paths"].items()
    }
    return {**document, "paths": paths}


class _Schemas(GenerateJsonSchema):
    """Without titles of fields, and without null as a default: neither says anything."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> Json:
        made = super().default_schema(schema)
        return made if made.get("default", ...) is not None else {k: v for k, v in made.items() if k != "default"}


def _components() -> Json:
    """The models of requests and answers as JSON schemas, for `#/components/schemas`."""
    models: list[type[Any]] = [*REQUESTS, *ANSWERS, *INSIGHTS]
    adapters: list[tuple[Any, Literal["validation"], TypeAdapter[Any]]] = [
        (model, "validation", TypeAdapter(model)) for model in models
    ]
    _, made = TypeAdapter.json_schemas(adapters, ref_template=_REFERENCE, schema_generator=_Schemas)
    sent = {model.__name__ for model in REQUESTS}
    for name, schema in made["$defs"].items():
        if name not in sent:
            schema.pop("additionalProperties", None)  # answers may get more members; clients must bear that
    return {**made["$defs"], FILTER: filter_schema(_REFERENCE.format(model=FILTER))}


def _with_settings(value: Any, settings: Settings) -> Any:
    """A part of the document, the names of settings in the place of limits replaced by their values."""
    if isinstance(value, list):
        return [_with_settings(item, settings) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: getattr(settings, item) if name in _LIMITS and isinstance(item, str) else _with_settings(item, settings)
        for name, item in value.items()
    }


def _url_parameter(name: str, field: Json, remark: str) -> Json:
    schema, description = {"anyOf": field["anyOf"]}, f"{field['description']} {remark}".strip()
    if any(choice["type"] == "array" for choice in field["anyOf"]):
        schema, description = {"type": "string"}, f"Separated by commas. {description}"
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": description}


def _mend(responses: Json, given: Mapping[int | str, Json]) -> None:
    """Undo what FastAPI does to the answers that were given to it."""
    if JSON in responses.get("422", {}).get("content", {}):
        del responses["422"]  # its own, which is never sent
    for status in (200, 201, 202):
        if answer := given.get(status, {}).get("content", {}).get(JSON):
            responses[str(status)]["content"][JSON]["example"] = answer["example"]  # it leaves out what is null


def _add(responses: Json, code: str) -> None:
    """Document one more problem of a route, perhaps of a status that it has already."""
    status = problems.PROBLEM_TYPES[code].status
    known = responses[str(status)]["content"][problems.MEDIA_TYPE]["examples"] if str(status) in responses else ()
    responses[str(status)] = _problems(status, [*known, code])


def _problems(status: int, codes: Iterable[str]) -> Json:
    documented: Json = {
        "description": "; ".join(f"`{code}`: {problems.PROBLEM_TYPES[code].title}" for code in codes),
        "content": {
            problems.MEDIA_TYPE: {
                "schema": _reference(ProblemAnswer),
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
    problem = problems.HttpProblem(code, problems.PROBLEM_TYPES[code].title + ": what exactly, stands here.")
    return problems.problem_document(problem, "0c5cb4d56d7a4bbd8e7b1d6f2f6f6c11")


def _reference(model: type[Any]) -> Json:
    return {"$ref": _REFERENCE.format(model=model.__name__)}
