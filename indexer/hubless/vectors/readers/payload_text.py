"""Types of payload that comes as text, in CSV and JSON. A type is guessed only where no value of a column is lost."""

import json
import logging
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import isfinite
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from hubless.errors import InputError, advice
from hubless.vectors.arrays import is_text
from hubless.vectors.object_rows import brief
from hubless.vectors.readers.csv_rows import CsvFile
from hubless.vectors.readers.kept_values import ArrowColumn, converted, exactly, in_column, kept_in
from hubless.vectors.readers.places import first_refused, place

MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL"]
"""Texts of a CSV that stand for no value, in columns that are not strings."""
SURE_DIGITS = 15
"""A float64 gives so many digits back as they were. More may be those of a float64, or not."""
_log = logging.getLogger("hubless.payload")

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

_TEXTS = (TYPES["string"], TYPES["list<string>"])

_DATES = {
    pa.date32(): r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    pa.timestamp("us"): r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?$",
}
"""Patterns of types that a text of JSON can be, where numbers are no texts."""
_LISTS = pa.list_(pa.null())
_NUMBERS = {
    pa.int64(): r"^(0|-?[1-9][0-9]{0,18})$",
    pa.float64(): r"^-?((0|[1-9][0-9]*)(\.[0-9]+)?|\.[0-9]+)([eE][-+]?[0-9]+)?$",
}
_GUESSES = {
    **_NUMBERS,
    pa.bool_(): r"^(true|false|True|False|TRUE|FALSE)$",
    **_DATES,
    _LISTS: r"^\[.*\]$",
}
"""Patterns of the types that a column of a CSV can get, the first that fits."""
_DECIMAL_COMMA = r"^-?[0-9]+(\.[0-9]{3})*,[0-9]+$"
_WHOLE = r"^-?[0-9]+$"


def read_csv(path: Path, types: Mapping[str, pa.DataType], names: Sequence[str] | None = None) -> pa.Table:
    """Return the rows of a CSV with a header, all columns or some. Types that are not given are guessed."""
    table = CsvFile.open(path, f"payload ({path.name})").table(names)
    columns = {}
    for each, column in zip(table.column_names, table.columns, strict=True):
        columns[each] = as_type(each, column, types[each]) if each in types else guessed(each, column)
    return pa.table(columns)


def as_type(name: str, column: ArrowColumn, wanted: pa.DataType) -> ArrowColumn:
    """Return a column in a type that was asked for: texts as what they say, others as they are, or as texts.

    Raises `InputError` naming the column and the first row that the type cannot hold.
    """
    named, expected = in_column(name), f"values of type {wanted}"
    if column.type == wanted:
        return column
    if is_text(column.type):
        hint = " with a decimal point" if wanted == pa.float64() else ""
        return converted(without_missing(column), lambda part: _said(part, wanted), named, f"{expected}{hint}")
    if wanted in _TEXTS:
        return converted(column, lambda part: part.cast(wanted), named, expected)
    return kept_in(column, wanted, named)


def _said(texts: ArrowColumn, kind: pa.DataType) -> ArrowColumn:
    """Return what texts say. Raises `ValueError` for numbers whose zeros or digits would be lost."""
    made = _converted(texts, kind)
    if not pc.all(pc.match_substring_regex(texts, _NUMBERS.get(kind, "")), min_count=0).as_py():
        raise ValueError(kind)
    if kind == pa.float64() and not all(map(_is_held, pc.unique(texts.drop_null()).to_pylist())):
        raise ValueError(kind)
    return made


def _is_held(text: str) -> bool:
    value = float(text)
    return isfinite(value) and (not text.lstrip("-").isdigit() or int(text) == value)


