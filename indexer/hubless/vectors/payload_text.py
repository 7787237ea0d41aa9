"""Payload from texts: `.csv` and `.jsonl`. A type is guessed only where no character of a column is lost by it."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from hubless.errors import InputError

MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL"]
"""Texts of a CSV that stand for no value, in columns that are not strings."""
MOST_DIGITS = 15
"""A float64 gives so many digits back as they were."""
LINES = 10_000

TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamp[utc]": pa.timestamp("us", "UTC"),
    "list<string>": pa.list_(pa.string()),
    "list<int64>": pa.list_(pa.int64()),
    "list<float64>": pa.list_(pa.float64()),
}

Column: TypeAlias = Any

_DATES = {
    pa.date32(): r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    pa.timestamp("us"): r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?$",
}
"""Patterns of types that a text of JSON can be, where numbers are no texts."""
_LISTS = pa.list_(pa.null())
_GUESSES = {
    pa.int64(): r"^(0|-?[1-9][0-9]{0,18})$",
    pa.float64(): r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$",
    pa.bool_(): r"^(true|false)$",
    **_DATES,
    _LISTS: r"^\[.*\]$",
}
"""Patterns of the types that a column of a CSV can get, the first that fits."""


def read_csv(path: Path, types: Mapping[str, pa.DataType]) -> pa.Table:
    """Return the rows of a CSV with a header. Types that are not given are guessed."""
    with pa_csv.open_csv(path) as opened:
        names = opened.schema.names
    options = pa_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
    table = pa_csv.read_csv(path, convert_options=options)
    return pa.table(
        [
            as_type(name, column, types[name]) if name in types else _guessed(column)
            for name, column in zip(names, table.columns, strict=True)
        ],
        names,
    )


def read_jsonl(path: Path, types: Mapping[str, pa.DataType]) -> pa.Table:
    """Return the rows of a file with a JSON object a line; the keys of all lines are columns."""
    names: dict[str, list[pa.Array]] = {}
    count = 0
    for rows in _batches(path):
        for name in dict.fromkeys(name for row in rows for name in row):
            parts = names.setdefault(name, [pa.nulls(count)] if count else [])
            parts.append(_array(name, [row.get(name) for row in rows], types.get(name)))
        count += len(rows)
        for parts in names.values():
            if (missing := count - sum(map(len, parts))) > 0:
                parts.append(pa.nulls(missing))
    columns = {name: _together(name, parts) for name, parts in names.items()}
    return pa.table(
        {
            name: as_type(name, column, types[name]) if name in types else _guessed(column, json_=True)
            for name, column in columns.items()
        }
    )


def as_type(name: str, column: Column, wanted: pa.DataType) -> Column:
    """Return a column in a type that was asked for. Raises `InputError` naming the column."""
    try:
        if column.type == wanted:
            return column
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            return column.cast(wanted)
        return _converted(_without_missing(column), wanted)
    # JSON may be nested as deep, and its numbers may be as large, as somebody likes
    except (pa.ArrowException, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"payload, column {name}", f"values of type {wanted}", str(error).splitlines()[0]) from error


def _batches(path: Path) -> Iterator[list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise InputError(f"payload ({path.name}), line {number}", "a JSON object", str(error)) from error
            if not isinstance(row, dict):
                raise InputError(f"payload ({path.name}), line {number}", "a JSON object", type(row).__name__)
            rows.append(row)
            if len(rows) == LINES:
                yield rows
                rows = []
    if rows:
        yield rows


def _array(name: str, values: list[Any], wanted: pa.DataType | None) -> pa.Array:
    if wanted == pa.string():
        values = [
            value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            for value in values
        ]
    with _of_one_type(name):
        return pa.array(values)


def _together(name: str, parts: list[pa.Array]) -> pa.ChunkedArray:
    known = [part.type for part in parts if not pa.types.is_null(part.type)] or [pa.null()]
    kind = pa.unify_schemas([pa.schema([("", each)]) for each in known], promote_options="permissive").field(0).type
    with _of_one_type(name):
        return pa.chunked_array([part.cast(kind) for part in parts], kind)


@contextmanager
def _of_one_type(name: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OverflowError) as error:
        expected = f"values of one type; --set payload_schema.{name}=string takes all"
        raise InputError(f"payload, column {name}", expected, str(error).splitlines()[0]) from error


def _guessed(column: pa.ChunkedArray, *, json_: bool = False) -> Column:
    if not pa.types.is_string(column.type):
        return column
    texts = column if json_ else _without_missing(column)
    known = pc.unique(texts.drop_null())
    for kind, pattern in (_DATES if json_ else _GUESSES).items():
        if len(known) and pc.all(pc.match_substring_regex(known, pattern)).as_py() and _fit(known, kind):
            return _converted(texts, kind)
    return column


def _fit(known: pa.Array, kind: pa.DataType) -> bool:
    """Return True if no two texts are one number, none has more digits than a float64, and all are sound."""
    try:
        values = _converted(known, kind)
    except (pa.ArrowException, ValueError, RecursionError):  # such as the 31st of February
        return False
    if kind != pa.float64():
        return True
    digits = [len(re.sub(r"[eE].*|[^0-9]", "", text).lstrip("0")) for text in known.to_pylist()]
    finite = bool(pc.all(pc.is_finite(values)).as_py())
    return finite and max(digits) <= MOST_DIGITS and len(pc.unique(values)) == len(known)


def _converted(texts: Column, kind: pa.DataType) -> Column:
    if not pa.types.is_list(kind):
        return texts.cast(kind)
    lists = [None if text is None else json.loads(text) for text in texts.to_pylist()]
    return pa.array(lists) if kind == _LISTS else pa.array(lists, kind)


def _without_missing(column: Column) -> Column:
    return pc.if_else(pc.is_in(column, pa.array(MISSING)), None, column)
