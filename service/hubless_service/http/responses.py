"""Answers as bytes of JSON."""

import base64
from collections.abc import Callable, Mapping
from datetime import date, time
from time import perf_counter
from typing import Any

import orjson
from fastapi import Response
from pydantic import BaseModel

from hubless_service.http import heavy
from hubless_service.http.trace import Trace


class _Json(Response):
    """JSON, without what Starlette does to find out its headers."""

    media_type = "application/json"

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        """Set length and type, and other headers if there are any."""
        if headers is not None:
            super().init_headers(headers)
        else:
            self.raw_headers = [(b"content-length", b"%d" % len(self.body)), (b"content-type", b"application/json")]


def send(document: Mapping[str, Any], headers: Mapping[str, str] | None = None, status: int = 200) -> Response:
    """Send a document. Payload may hold whatever Arrow does."""
    return _Json(encode(document), status, headers)


async def send_heavy(weight: int, make: Callable[[], Mapping[str, Any]], trace: Trace | None = None) -> Response:
    """Make a document and send it with status 200, apart from the event loop if it is heavy."""
    started = perf_counter()
    try:
        if weight <= heavy.LIGHT:
            return _Json(encode(make()))
        return _Json(await heavy.run(weight, lambda: _in_parts(make())))
    finally:
        if trace:
            trace.add("serialise", perf_counter() - started)


def _in_parts(value: Any) -> bytes:
    """The JSON of a large document, written hit by hit: while orjson writes, no other thread can run."""
    if isinstance(value, dict) and "id" not in value:
        return b"{" + b",".join(encode(name) + b":" + _in_parts(inner) for name, inner in value.items()) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(_in_parts(inner) for inner in value) + b"]"
    return encode(value)


def encode(value: Any) -> bytes:
    """JSON of a value. Payload may hold whatever Arrow does."""
    # orjson writes a time of 0.086 s as 00:00:00.86000
    return orjson.dumps(value, _plain, orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_PASSTHROUGH_DATETIME)


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, date | time):
        return value.isoformat()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
