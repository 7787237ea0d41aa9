"""Filters of Haystack as the JSON filters of hubless. An absent value equals None and differs from every other."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from haystack import Document
from haystack.errors import FilterError

Json = dict[str, Any]

_FIELDS = {field.name for field in fields(Document)}

_JOINED: dict[str, Callable[[list[Json]], Json]] = {
    "AND": lambda parts: {"and": parts},
    "OR": lambda parts: {"or": parts},
    "NOT": lambda parts: {"not": {"and": parts}},
}

_TESTS: dict[str, Callable[[str, Any], Json]] = {
    "==": lambda key, value: _equal(key, value),
    "!=": lambda key, value: {"not": _equal(key, value)},
    ">": lambda key, value: _ordered(key, "gt", value),
    ">=": lambda key, value: _ordered(key, "gte", value),
    "<": lambda key, value: _ordered(key, "lt", value),
    "<=": lambda key, value: _ordered(key, "lte", value),
    "in": lambda key, value: _among(key, value),
    "not in": lambda key, value: {"not": _among(key, value)},
}


def filter_of(filters: Mapping[str, Any] | None) -> Json | None:
    """The JSON filter; None for no condition.

    Raises
    ------
    FilterError : a key is missing, an operator is unknown, or a value is of the wrong type
    """
    return _part(filters) if filters else None


def _part(given: Any) -> Json:
    if not isinstance(given, Mapping):
        raise FilterError(f"filters: expected a dict, got {type(given).__name__} {given!r:.80}")
    operator = _member(given, "operator")
    if "field" in given:
        return _test(_key(given["field"]), operator, _member(given, "value"))
    if operator not in _JOINED:
        raise FilterError(
            f"filters: expected one of the operators {', '.join(_JOINED)}, got {operator!r} in {given!r:.80}"
        )
    return _JOINED[operator]([_part(each) for each in _member(given, "conditions")])


def _test(key: str, operator: str, value: Any) -> Json:
    if operator not in _TESTS:
        raise FilterError(f"filters: expected one of the operators {', '.join(_TESTS)}, got {operator!r} of {key!r}")
    return _TESTS[operator](key, value)


def _member(given: Mapping[str, Any], name: str) -> Any:
    if name not in given:
        raise FilterError(f"filters: expected a key {name!r} in {dict(given)!r:.80}")
    return given[name]


def _key(field: str) -> str:
    # "number" is short for "meta.number"
    return field if field in _FIELDS or field.startswith("meta.") else f"meta.{field}"


def _equal(key: str, value: Any) -> Json:
    return {"field": key, "exists": False} if value is None else {"field": key, "eq": _plain(value)}


def _ordered(key: str, operator: str, value: Any) -> Json:
    if value is None:
        return {"or": []}  # nothing is above or below None
    if isinstance(value, list) or (isinstance(value, str) and not _is_date(value)):
        raise FilterError(f"filters: expected a number or an ISO date to compare {key!r} with, got {value!r:.80}")
    return {"field": key, operator: _plain(value)}


def _among(key: str, values: Any) -> Json:
    if not isinstance(values, list):
        raise FilterError(f"filters: expected a list of values of {key!r}, got {type(values).__name__} {values!r:.80}")
    listed = {"field": key, "in": [_plain(value) for value in values if value is not None]}
    return {"or": [listed, {"field": key, "exists": False}]} if None in values else listed


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
