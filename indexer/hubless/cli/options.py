"""Options that commands share, values of `--set`, and what they examine: files or a collection."""

import inspect
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NoReturn, Union, Unpack, get_args, get_origin

import typer

import hubless
from hubless.builder.written_corrections import parse_value
from hubless.diagnosing.gallery import Gallery, gallery_of, open_gallery
from hubless.errors import TAKEN
from hubless.vectors.comparing import Metric

CATALOG_VARIABLE = "HUBLESS_CATALOG"
"""Names the catalog where the option is left out; `serve` has it too."""

CatalogOption = Annotated[
    Path, typer.Option("--catalog", metavar="DIR", envvar=CATALOG_VARIABLE, help="Folder that holds collections.")
]
CatalogIfAny = Annotated[Path | None, typer.Option("--catalog", metavar="DIR", help="Folder that holds collections.")]
CollectionOption = Annotated[str, typer.Option("--collection", metavar="NAME", help="Name of the collection.")]
CollectionIfAny = Annotated[
    str | None, typer.Option("--collection", metavar="NAME", help="A collection instead of files.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
VersionOption = Annotated[
    str | None, typer.Option("--version", metavar="ID", help="A version instead of the current one.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Another parameter, as in Python; repeatable. docs/cli.md."),
]
MetricOption = Annotated[
    Metric,
    typer.Option(
        metavar="cosine|dot|euclidean", help="cosine scales vectors to length 1; euclidean ranks by distance."
    ),
]
TargetsIfAny = Annotated[
    Path | None, typer.Option("--targets", metavar="FILE", help="What can be found: .npy, .npz, .parquet or a folder.")
]
BankOption = Annotated[
    Path | None,
    typer.Option("--query-bank", metavar="FILE", help="Example queries, none of whose right targets is a target."),
]

OF_GALLERY = ("targets", "metric", "ids", "payload")
"""Parameters that say what is examined."""
EXAMINED: dict[str, Any] = {"ids": Path, "payload": Path, "metric": Metric, "version": str}
"""Values of `--set` beside `--targets` or `--collection`."""


def examined_from(
    values: dict[str, Any], targets: Path | None, catalog: Path | None, collection: str | None
) -> Gallery:
    """Open what is examined. Take what says so, the names of `EXAMINED`, out of the values of `--set`.

    Raises a usage error.
    """
    ids, payload, version = (values.pop(name, None) for name in ("ids", "payload", "version"))
    metric = values.pop("metric", "cosine")
    if (collection is None) == (targets is None):
        raise typer.BadParameter("give either --targets or --collection", param_hint="--targets")
    if targets is not None:
        refuse("--targets", {"catalog": catalog, "set version": version})
        return open_gallery(targets, ids=ids, payload=payload, metric=metric)
    refuse("--collection, which has its own", {"set ids": ids, "set payload": payload})
    return gallery_of(chosen_collection(catalog, collection or "", version))


def refuse(option: str, others: dict[str, Any]) -> None:
    """Raise a usage error if one of the others is given beside an option."""
    for name, value in others.items():
        if value:
            raise typer.BadParameter(f"cannot be combined with {option}", param_hint=f"--{name}")


def chosen_collection(catalog: Path | None, collection: str, version: str | None = None) -> hubless.Collection:
    """Open a collection in the catalog that was given, or in that of the environment. A usage error without either."""
    if (where := catalog or os.environ.get(CATALOG_VARIABLE)) is None:
        raise typer.BadParameter("--collection needs the catalog that holds it", param_hint="--catalog")
    return hubless.open(where, collection, version=version)


def check_choice(value: str, names: Collection[str], option: str) -> None:
    """Raise a usage error unless the value of an option is one of some names."""
    if value not in names:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(names)}", param_hint=option)


SET = "--set"
_SETTING = re.compile(r"(?s)(?P<name>[^.=]+)(\.(?P<key>[^=]+))?=(?P<text>.*)")
_WORDS = {int: "a whole number", float: "a number", bool: "true or false"}
_TAKEN_BY: dict[type, set[Any]] = {bool: {bool}, int: {int, float}, float: {float}}
"""Types of parameters that take a value of JSON as it is."""


def parameters_of(function: Callable[..., Any], skip: Iterable[str] = ()) -> dict[str, Any]:
    """Return the types of a function's parameters by name, without `progress` and those to skip.

    Those of a record, `**settings: Unpack[Record]`, are among them.
    """
    types = dict[str, Any]()
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not parameter.VAR_KEYWORD:
            types[name] = parameter.annotation
        for record in get_args(parameter.annotation) if get_origin(parameter.annotation) is Unpack else ():
            types |= record.__annotations__
    return {name: kind for name, kind in types.items() if name not in {"self", "progress", *skip}}


def read_settings(given: Sequence[str] | None, known: Mapping[str, Any], *, others: bool = False) -> dict[str, Any]:
    """Return the values of `--set NAME=VALUE` by name. `NAME.KEY=VALUE` adds to a mapping, `a,b` makes a list.

    `known` has types by name; `Any` reads JSON. With `others` unknown names are taken too. Raises a usage error that
    lists the known names, or says which type a value should have.
    """
    TAKEN.set({**(TAKEN.get() or {}), **dict.fromkeys(known, f"{SET} {{parameter}}={{value}}")})
    values: dict[str, Any] = {}
    for each in given or ():
        setting = _SETTING.fullmatch(each)
        if setting is None:
            _refuse(f"expected NAME=VALUE, got {each}")
        name = setting["name"].replace("-", "_")
        key = setting["key"]
        text = setting["text"]
        if name not in known and not (others and key is None):
            _refuse(_unknown(name, known))
        types = _members(known.get(name, Any))
        if key is None:
            values[name] = _value(name, text, types)
            continue
        mapping = next((one for one in types if get_origin(one) is Mapping or one is Mapping), None)
        if mapping is None or not isinstance(values.get(name, {}), dict):
            _refuse(f"{name} takes one value, {name}=VALUE, got {each}")
        values.setdefault(name, {})[key] = _value(f"{name}.{key}", text, _members((*get_args(mapping), Any)[1]))
    return values


def _members(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _value(name: str, text: str, types: tuple[Any, ...]) -> Any:
    value = parse_value(text)
    if Any in types or _TAKEN_BY.get(type(value), set()).intersection(types):
        return value
    if made := next((one for one in (str, Path) if one in types), None):
        return made(text)
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
