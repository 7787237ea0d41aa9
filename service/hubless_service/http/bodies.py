"""Bodies and URLs of requests: received, parsed, and checked by their models."""

import asyncio
from collections.abc import Collection
from functools import partial
from time import perf_counter
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import orjson
from starlette.requests import ClientDisconnect

from hubless.errors import InputError, UnknownField
from hubless_service.http import heavy
from hubless_service.http.heavy import check_nesting, check_shape, check_whole_numbers
from hubless_service.http.problems import HttpProblem, clip
from hubless_service.http.requests import JSON, RequestModel, read
from hubless_service.http.trace import Trace
from hubless_service.http.values import Json, Subject
from hubless_service.settings import Settings

_R = TypeVar("_R", bound=RequestModel)


async def read_body(trace: Trace, model: type[_R], subject: Subject, *, required: bool) -> _R:
    """Receive and check a body, in the thread for heavy work if it is large. Raises why it is refused."""
    kind = media_type(trace, *model.kinds) if required else ""
    body = await receive(trace, subject.settings, large=model.large)
    if not required:
        kind, body = (media_type(trace, *model.kinds), body) if body else (JSON, b"{}")
    started = perf_counter()
    try:
        if kind != JSON:
            url = url_fields(trace)
            return await heavy.run(len(body), partial(model.of_bytes, kind, body, url, subject))
        if trace.scope["query_string"]:  # which would be ignored
            for name, text in _url_pairs(trace):
                raise UnknownField(clip(name), "no parameters in the URL beside a JSON body", f'"{clip(text)}"')
        if len(body) <= heavy.LIGHT:
            return read(model, parse(body, stored=model.stored), subject)
        return await heavy.run(len(body), lambda: read(model, parse(body, stored=model.stored), subject))
    finally:
        trace.add("parse", perf_counter() - started)


async def receive(trace: Trace, settings: Settings, *, large: bool = False) -> bytes:
    """Return the body. Raises `body_too_large` and `request_timeout`, and `ClientDisconnect` if the client hangs up."""
    limit = settings.max_body_bytes if large else min(settings.max_query_bytes, settings.max_body_bytes)
    if (whole := trace.whole_body()) is not None:
        if len(whole) > limit:
            raise _too_large(limit, f"{len(whole)} bytes")
        return whole
    announced = trace.heads.get(b"content-length", b"")
    if announced.isdigit() and int(announced) > limit:
        raise _too_large(limit, f"{int(announced)} bytes")
    parts: list[bytes] = []
    size = 0
    more = True
    try:
        async with asyncio.timeout(settings.receive_seconds):
            while more:
                message = await trace.receive()  # `Request.stream` costs more than a small body does
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > limit:
                    raise _too_large(limit, "more")
                more = message.get("more_body", False)
    except TimeoutError as error:
        detail = f"The body did not come within {settings.receive_seconds:g} seconds."
        # the rest of the body must not be read as the next request
        raise HttpProblem("request_timeout", detail, headers={"Connection": "close"}) from error
    return b"".join(parts)


def media_type(trace: Trace, *accepted: str) -> str:
    """Return the type of the body. Raises `unsupported_media_type` unless it is accepted, and not compressed."""
    coding, sent = [trace.heads.get(name, b"").decode("latin-1") for name in (b"content-encoding", b"content-type")]
    if coding not in ("", "identity"):
        raise HttpProblem("unsupported_media_type", f"content-encoding: expected none, got {clip(coding)}")
    if sent in accepted:
        return sent
    kind = sent.partition(";")[0].strip().lower()
    if kind not in accepted:
        expected = " or ".join(accepted)
        raise HttpProblem("unsupported_media_type", f"content-type: expected {expected}, got {clip(sent) or 'none'}")
    return kind


def parse(body: bytes, *, stored: bool = False) -> Any:
    """Return the JSON value of a body. Raises `malformed_body`, or `InputError` for too much or too deep nesting.

    In a body that is `stored`, also for whole numbers that would be rounded.
    """
    if len(body) > heavy.LIGHT:
        check_shape(body)
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise HttpProblem("malformed_body", f"The body is not JSON: {error}") from error
    check_nesting(body)
    if stored:
        check_whole_numbers(body)
    return document


def url_fields(trace: Trace, texts: Collection[str] = ()) -> Json:
    """Return the fields of the URL as JSON values, but for texts; `with` is a list, by commas or repeated.

    Raises `InputError` for a field that stands twice.
    """
    fields: Json = {}
    for name, text in _url_pairs(trace):
        if name == "with":
            fields[name] = [*fields.get(name, ()), *text.split(",")]
        elif name in fields:
            raise InputError(clip(name), "one value", "several")
        else:
            fields[name] = text if name in texts else _json_or_text(name, text)
    return fields


def _url_pairs(trace: Trace) -> list[tuple[str, str]]:
    raw: bytes = trace.scope["query_string"]
    return parse_qsl(raw.decode("latin-1"), keep_blank_values=True) if raw else []


def _json_or_text(name: str, text: str) -> Any:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text  # a field that wants a number refuses it
    check_nesting(text.encode(), clip(name))
    return value


class _TooLarge(InputError):
    code = "body_too_large"


def _too_large(limit: int, received: str) -> InputError:
    return _TooLarge("body", f"at most {limit} bytes", received)
