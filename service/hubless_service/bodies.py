"""Queries from request bodies: the bytes are read once, and every field is checked by hand.

A pydantic model of the same fields would cost more than many a search; `schemas.py` has it for the documentation.
"""

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import orjson
from fastapi import Request

import hubless
from hubless.arrays import F32
from hubless.errors import InputError
from hubless_service import vectors
from hubless_service.problems import Problem, UnknownField, Unsupported, clip, describe
from hubless_service.query import Query
from hubless_service.schemas import BatchRequest, CountRequest, QueryRequest, fields_of
from hubless_service.settings import Settings

JSON = "application/json"
BINARY = "application/octet-stream"
EXTRAS = ("payload", "vector")
_QUERY_FIELDS = fields_of(QueryRequest)
_BATCH_FIELDS = fields_of(BatchRequest)
_COUNT_FIELDS = fields_of(CountRequest)
URL_FIELDS = frozenset({"limit", "strength", "with", "score_threshold"})
_NUMBER = (int, float)


async def read(request: Request, settings: Settings) -> bytes:
    """Read the body, at most as much as is allowed, also when its length was not announced.

    Raises
    ------
    Problem
        `body_too_large`.
    """
    limit = settings.max_body_bytes
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limit:
        raise _too_large(limit, f"{announced} bytes")
    parts, size = [], 0
    async for part in request.stream():
        parts.append(part)
        size += len(part)
        if size > limit:
            raise _too_large(limit, "more")
    return b"".join(parts)


def media_type(request: Request, *accepted: str) -> str:
    """Return the one of the accepted types that the body is of.

    Raises
    ------
    Problem
        `unsupported_media_type`, also for a compressed body.
    """
    coding = request.headers.get("content-encoding", "identity")
    if coding != "identity":
        raise Problem("unsupported_media_type", f"content-encoding: expected none, got {clip(coding)}.")
    sent = request.headers.get("content-type", "")
    kind = sent.partition(";")[0].strip().lower()
    if kind not in accepted:
        expected = " or ".join(accepted)
        raise Problem("unsupported_media_type", f"content-type: expected {expected}, got {clip(sent) or 'none'}.")
    return kind


def one(kind: str, body: bytes, url: bytes, collection: hubless.Collection, settings: Settings) -> Query:
    """Read a body that is one query; of a binary one, the other fields stand in the URL."""
    if kind == BINARY:
        vector = vectors.from_bytes(body, collection, rows=1)[0]
        return _query("", _url_fields(url), vector, settings)
    _refuse_url(url)
    return _from_object("", _parse(body), collection, settings)


def several(kind: str, body: bytes, url: bytes, collection: hubless.Collection, settings: Settings) -> list[Query]:
    """Read a body that is a batch of queries; of a binary one, the fields in the URL hold for all."""
    if kind == BINARY:
        rows = vectors.from_bytes(body, collection)
        _check_size("body", len(rows), settings)
        template = _query("", _url_fields(url), rows[0], settings)
        return [replace(template, asked=row) for row in rows]
    _refuse_url(url)
    document = _object("body", _parse(body))
    _refuse_unknown(document, _BATCH_FIELDS)
    queries = document.get("queries")
    if not isinstance(queries, list):
        raise InputError("queries", "a list of queries", describe(queries))
    _check_size("queries", len(queries), settings)
    return [_from_object(f"queries[{i}].", item, collection, settings) for i, item in enumerate(queries)]


def check_count(body: bytes) -> None:
    """Check a body that says what to count: so far, everything."""
    fields = _object("body", _parse(body))
    _refuse_unknown(fields, _COUNT_FIELDS)
    _refuse_filter("", fields)


def extras(where: str, value: Any) -> frozenset[str]:
    """Check what a hit or a point shall be sent with."""
    if value is None:
        return frozenset()
    if not isinstance(value, list) or not all(item in EXTRAS for item in value):
        raise InputError(f"{where}with", f"a list of {' and '.join(EXTRAS)}", _listed(value))
    return frozenset(value)


