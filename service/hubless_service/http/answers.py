"""Answers as bytes of JSON."""

import base64
from collections.abc import Mapping
from typing import Any

import orjson
from fastapi import Response


def answer(document: dict[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """Send a document with status 200."""
    return Response(encode(document), headers=headers, media_type="application/json")


def encode(document: dict[str, Any]) -> bytes:
    """Write a document; payload may hold whatever Arrow does."""
    return orjson.dumps(document, _as_text, orjson.OPT_SERIALIZE_NUMPY)


def _as_text(value: object) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