def guessed(name: str, column: pa.ChunkedArray, *, json_: bool = False) -> ArrowColumn:
    """Return a column of texts in the first type that keeps all of its values, else as it is.

    Numbers with a decimal comma are refused. If more than half of the values are of a type, the first other one is
    logged.
    """
    if not pa.types.is_string(column.type):
        return column
    texts = column if json_ else without_missing(column)
    known = pc.unique(texts.drop_null())
    found, odd = _kind_of(known, _DATES if json_ else _GUESSES)
    if found is not None:
        return _converted(texts, found)
    if not json_:
        _check_point(name, column, known)
        if odd is not None:
            row = pc.index(column, odd[1]).as_py()
            kind_name = next(each for each, kind in TYPES.items() if kind == odd[0])
            _log.warning(
                "payload, column %s is text, as %s has %s, which is no %s", name, place(row), brief(odd[1]), kind_name
            )
    return column


def _kind_of(
    known: pa.Array, patterns: Mapping[pa.DataType, str]
) -> tuple[pa.DataType | None, tuple[pa.DataType, str] | None]:
    """Return the first type that keeps all of some texts; else a type that most are of, and a text that is not."""
    odd: tuple[pa.DataType, str] | None = None
    for kind, pattern in patterns.items():
        fits = pc.match_substring_regex(known, pattern)
        some = pc.sum(fits).as_py() or 0
        if some and some == len(known):
            wrong = _unkept(known, kind)
            if wrong is None:
                return kind, None
            odd = odd or (None if kind == _LISTS else (kind, wrong))
        elif 2 * some > len(known) and kind != _LISTS:
            odd = kind, known[pc.index(fits, False).as_py()].as_py()
    return None, odd


def _check_point(name: str, column: ArrowColumn, known: pa.Array) -> None:
    """Refuse numbers with a comma: as texts they could not be compared."""
    commas = pc.match_substring_regex(known, _DECIMAL_COMMA)
    if not len(known) or not pc.any(commas).as_py():
        return
    if pc.all(pc.or_(commas, pc.match_substring_regex(known, _WHOLE))).as_py():
        first = known[pc.index(commas, True).as_py()].as_py()
        where = f"payload, column {name}, {place(pc.index(column, first).as_py())}"
        keeps = advice("; {} keeps texts", f"payload_schema.{name}", "string")
        expected = f"numbers with a decimal point, no comma{keeps}"
        raise InputError(where, expected, repr(first))


def _unkept(known: pa.Array, kind: pa.DataType) -> str | None:
    """Return the first of some different texts that would be lost by a type; None if all are kept."""
    texts = known.to_pylist()
    try:
        values = _converted(known, kind)
    except (pa.ArrowException, ValueError, OverflowError, RecursionError):  # such as the 31st of February
        return str(texts[first_refused(len(known), lambda stop: _converted(known[:stop], kind))])
    if kind != pa.float64():
        return None
    seen = set[float]()
    for text, value in zip(texts, values.to_pylist(), strict=True):
        if value in seen or not _is_kept(text, value):
            return str(text)
        seen.add(value)
    return None


def _is_kept(text: str, value: float) -> bool:
    """Return whether the digits of a text are those of its float64, rounded to so many digits."""
    if repr(value) == text:
        return True
    if abs(value) == float("inf"):
        return False
    digits = re.sub(r"[eE].*|[^0-9]", "", text).lstrip("0")
    if len(digits) <= SURE_DIGITS:
        return True
    return not text.lstrip("-").isdigit() and Decimal(f"{value:.{len(digits) - 1}e}") == Decimal(text)


def _converted(texts: ArrowColumn, kind: pa.DataType) -> ArrowColumn:
    if not pa.types.is_list(kind):
        return texts.cast(kind)
    lists = [None if text is None else json.loads(text) for text in texts.to_pylist()]
    made = pa.array(lists)
    return made if kind == _LISTS else exactly(made, kind)


def without_missing(column: ArrowColumn) -> ArrowColumn:
    """Return texts with nulls in the place of those that stand for no value."""
    # pc.if_else mixes up the texts of a slice before Arrow 24
    return pc.case_when(pc.make_struct(pc.invert(pc.is_in(column, pa.array(MISSING)))), column)