def url_extras(url: bytes) -> frozenset[str]:
    """Read `with` from a URL, where it is the only parameter."""
    return extras("", _url_fields(url, frozenset({"with"})).get("with"))


def _from_object(where: str, item: Any, collection: hubless.Collection, settings: Settings) -> Query:
    fields = _object(where.rstrip(".") or "body", item)
    _refuse_unknown(fields, _QUERY_FIELDS, where)
    vector, text = fields.get("vector"), fields.get("text")
    if (vector is None) == (text is None):
        raise InputError(f"{where}vector", "either a vector or a text", "neither" if text is None else "both")
    if vector is not None:
        return _query(where, fields, vectors.from_json(vector, f"{where}vector", collection), settings)
    if not isinstance(text, str):
        raise InputError(f"{where}text", "a string", describe(text))
    return _query(where, fields, text, settings)


def _query(where: str, fields: dict[str, Any], asked: F32 | str, settings: Settings) -> Query:
    _refuse_filter(where, fields)
    limit = fields.get("limit")
    if limit is None:
        limit = settings.default_limit
    if type(limit) is not int or not 1 <= limit <= settings.max_limit:
        raise InputError(f"{where}limit", f"a whole number from 1 to {settings.max_limit}", describe(limit))
    parameters = fields.get("params")
    if parameters is not None and not isinstance(parameters, dict):
        raise InputError(f"{where}params", "an object", describe(parameters))
    wanted = extras(where, fields.get("with"))
    strength = _number(where, "strength", fields)
    return Query(
        where=where,
        asked=asked,
        limit=limit,
        strength=1.0 if strength is None else strength,
        score_threshold=_number(where, "score_threshold", fields),
        parameters=parameters or {},
        with_payload="payload" in wanted,
        with_vector="vector" in wanted,
    )


def _number(where: str, name: str, fields: dict[str, Any]) -> float | None:
    value = fields.get(name)
    if value is not None and type(value) not in _NUMBER:
        raise InputError(f"{where}{name}", "a number", describe(value))
    return value


def _parse(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Problem("malformed_body", f"The body is not JSON: {error}.") from error


def _object(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(name, "an object", describe(value))
    return value


def _url_fields(url: bytes, known: frozenset[str] = URL_FIELDS) -> dict[str, Any]:
    """Fields from a URL as they would be in JSON."""
    fields: dict[str, Any] = {}
    for name, text in _url_pairs(url):
        if name in fields:
            raise InputError(name, "one value", "several")
        fields[name] = text.split(",") if name == "with" else _json_or_text(text)
    _refuse_unknown(fields, known)
    return fields


def _json_or_text(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text  # and whoever wants a number refuses it


def _refuse_unknown(fields: dict[str, Any], known: frozenset[str], where: str = "") -> None:
    if unknown := fields.keys() - known:
        expected = f"one of {', '.join(sorted(known))}"
        raise UnknownField(f"{where}{clip(min(unknown))}", expected, "an unknown field")


def _refuse_url(url: bytes) -> None:
    for name, text in _url_pairs(url):
        raise UnknownField(clip(name), "no parameters in the URL beside a JSON body", f'"{clip(text)}"')


def _url_pairs(url: bytes) -> list[tuple[str, str]]:
    return parse_qsl(url.decode("latin-1"), keep_blank_values=True)


def _refuse_filter(where: str, fields: dict[str, Any]) -> None:
    if (value := fields.get("filter")) is not None:
        raise Unsupported(f"{where}filter", "null, as there are no filters yet", describe(value))


def _check_size(name: str, count: int, settings: Settings) -> None:
    if not 1 <= count <= settings.max_batch:
        raise InputError(name, f"1 to {settings.max_batch} queries", str(count))


def _listed(value: Any) -> str:
    return clip(orjson.dumps(value).decode()) if isinstance(value, list) else describe(value)


def _too_large(limit: int, received: str) -> Problem:
    parts = {"parameter": "body", "expected": f"at most {limit} bytes", "received": received}
    return Problem("body_too_large", f"body: expected at most {limit} bytes, got {received}", parts)
