"""Filters of LangChain as JSON filters of hubless. An absent value differs from every value."""

from collections.abc import Callable, Mapping
from typing import Any

from hubless_client import CannotSend

Json = dict[str, Any]

_JOINED: dict[str, Callable[[list[Any]], Json]] = {
    "and": lambda parts: {"and": parts},
    "or": lambda parts: {"or": parts},
    "not": lambda parts: {"not": parts[0] if len(parts) == 1 else {"and": parts}},
    "$and": lambda parts: {"and": parts},
    "$or": lambda parts: {"or": parts},
    "$not": lambda parts: {"not": {"and": parts}},
    "$nor": lambda parts: {"not": {"or": parts}},
}
_TESTS: dict[str, Callable[[str, Any], Json]] = {
    "$eq": lambda key, value: _equal(key, value),
    "$ne": lambda key, value: {"not": _equal(key, value)},
    "$gt": lambda key, value: {"field": key, "gt": value},
    "$gte": lambda key, value: {"field": key, "gte": value},
    "$lt": lambda key, value: {"field": key, "lt": value},
    "$lte": lambda key, value: {"field": key, "lte": value},
    "$in": lambda key, value: {"field": key, "in": value},
    "$nin": lambda key, value: {"not": {"field": key, "in": value}},
    "$between": lambda key, value: _between(key, value),
    "$contains": lambda key, value: {"field": key, "contains": value},
    "$exists": lambda key, value: {"field": key, "exists": value},
}


def filter_of(given: Any) -> Any:
    """The JSON filter of one with `$eq` and its like, which may also be one of hubless; None for no condition.

    Raises
    ------
    CannotSend : it is no mapping, or an operator has no counterpart
    """
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise CannotSend(f'filter: expected a dict, such as {{"year": {{"$gte": 2000}}}}, got {type(given).__name__}')
    if "field" in given or not given:
        return dict(given)
    parts = [_part(name, value) for name, value in given.items()]
    return parts[0] if len(parts) == 1 else {"and": parts}


def _part(name: str, value: Any) -> Json:
    filters = value if isinstance(value, list) else [value]
    if name in _JOINED and all(isinstance(each, Mapping) for each in filters):
        return _JOINED[name]([filter_of(each) for each in filters])
    if not isinstance(value, Mapping):
        return {name: value}
    if unknown := [operator for operator in value if operator not in _TESTS]:
        raise CannotSend(f"filter: expected operators of {', '.join(_TESTS)}, got {unknown[0]!r} of {name!r}")
    tests = [_TESTS[operator](name, each) for operator, each in value.items()]
    return tests[0] if len(tests) == 1 else {"and": tests}


def _equal(key: str, value: Any) -> Json:
    return {"field": key, "exists": False} if value is None else {"field": key, "eq": value}


def _between(key: str, value: Any) -> Json:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise CannotSend(f"filter: expected two values of {key!r} for $between, got {value!r:.80}")
    return {"field": key, "gte": value[0], "lte": value[1]}
