"""The JSON schemas of filters, for those who document where filters are taken."""

from typing import Any

from hubless.filters.operators import OPERATORS, RESERVED
from hubless.filters.words import COMBINATIONS, FIELD

_Json = dict[str, Any]
_VALUE: _Json = {
    "anyOf": [{"type": "boolean"}, {"type": "number"}, {"type": "string"}],
    "description": "As the column's type asks.",
}
_MEANINGS = {"and": "All filters hold.", "or": "At least one filter holds.", "not": "The filter does not hold."}


def filter_schemas(reference: str) -> dict[str, _Json]:
    """Return the JSON schemas of `Filter` and its parts, by name. They refer to each other by `reference`."""

    def refer(name: str) -> _Json:
        return {"$ref": reference.format(model=name)}

    parts = {f"Filter{name.title()}": name for name in COMBINATIONS}
    return {
        "Filter": {
            "anyOf": [refer("FilterCondition"), *map(refer, parts), refer("FilterShort")],
            "description": "Which targets: by their payload; see docs/filters.md.",
        },
        "FilterValue": _VALUE,
        "FilterCondition": _condition(refer("FilterValue")),
        **{part: _combination(name, refer("Filter")) for part, name in parts.items()},
        "FilterShort": _short(refer("FilterValue")),
    }


def _condition(value: _Json) -> _Json:
    taken: dict[str, _Json] = {
        FIELD: {"type": "string", "description": "A payload column."},
        **{
            name: asked.argument.schema(value) | {"description": f"The value {asked.says}."}
            for name, asked in OPERATORS.items()
        },
    }
    return {
        "description": "What is asked of a payload column: all operators have to hold.",
        "type": "object",
        "properties": taken,
        "required": [FIELD],
        "minProperties": 2,
        "additionalProperties": False,
    }


def _combination(name: str, part: _Json) -> _Json:
    return {
        "description": _MEANINGS[name],
        "type": "object",
        "properties": {name: part if name == "not" else {"type": "array", "items": part}},
        "required": [name],
        "additionalProperties": False,
    }


def _short(value: _Json) -> _Json:
    return {
        "description": "Payload columns and their values, or lists of values. Columns named like an operator, "
        f"{FIELD}, {', '.join(COMBINATIONS[:-1])} or {COMBINATIONS[-1]} need the full form.",
        "type": "object",
        "additionalProperties": {"anyOf": [value, {"type": "array", "items": value}]},
        "propertyNames": {"not": {"enum": list(RESERVED)}},
        "minProperties": 1,
    }
