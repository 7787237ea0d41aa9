"""The JSON schema of a filter, for those who document where filters are taken."""

from typing import Any

from hubless.filters.grammar import COMBINATIONS, FIELD, OPERATORS

Json = dict[str, Any]
_VALUE: Json = {
    "anyOf": [{"type": "boolean"}, {"type": "number"}, {"type": "string"}],
    "description": "As the column's type asks.",
}
_TAKEN: dict[str, Json] = {
    "in": {"type": "array", "items": _VALUE, "description": "One of these."},
    "exists": {"type": "boolean", "description": "Whether there is a value."},
    "contains": {**_VALUE, "description": "A list has this element."},
    "prefix": {"type": "string", "description": "A string begins so."},
}
_MEANINGS = {"and": "All filters hold.", "or": "At least one filter holds.", "not": "The filter does not hold."}


def filter_schema(reference: str) -> Json:
    """The JSON schema of all filters that `parse_filter` takes, for some payload.

    Parameters
    ----------
    reference : where the schema stands, as filters are made of filters
    """
    return {
        "anyOf": [_condition(), *(_combination(name, {"$ref": reference}) for name in COMBINATIONS)],
        "description": "Which targets: by their payload; see docs/filters.md.",
    }


def _condition() -> Json:
    field = {"type": "string", "description": "A payload column."}
    return {
        "title": "Condition",
        "description": "What is asked of a payload column: all operators have to hold.",
        "type": "object",
        "properties": {FIELD: field} | {name: _TAKEN.get(name, _VALUE) for name in OPERATORS},
        "required": [FIELD],
        "minProperties": 2,
        "additionalProperties": False,
    }


def _combination(name: str, part: Json) -> Json:
    parts = part if name == "not" else {"type": "array", "items": part}
    return {
        "title": name,
        "description": _MEANINGS[name],
        "type": "object",
        "properties": {name: parts},
        "required": [name],
        "additionalProperties": False,
    }
