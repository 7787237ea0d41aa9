"""Bodies of requests: JSON, or vectors as plain bytes."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from hubless_client.call import Content
from hubless_client.errors import CannotSend
from hubless_client.values import as_json

Item = TypeVar("Item")


def in_bytes(packed: bytes, params: Mapping[str, Any]) -> Content:
    """Vectors alone as the body. Everything else is in the URL."""
    return Content(params, packed, "application/octet-stream")


def in_json(document: Mapping[str, Any], if_match: str | None = None) -> Content:
    """A JSON document as the body.

    Raises
    ------
    CannotSend : it holds NaN, infinity, or a value that JSON has no form for; names its place
    """
    return Content(body=as_json(document), media_type="application/json", if_match=if_match)


def wanted(payload: bool | Sequence[str], vector: bool) -> list[str]:
    """Return the field `with`: the parts that the server sends with each target.

    Raises
    ------
    CannotSend : the payload is neither a bool nor a list of columns
    """
    if isinstance(payload, bool):
        columns = ["payload"] * payload
    else:
        columns = [
            f"payload.{column}" for column in listed("with_payload", payload, "True, False, or a list of columns")
        ]
    return [*columns, *["vector"] * vector]


def listed(parameter: str, values: Iterable[Item], expected: str = "a list") -> list[Item]:
    """The values as a list.

    Raises
    ------
    CannotSend : they are none; a string is one value, not a list of letters, and a mapping no list of its keys
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise CannotSend(f"{parameter}: expected {expected}, got {type(values).__name__} {values!r:.80}")
    return list(values)


def content_of(parameter: str, file: bytes | str | PathLike[str]) -> bytes:
    """The bytes of a file, or those that are given in its place.

    Raises
    ------
    CannotSend : it is neither, or cannot be read
    """
    if isinstance(file, bytes):
        return file
    if not isinstance(file, str | PathLike):
        raise CannotSend(f"{parameter}: expected bytes, or the path of a file, got {type(file).__name__}")
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise CannotSend(f"{parameter}: expected a file that can be read, got {file}: {error.strerror}") from error
