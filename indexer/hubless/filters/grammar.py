"""Reads the JSON of a filter, and checks it against the payload's schema.

    filter     {"and": [filter, …]} | {"or": [filter, …]} | {"not": filter} | condition | short
    condition  {"field": name, operator: value, …}        all its operators must hold
    operator   a name in the table of `operators`
    short      {name: value, …}                           all are equal, or in a list of values

An object is short if none of its names is a word of the full form: a combination, `field` or an operator. In the full
form the name of a column is a value, so a column may be called `and` or `in`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa

from hubless.errors import InputError, UnknownField, names_of
from hubless.filters.conditions import Condition, Joined, Mask, Node, Opposite, Test
from hubless.filters.free import KeyCondition, Which
from hubless.filters.kinds import ValueKind, family_of, kind_of, plain_of
from hubless.filters.operators import EQUAL_TO, ONE_OF, OPERATORS, RESERVED, Operator
from hubless.filters.shown import cut, shown
from hubless.filters.words import COMBINATIONS, FIELD
from hubless.vectors.free_payload import is_free

_OF_OTHERS = "; docs/filters.md shows how filters of other programs are written here"


@dataclass(frozen=True)
class FilterLimits:
    """Limits of a filter: levels of filters within filters, operators and combinations in all, values of one `in`."""

    depth: int = 10
    conditions: int = 256
    values: int = 10_000


FILTER_LIMITS = FilterLimits()


@dataclass(frozen=True)
class Filter:
    """Conditions on targets. Filters with the same `key`, the JSON in the full form, are equal."""

    key: str
    root: Node = field(compare=False, repr=False)

    def mask(self, rows: pa.RecordBatch) -> Mask:
        return self.root.mask(rows)


def parse_filter(
    document: Any, schema: pa.Schema, limits: FilterLimits = FILTER_LIMITS, name: str = "filter"
) -> Filter:
    """Read a filter from its JSON, checked against the schema of the payload. `name` is what errors call it.

    Raises `InputError` and `UnknownField`.
    """
    root = _Parser(schema, limits, name).node(document, name, 1)
    try:
        return Filter(json.dumps(_full(document), sort_keys=True), root)
    except ValueError as error:
        raise InputError(name, "numbers of at most some thousand digits", "a longer one") from error


class _Parser:
    def __init__(self, schema: pa.Schema, limits: FilterLimits, name: str) -> None:
        self._schema = schema
        self._limits = limits
        self._name = name
        self._conditions = 0

    def node(self, document: Any, where: str, depth: int) -> Node:
        """Read a filter: a condition, or a combination of filters. `where` names it in messages.

        Raises `InputError` for what is no filter, or one that is too deep or has too many conditions.
        """
        if depth > self._limits.depth:
            raise InputError(self._name, f"filters nested at most {self._limits.depth} deep", "deeper ones")
        members = _object(document, where)
        self._count(len(members) - 1 if FIELD in members else len(members) if _is_short(members) else 1)
        if FIELD in members:
            return self._conditions_on(members, where)
        if _is_short(members):
            return self._short(members, where)
        if len(members) != 1:
            expected = f"one of {', '.join(COMBINATIONS)}, or {FIELD} with its operators{_OF_OTHERS}"
            raise InputError(where, expected, cut(f"an object of {', '.join(members) or 'nothing'}"))
        ((name, inner),) = members.items()
        place = f"{where}.{name}"
        match name:
            case "and" | "or":
                return Joined(self._nodes(inner, place, depth), name == "and")
            case "not":
                return Opposite(self.node(inner, place, depth + 1))
        raise InputError(where, f"{FIELD} beside {name}", "none")

    def _count(self, conditions: int) -> None:
        self._conditions += conditions
        if self._conditions > self._limits.conditions:
            raise InputError(self._name, f"at most {self._limits.conditions} conditions", "more")

    def _nodes(self, document: Any, where: str, depth: int) -> tuple[Node, ...]:
        if not isinstance(document, list):
            raise InputError(where, "a list of filters", shown(document))
        return tuple(self.node(inner, f"{where}[{i}]", depth + 1) for i, inner in enumerate(document))

    def _conditions_on(self, members: Mapping[str, Any], where: str) -> Node:
        name = members[FIELD]
        if not isinstance(name, str):
            raise InputError(f"{where}.{FIELD}", "the name of a payload column", shown(name))
        if not self._is_known(name):
            known = f"one of {names_of(self._schema.names)}" if self._schema.names else "none, as there is no payload"
            raise UnknownField(f"{where}.{FIELD}", known, shown(name))
        asked = [member for member in members if member != FIELD]
        if not asked:
            raise InputError(where, f"an operator beside {FIELD}: {', '.join(OPERATORS)}", "none")
        parts = [self._condition(name, member, members[member], f"{where}.{cut(member)}") for member in asked]
        return parts[0] if len(parts) == 1 else Joined(tuple(parts))

    def _short(self, members: Mapping[str, Any], where: str) -> Node:
        for name, value in members.items():
            place = f"{where}.{cut(name)}"
            if not self._is_known(name):
                known = ", ".join((*COMBINATIONS, FIELD, *self._schema.names))
                raise UnknownField(place, f"one of {known}{_OF_OTHERS}", "an unknown member")
            if any(isinstance(one, dict) for one in (value if isinstance(value, list) else [value])):
                expected = f'a value, a list of values, or {{"{FIELD}": name, operator: value}} around it{_OF_OTHERS}'
                raise InputError(place, expected, shown(value))
        return Joined(
            tuple(
                self._condition(name, _operator_of(value), value, f"{where}.{cut(name)}")
                for name, value in members.items()
            )
        )

    def _is_known(self, name: str) -> bool:
        return is_free(self._schema) or name in self._schema.names

    def _condition(self, name: str, member: str, value: Any, place: str) -> Node:
        operator = OPERATORS.get(member)
        if operator is None:
            raise UnknownField(place, f"one of {', '.join(OPERATORS)}{_OF_OTHERS}", "an unknown operator")
        if is_free(self._schema):
            return KeyCondition(name, self._key_test(operator, value, place))
        return Condition(name, self._test(name, operator, value, place))

    def _key_test(self, operator: Operator, value: Any, place: str) -> Which:
        argument = operator.argument.read(value, place, lambda one, where: one, self._limits.values)
        try:
            text = json.dumps(argument, ensure_ascii=False)
            text.encode()  # fails for half a surrogate pair
            return operator.key_test(argument)
        except InputError as error:
            raise InputError(place, error.expected, shown(value)) from error
        except (TypeError, ValueError) as error:
            raise InputError(place, "a value of JSON", shown(value)) from error

    def _test(self, name: str, operator: Operator, value: Any, place: str) -> Test:
        stored = self._schema.field(name).type
        family = family_of(stored)
        if family not in operator.families:
            known = [each.name for each in OPERATORS.values() if family in each.families]
            raise InputError(place, f'{" or ".join(known)}, as field "{cut(name)}" is {stored}', operator.name)
        values = plain_of(stored)
        kind: Any = kind_of(values)  # None for columns of which no value is read
        read = partial(_read, kind=kind, stored=values, field=f'as field "{cut(name)}" is {stored}')
        return operator.test(operator.argument.read(value, place, read, self._limits.values), values, kind)


def _is_short(members: Mapping[str, Any]) -> bool:
    return bool(members) and not any(name in RESERVED for name in members)


def _operator_of(value: Any) -> str:
    return ONE_OF if isinstance(value, list) else EQUAL_TO


def _full(document: dict[str, Any]) -> dict[str, Any]:
    if FIELD in document:
        return document
    if _is_short(document):
        parts = [{FIELD: name, _operator_of(value): value} for name, value in document.items()]
        return parts[0] if len(parts) == 1 else {"and": parts}
    ((name, inner),) = document.items()
    return {name: _full(inner) if name == "not" else [_full(one) for one in inner]}


def _read(value: Any, place: str, kind: ValueKind, stored: pa.DataType, field: str) -> Any:
    try:
        return kind.read(value, stored)
    except (TypeError, ValueError, OverflowError) as error:
        hint = "; exists asks for null" if value is None else ""
        raise InputError(place, f"{kind.says}, {field}{hint}", shown(value)) from error


def _object(document: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(document, dict) or not all(isinstance(name, str) for name in document):
        raise InputError(where, f"an object{_OF_OTHERS}", shown(document))
    return document
