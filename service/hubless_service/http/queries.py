"""Queries from what a request says, every field checked by hand.

A pydantic model of the same fields would cost more than many a search; `schemas.py` has it for the documentation.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from fastapi import Request

import hubless
from hubless.arrays import F32
from hubless.errors import InputError
from hubless.filters import Filter
from hubless.search import QUERY_STRENGTH, TARGET_STRENGTH
from hubless_service.http import vectors
from hubless_service.http.bodies import BINARY, as_object, parse, refuse_unknown, refuse_url_fields, url_fields
from hubless_service.http.extras import Extras, read_extras
from hubless_service.http.problems import describe
from hubless_service.http.schemas import BatchRequest, QueryRequest, fields_of
from hubless_service.http.selections import read_filter, read_whole
from hubless_service.settings import Settings

URL_FIELDS = frozenset({"dim", "limit", "skip", "strength", "with", "score_threshold", "explain", "timeout_ms"})
_QUESTIONS = ("vector", "text", "id")
_QUERY_FIELDS = fields_of(QueryRequest)
_BATCH_FIELDS = fields_of(BatchRequest)
_NUMBERS = (int, float)


class Stored(NamedTuple):
    """A stored target, whose like is asked for."""

    id: str | int


@dataclass(frozen=True, slots=True)
class Query:
    """One query as the search wants it, however it was sent.

    Attributes
    ----------
    where : what stands before a field's name in an error: nothing, or `queries[3].`
    asked : a vector (d,) that the collection can be asked for, a text, or a stored target
    """

    where: str
    asked: F32 | str | Stored
    limit: int
    skip: int
    strength: float
    score_threshold: float | None
    timeout_ms: int
    parameters: dict[str, Any]
    extras: Extras
    filter: Filter | None
    explain: bool


def one(request: Request, kind: str, body: bytes, collection: hubless.Collection, settings: Settings) -> Query:
    """Read a body that is one query; of a binary one, the other fields stand in the URL."""
    if kind == BINARY:
        fields = _binary_fields(request, collection)
        vector = vectors.from_bytes(body, collection, rows=1)[0]
        return _query("", fields, vector, collection, settings)
    refuse_url_fields(request)
    return _from_object("", parse(body), collection, settings)


def several(
    request: Request, kind: str, body: bytes, collection: hubless.Collection, settings: Settings
) -> list[Query]:
    """Read a body that is a batch of queries; of a binary one, the fields in the URL hold for all."""
    if kind == BINARY:
        fields = _binary_fields(request, collection)
        rows = vectors.from_bytes(body, collection)
        _check_size("body", len(rows), settings)
        template = _query("", fields, rows[0], collection, settings)
        _check_hits("body", len(rows) * (template.skip + template.limit), settings)
        return [replace(template, asked=row) for row in rows]
    refuse_url_fields(request)
    document = parse(body)
    refuse_unknown(document, _BATCH_FIELDS)
    queries = document.get("queries")
    if not isinstance(queries, list):
        raise InputError("queries", "a list of queries", describe(queries))
    _check_size("queries", len(queries), settings)
    checked = [
        _from_object(f"queries[{i}].", as_object(f"queries[{i}]", item), collection, settings)
        for i, item in enumerate(queries)
    ]
    _check_hits("queries", sum(query.skip + query.limit for query in checked), settings)
    return checked


def _binary_fields(request: Request, collection: hubless.Collection) -> dict[str, Any]:
    fields = url_fields(request)
    refuse_unknown(fields, URL_FIELDS)
    vectors.check_dim(fields.get("dim"), collection)
    return fields


def _from_object(where: str, fields: dict[str, Any], collection: hubless.Collection, settings: Settings) -> Query:
    refuse_unknown(fields, _QUERY_FIELDS, where)
    given = [name for name in _QUESTIONS if fields.get(name) is not None]
    if len(given) != 1:
        raise InputError(f"{where}vector", "either a vector, a text or an id", " and ".join(given) or "none of them")
    (question,) = given
    value = fields[question]
    if question == "vector":
        asked: F32 | str | Stored = vectors.from_json(value, f"{where}vector", collection)
    elif question == "text":
        asked = _text(where, value, settings)
    else:
        asked = _stored(where, value, collection)
    return _query(where, fields, asked, collection, settings)


def _text(where: str, value: Any, settings: Settings) -> str:
    if not isinstance(value, str):
        raise InputError(f"{where}text", "a string", describe(value))
    if len(value) > settings.max_text:
        raise InputError(f"{where}text", f"at most {settings.max_text} characters", str(len(value)))
    return value


def _stored(where: str, value: Any, collection: hubless.Collection) -> Stored:
    numbers = collection.manifest.id_type == "int64"
    if type(value) is not (int if numbers else str):
        raise InputError(f"{where}id", "a whole number" if numbers else "a string", describe(value))
    return Stored(value)


def _query(
    where: str, fields: dict[str, Any], asked: F32 | str | Stored, collection: hubless.Collection, settings: Settings
) -> Query:
    """Check the fields beside what is asked; null is a field that is not given."""
    parameters = fields.get("params")
    if parameters is not None and not isinstance(parameters, dict):
        raise InputError(f"{where}params", "an object", describe(parameters))
    usual = TARGET_STRENGTH if isinstance(asked, Stored) else QUERY_STRENGTH
    strength = _number(where, "strength", fields)
    limit = read_whole(where, "limit", fields, settings.default_limit, settings.max_limit)
    return Query(
        where=where,
        asked=asked,
        limit=limit,
        skip=_skip(where, fields, max(settings.max_depth - limit, 0)),
        strength=usual if strength is None else strength,
        score_threshold=_number(where, "score_threshold", fields),
        timeout_ms=read_whole(where, "timeout_ms", fields, settings.default_timeout_ms, settings.max_timeout_ms),
        parameters=parameters or {},
        extras=read_extras(where, fields, collection),
        filter=read_filter(where, fields, collection, settings),
        explain=_truth(where, "explain", fields),
    )


def _skip(where: str, fields: dict[str, Any], most: int) -> int:
    value = fields.get("skip")
    if value is None:
        return 0
    if type(value) is not int or not 0 <= value <= most:
        raise InputError(f"{where}skip", f"a whole number from 0 to {most} beside this limit", describe(value))
    return value


def _truth(where: str, name: str, fields: dict[str, Any]) -> bool:
    value = fields.get(name)
    if value is not None and not isinstance(value, bool):
        raise InputError(f"{where}{name}", "true or false", describe(value))
    return bool(value)


def _number(where: str, name: str, fields: dict[str, Any]) -> float | None:
    value: float | None = fields.get(name)
    if value is not None and type(value) not in _NUMBERS:
        raise InputError(f"{where}{name}", "a number", describe(value))
    return value


def _check_size(name: str, count: int, settings: Settings) -> None:
    if not 1 <= count <= settings.max_batch:
        raise InputError(name, f"1 to {settings.max_batch} queries", str(count))


def _check_hits(name: str, count: int, settings: Settings) -> None:
    if count > settings.max_batch_hits:
        expected = f"limits and skips that add up to at most {settings.max_batch_hits}"
        raise InputError(name, expected, str(count))
