"""Metadata of documents. A collection has no columns for it, so all of it is read."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hubless_client import Point

_TYPES = {bool: "boolean", int: "long", float: "float", str: "keyword", list: "list", dict: "object"}


def without_prefix(field: str) -> str:
    """The name of a field without "meta."."""
    return field.removeprefix("meta.")


def values_of(points: Iterable[Point], field: str) -> list[Any]:
    """The values that documents have for a field; "a.b" is `b` of the object `a`."""
    found = (_value(metadata, without_prefix(field)) for metadata in _all(points))
    return [value for value in found if value is not None]


def types_of(points: Iterable[Point]) -> dict[str, dict[str, str]]:
    """The type of each field, of the first document that has it."""
    types: dict[str, dict[str, str]] = {}
    for metadata in _all(points):
        for field, value in metadata.items():
            if value is not None:
                types.setdefault(field, {"type": _TYPES[type(value)]})
    return types


def extremes_of(values: Sequence[Any]) -> dict[str, Any]:
    """The least and the greatest value; None if there is none.

    Raises
    ------
    ValueError : the values cannot be compared with each other
    """
    try:
        return {"min": min(values, default=None), "max": max(values, default=None)}
    except TypeError as error:
        raise ValueError(f"metadata_field: expected values that can be compared with each other: {error}") from error


def counts_of(points: Sequence[Point], fields: Iterable[str]) -> dict[str, int]:
    """Return the number of values of each field. Names come back without "meta."."""
    return {without_prefix(field): len(distinct_of(values_of(points, field))) for field in fields}


def page_of(values: Iterable[Any], part: str | None, start: int, size: int) -> tuple[list[Any], int]:
    """Some of the distinct values whose text contains a part, in capitals or not; and how many there are."""
    found = [value for value in distinct_of(values) if part is None or part.lower() in str(value).lower()]
    return found[start : start + size], len(found)


def distinct_of(values: Iterable[Any]) -> list[Any]:
    """Each value once, in order of its text. 1, 1.0, "1" and True are different values."""
    known = {(type(value).__name__, repr(value)): value for value in values}
    return sorted(known.values(), key=lambda value: (str(value), type(value).__name__))


def _all(points: Iterable[Point]) -> Iterator[dict[str, Any]]:
    for point in points:
        metadata = (point.payload or {}).get("meta")
        if isinstance(metadata, dict):
            yield metadata


def _value(metadata: Any, field: str) -> Any:
    if not isinstance(metadata, dict):
        return None
    first, dot, rest = field.partition(".")
    return metadata[field] if field in metadata else _value(metadata.get(first), rest) if dot else None
