"""Answers → dataclasses. A field is declared once: its type says how it is read from JSON.

A field that a newer server adds is ignored. A field that is missing makes a `BadAnswer`, unless it has a default.
"""

import types
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, Generic, Self, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from hubless_client.call import Json
from hubless_client.vectors import as_array

T = TypeVar("T")
_REQUEST_ID = "request_id"


class _Vector(Generic[T]):
    """Stands for `array`, which Python 3.11 does not subscript."""


class Record:
    """A dataclass that is read from an answer, or from a part of one."""

    __slots__ = ()

    @classmethod
    def from_json(cls, body: Json, request_id: str | None = None) -> Self:
        """Read it."""
        return read(cls, body, request_id)


def read(kind: type[T], body: Json, request_id: str | None = None) -> T:
    """Read the fields of a dataclass. The answer's header has the `request_id`."""
    always, sometimes, has_id = _readers(cast(type, kind))
    values = {name: reader(body[name]) for name, reader in always}
    values |= {name: reader(body[name]) for name, reader in sometimes if name in body}
    return kind(**values, **({_REQUEST_ID: request_id} if has_id else {}))


Readers = list[tuple[str, Callable[[Any], Any]]]


@cache
def _readers(kind: type) -> tuple[Readers, Readers, bool]:
    """Return the readers of the fields without a default, and with one; and whether there is a request id."""
    types_of = get_type_hints(kind, localns={"array": _Vector})
    of_fields = fields(kind)
    given: tuple[Readers, Readers] = ([], [])
    for field in of_fields:
        if field.name != _REQUEST_ID:
            given[field.default is not MISSING].append((field.name, _reader(types_of[field.name])))
    return *given, any(field.name == _REQUEST_ID for field in of_fields)


def _reader(kind: Any) -> Callable[[Any], Any]:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        others = [each for each in arguments if each is not types.NoneType]
        inner = _reader(others[0]) if len(others) == 1 else _as_it_is
        return inner if inner is _as_it_is else lambda value: None if value is None else inner(value)
    if origin is tuple:
        element = _reader(arguments[0])
        return tuple if element is _as_it_is else lambda value: tuple(map(element, value))
    if origin is _Vector:
        return _numbers
    if kind is datetime:
        return datetime.fromisoformat
    if is_dataclass(kind):
        made: Callable[[Any], Any] = getattr(kind, "from_json", lambda value: read(cast(type, kind), value))
        return made
    return _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def _numbers(value: Any) -> Any:
    if (vector := as_array(value)) is None:
        raise TypeError("vector: expected numbers, got none")
    return vector
