"""Values of `--set NAME=VALUE`, checked against the parameters of a function of the library."""

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Any, Literal, NoReturn, Union, get_args, get_origin

import typer

SET = "--set"
_SHORT_NUMBER = re.compile(r"[+-]?\.[0-9]+")
_WORDS = {int: "a whole number", float: "a number", bool: "true or false"}


def parameters_of(function: Callable[..., Any], skip: Iterable[str] = ()) -> dict[str, Any]:
    """Return the types of a function's parameters by name, without `progress` and those to skip."""
    left_out = {"self", "progress", *skip}
    return {
        name: parameter.annotation
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in left_out and parameter.kind is not parameter.VAR_KEYWORD
    }


def read_settings(given: Sequence[str] | None, known: Mapping[str, Any], *, others: bool = False) -> dict[str, Any]:
    """Return the values of `--set NAME=VALUE` by name. `NAME.KEY=VALUE` adds to a mapping, `a,b` makes a list.

    `known` has types by name; `Any` reads JSON. With `others` unknown names are taken too. Raises a usage error that
    lists the known names, or says which type a value should have.
    """
    values: dict[str, Any] = {}
    for each in given or ():
        left, equals, text = each.partition("=")
        name, dot, key = left.partition(".")
        name = name.replace("-", "_")
        if not equals or not name or (dot and not key):
            _refuse(f"expected NAME=VALUE, got {each}")
        types = _members(known[name]) if name in known else (Any,) if others and not dot else ()
        if not types:
            _refuse(_unknown(name, known))
        if not dot:
            values[name] = _value(name, text, types)
            continue
        mapping = next((one for one in types if get_origin(one) is Mapping or one is Mapping), None)
        if mapping is None:
            _refuse(f"{name} takes one value, {name}=VALUE, got {each}")
        values.setdefault(name, {})[key] = _value(left, text, _members((*get_args(mapping), Any)[1]))
    return values


def parse_value(text: str) -> Any:
    """Return a JSON value such as `64`, `0.5` or `null`, or a number such as `.5`. Anything else is a string."""
    if _SHORT_NUMBER.fullmatch(text):
        return float(text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _members(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _value(name: str, text: str, types: tuple[Any, ...]) -> Any:
    value = parse_value(text)
    if Any in types:
        return value
    if bool in types and isinstance(value, bool):
        return value
    if (int in types or float in types) and isinstance(value, int) and not isinstance(value, bool):
        return value
    if float in types and isinstance(value, float):
        return value
    if str in types:
        return text
    if Path in types:
        return Path(text)
    for one in types:
        if get_origin(one) is Literal and text in get_args(one):
            return text
        if get_origin(one) is Sequence:
            return [_value(name, part, _members(get_args(one)[0])) for part in text.split(",")]
    return _refuse(f"{name}: expected {' or '.join(filter(None, map(_in_words, types)))}, got {text}")


def _in_words(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return "one of " + ", ".join(map(str, get_args(annotation)))
    return _WORDS.get(annotation, "")


def _unknown(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), 1)
    hint = f", did you mean {near[0]}?" if near else "."
    return f"there is no {name}{hint} Known: {', '.join(sorted(known))}"


def _refuse(message: str) -> NoReturn:
    raise typer.BadParameter(message, param_hint=SET)
