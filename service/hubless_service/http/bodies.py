"""Request bodies and URLs as plain values: how much is read, of which type, and what parses."""

import asyncio
from typing import Any
from urllib.parse import parse_qsl

import orjson
from fastapi import Request
from starlette.requests import ClientDisconnect

from hubless.errors import InputError, UnknownField
from hubless_service.http.problems import Problem, clip, describe
from hubless_service.settings import Settings

JSON = "application/json"
BINARY = "application/octet-stream"


async def read(request: Request, settings: Settings) -> bytes:
    """Read the body, as much and as long as the settings allow, also when its length was not announced.

    Raises
    ------
    Problem
        `body_too_large`, `request_timeout`.
    """
    limit = settings.max_body_bytes
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limit:
        raise _too_large(limit, f"{announced} bytes")
    parts, size, more = list[bytes](), 0, True
    try:
        async with asyncio.timeout(settings.receive_seconds):
            while more:
                message = await request.receive()  # Starlette's stream of it costs more than a small body does
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > limit:
                    raise _too_large(limit, "more")
                more = message.get("more_body", False)
    except TimeoutError as error:
        detail = f"The body did not come within {settings.receive_seconds:g} seconds."
        # what may still come of it is no request
        raise Problem("request_timeout", detail, headers={"Connection": "close"}) from error
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
        raise Problem("unsupported_media_type", f"content-encoding: expected none, got {clip(coding)}")
    sent = request.headers.get("content-type", "")
    kind = sent.partition(";")[0].strip().lower()
    if kind not in accepted:
        expected = " or ".join(accepted)
        raise Problem("unsupported_media_type", f"content-type: expected {expected}, got {clip(sent) or 'none'}")
    return kind


def parse(body: bytes) -> dict[str, Any]:
    """Parse a body that is a JSON object.

    Raises
    ------
    Problem
        `malformed_body` if it is no JSON.
    InputError
        if it is another kind of JSON.
    """
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Problem("malformed_body", f"The body is not JSON: {error}") from error
    return as_object("body", document)


def as_object(name: str, value: Any) -> dict[str, Any]:
    """Return a JSON value that is an object, refuse any other."""
    if not isinstance(value, dict):
        raise InputError(name, "an object", describe(value))
    return value


def url_fields(request: Request) -> dict[str, Any]:
    """Fields from the URL as they would be in JSON; `with` is a list, separated by commas."""
    fields: dict[str, Any] = {}
    for name, text in _url_pairs(request):
        if name in fields:
            raise InputError(clip(name), "one value", "several")
        fields[name] = text.split(",") if name == "with" else _json_or_text(text)
    return fields


def refuse_url_fields(request: Request) -> None:
    """Refuse what would be ignored: fields in the URL beside a JSON body."""
    for name, text in _url_pairs(request):
        raise UnknownField(clip(name), "no parameters in the URL beside a JSON body", f'"{clip(text)}"')


def refuse_unknown(fields: dict[str, Any], known: frozenset[str], where: str = "") -> None:
    """Refuse fields that are not known, naming the known ones."""
    if unknown := fields.keys() - known:
        raise UnknownField(f"{where}{clip(min(unknown))}", f"one of {', '.join(sorted(known))}", "an unknown field")


def _url_pairs(request: Request) -> list[tuple[str, str]]:
    raw: bytes = request.scope["query_string"]
    return parse_qsl(raw.decode("latin-1"), keep_blank_values=True) if raw else []


def _json_or_text(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text  # and whoever wants a number refuses it


def _too_large(limit: int, received: str) -> Problem:
    parts = {"parameter": "body", "expected": f"at most {limit} bytes", "received": received}
    return Problem("body_too_large", f"body: expected at most {limit} bytes, got {received}", parts)
