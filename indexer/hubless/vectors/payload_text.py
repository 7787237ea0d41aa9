"""Payload from texts: `.csv` and `.jsonl`. A type is guessed only where no character of a column is lost by it."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
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
"""So many lines of JSON become a batch of Arrow at once."""

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
"""Types of columns that can be asked for, by name."""

Column: TypeAlias = Any
"""A `pyarrow.Array` or `ChunkedArray`."""

_WHOLE = r"^-?(0|[1-9][0-9]{0,18})$"
_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?$"


def read_csv(path: Path, types: Mapping[str, pa.DataType]) -> pa.Table:
    """Return the rows of a CSV with a header. Types that are not given are guessed.

    Raises `ArrowException` if it is no CSV, and `InputError` naming a column whose values do not fit its type.
    """
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
    """Return the rows of a file with a JSON object a line; the keys of all lines are columns.

    Raises `InputError` naming the line that is no object, or the column whose values are of several types.
    """
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
            name: as_type(name, column, types[name]) if name in types else _guessed_of_json(column)
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
        texts = _without_missing(column)
        if pa.types.is_list(wanted):
            return pa.array([None if text is None else json.loads(text) for text in texts.to_pylist()], wanted)
        return texts.cast(wanted)
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
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError) as error:
        expected = f"values of one type; --set payload_schema.{name}=string takes all"
        raise InputError(f"payload, column {name}", expected, str(error).splitlines()[0]) from error


def _together(name: str, parts: list[pa.Array]) -> pa.ChunkedArray:
    kinds = pa.unify_schemas(
        [pa.schema([("", part.type)]) for part in parts if not pa.types.is_null(part.type)]
        or [pa.schema([("", pa.null())])],
        promote_options="permissive",
    )
    try:
        return pa.chunked_array([part.cast(kinds.field(0).type) for part in parts], kinds.field(0).type)
    except pa.ArrowException as error:
        expected = f"values of one type; --set payload_schema.{name}=string takes all"
        raise InputError(f"payload, column {name}", expected, str(error).splitlines()[0]) from error


def _guessed(column: pa.ChunkedArray) -> Column:
    """Return a column of texts in the first type that loses no character, or itself."""
    texts = _without_missing(column)
    known = pc.unique(texts.drop_null())
    for loses_nothing, convert in _GUESSES:
        if len(known) and loses_nothing(known):
            return convert(texts)
    return column


def _guessed_of_json(column: pa.ChunkedArray) -> Column:
    """Return a column as dates or times, if it is texts of these: in JSON numbers are no texts."""
    if not pa.types.is_string(column.type):
        return column
    known = pc.unique(column.drop_null())
    for loses_nothing, convert in (_AS_DATE, _AS_TIME):
        if len(known) and loses_nothing(known):
            return convert(column)
    return column


def _without_missing(column: Column) -> Column:
    return pc.if_else(pc.is_in(column, pa.array(MISSING)), None, column)


def _all_match(known: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(known, pattern)).as_py())


def _are_whole(known: pa.Array) -> bool:
    if not _all_match(known, _WHOLE) or pc.any(pc.equal(known, "-0")).as_py():
        return False
    return all(-(2**63) <= int(text) < 2**63 for text in known.to_pylist() if len(text) > 18)


def _are_numbers(known: pa.Array) -> bool:
    """Return True for texts of which no two are one number, and none has more digits than a float64."""
    if not _all_match(known, _NUMBER):
        return False
    digits = [len(re.sub(r"[eE].*|[^0-9]", "", text).lstrip("0")) for text in known.to_pylist()]
    numbers = known.cast(pa.float64())
    finite = bool(pc.all(pc.is_finite(numbers)).as_py())
    return finite and max(digits) <= MOST_DIGITS and len(pc.unique(numbers)) == len(known)


def _are_booleans(known: pa.Array) -> bool:
    return bool(pc.all(pc.is_in(known, pa.array(["true", "false"]))).as_py())


def _are_lists(known: pa.Array) -> bool:
    if not _all_match(known, r"^\[.*\]$"):
        return False
    try:
        pa.array([json.loads(text) for text in known.to_pylist()])
    except (ValueError, RecursionError, pa.ArrowException):
        return False
    return True


def _castable(pattern: str, wanted: pa.DataType) -> Callable[[pa.Array], bool]:
    def castable(known: pa.Array) -> bool:
        if not _all_match(known, pattern):
            return False
        try:
            known.cast(wanted)
        except pa.ArrowException:  # such as the 31st of February
            return False
        return True

    return castable


def _lists(texts: Column) -> Column:
    return pa.array([None if text is None else json.loads(text) for text in texts.to_pylist()])


def _cast(wanted: pa.DataType) -> Callable[[Column], Column]:
    def cast(texts: Column) -> Column:
        return texts.cast(wanted)

    return cast


_Guess: TypeAlias = tuple[Callable[[pa.Array], bool], Callable[[Column], Column]]
"""A type for texts: a test that different texts lose nothing in it, and the conversion of a column."""
_AS_DATE: _Guess = (_castable(_DATE, pa.date32()), _cast(pa.date32()))
_AS_TIME: _Guess = (_castable(_TIME, pa.timestamp("us")), _cast(pa.timestamp("us")))
_GUESSES: list[_Guess] = [
    (_are_whole, _cast(pa.int64())),
    (_are_numbers, _cast(pa.float64())),
    (_are_booleans, _cast(pa.bool_())),
    _AS_DATE,
    _AS_TIME,
    (_are_lists, _lists),
]
