"""Metadata filters as JSON filters of hubless. As in LlamaIndex, an absent value differs from every value."""

from collections.abc import Callable
from typing import Any

from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from hubless_client import CannotSend

Json = dict[str, Any]

_JOINED: dict[FilterCondition, Callable[[list[Json]], Json]] = {
    FilterCondition.AND: lambda parts: {"and": parts},
    FilterCondition.OR: lambda parts: {"or": parts},
    FilterCondition.NOT: lambda parts: {"not": {"or": parts}},
}

_TESTS: dict[FilterOperator, Callable[[str, Any], Json]] = {
    FilterOperator.EQ: lambda key, value: _equal(key, value),
    FilterOperator.NE: lambda key, value: {"not": _equal(key, value)},
    FilterOperator.GT: lambda key, value: {"field": key, "gt": value},
    FilterOperator.GTE: lambda key, value: {"field": key, "gte": value},
    FilterOperator.LT: lambda key, value: {"field": key, "lt": value},
    FilterOperator.LTE: lambda key, value: {"field": key, "lte": value},
    FilterOperator.IN: lambda key, value: {"field": key, "in": _listed(value)},
    FilterOperator.NIN: lambda key, value: {"not": {"field": key, "in": _listed(value)}},
    FilterOperator.CONTAINS: lambda key, value: {"field": key, "contains": value},
    FilterOperator.ANY: lambda key, value: {"or": [{"field": key, "contains": one} for one in _listed(value)]},
    FilterOperator.ALL: lambda key, value: {"and": [{"field": key, "contains": one} for one in _listed(value)]},
    FilterOperator.IS_EMPTY: lambda key, _: {"or": [{"field": key, "exists": False}, {"field": key, "eq": ""}]},
}


def filter_of(filters: MetadataFilters | None) -> Json | None:
    """The JSON filter; None for no condition.

    Raises
    ------
    CannotSend : an operator has no counterpart
    """
    if filters is None or not filters.filters:
        return None
    parts = [_part(each) for each in filters.filters]
    return _JOINED[FilterCondition(filters.condition or FilterCondition.AND)](parts)


def keys_of_lists(filters: MetadataFilters | None) -> set[str]:
    """The keys that filters look for elements in."""
    keys: set[str] = set()
    for each in [] if filters is None else filters.filters:
        if isinstance(each, MetadataFilters):
            keys |= keys_of_lists(each)
        elif each.operator in (FilterOperator.CONTAINS, FilterOperator.ANY, FilterOperator.ALL):
            keys.add(each.key)
    return keys


def among(key: str, values: list[str] | None) -> Json | None:
    """The filter that a key has one of these values; None for no condition."""
    return None if values is None else {"field": key, "in": values}


def all_of(*filters: Json | None) -> Json | None:
    """The filter that all of these hold; None for no condition."""
    parts = [each for each in filters if each is not None]
    return {"and": parts} if len(parts) > 1 else parts[0] if parts else None


def _part(each: MetadataFilter | MetadataFilters) -> Json:
    if isinstance(each, MetadataFilters):
        return filter_of(each) or {"and": []}
    if each.operator not in _TESTS:
        known = ", ".join(operator.value for operator in _TESTS)
        raise CannotSend(f"filters: expected one of the operators {known}, got {each.operator.value} of {each.key!r}")
    return _TESTS[each.operator](each.key, each.value)


def _equal(key: str, value: Any) -> Json:
    return {"field": key, "exists": False} if value is None else {"field": key, "eq": value}


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise CannotSend(f"filters: expected a list of values, got {value!r:.80}")
    return value
