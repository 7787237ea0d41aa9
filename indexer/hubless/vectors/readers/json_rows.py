"""Rows of a file with a JSON object a line."""

import json
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from functools import partial
from json import JSONDecodeError
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from hubless.errors import InputError, advice, one_line
from hubless.vectors.free_payload import beyond_64_bits
from hubless.vectors.object_rows import brief
from hubless.vectors.readers.kept_values import ArrowColumn, in_column, kept_in
from hubless.vectors.readers.payload_text import as_type, guessed
from hubless.vectors.readers.places import first_refused, no_utf8, place

LINES = 10_000
_BOM = b"\xef\xbb\xbf"


def json_objects(path: Path, name: str, rows: int = LINES) -> Iterator[list[dict[str, Any]]]:
    """Yield the objects of a file, so many at a time. Raises `InputError` naming the line that is none."""
    found: list[dict[str, Any]] = []
    row = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            text = line.removeprefix(_BOM) if number == 1 else line
            if not text.strip():
                continue
            found.append(_object(text, path, f"{name}, {place(row, number)}"))
            row += 1
            if len(found) == rows:
                yield found
                found = []
    if found:
        yield found


def _object(text: bytes, path: Path, where: str) -> dict[str, Any]:
    try:
        row = _value(text, where)
    except orjson.JSONDecodeError as error:
        try:
            text.decode()
        except UnicodeDecodeError as wrong:
            raise no_utf8(wrong, path, where) from error
        raise InputError(where, "a JSON object", one_line(error)) from error
    if not isinstance(row, dict):
        raise InputError(where, "a JSON object", f"{type(row).__name__} {brief(row)}")
    if row.keys() >= {"custom_id", "response"}:
        return {"id": row["custom_id"], "vector": _embedding_of(row["response"])}
    return row


def _value(text: bytes, where: str) -> Any:
    """Return what a JSON text says. Raises `orjson.JSONDecodeError`, or `InputError` for what only Python writes."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        with suppress(JSONDecodeError, UnicodeDecodeError):
            json.loads(text, parse_constant=partial(_refuse, where))
        raise
    return json.loads(text) if beyond_64_bits(text) else value


def _refuse(where: str, constant: str) -> None:
    raise InputError(where, f"JSON, which has no {constant}: write null", constant)


def _embedding_of(response: Any) -> Any:
    """Return the vector in a line of OpenAI's batches; none of a request that failed, or had several inputs."""
    try:
        [answer] = response["body"]["data"]
        return answer["embedding"]
    except (KeyError, TypeError, ValueError):
        return None


def json_document(path: Path) -> Any:
    """Return the document in a file. Raises `ValueError` if it is none."""
    try:
        return _value(path.read_bytes().removeprefix(_BOM), path.name)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{one_line(error)}; a file with an object a line is named .jsonl") from error


def read_jsonl(path: Path, types: Mapping[str, pa.DataType], keys: Container[str] | None = None) -> pa.Table:
    """Return the rows of a file with a JSON object a line; the keys of all lines are columns, or some of them."""
    names: dict[str, list[pa.Array]] = {}
    count = 0
    for rows in json_objects(path, f"payload ({path.name})"):
        for name in dict.fromkeys(name for row in rows for name in row if keys is None or name in keys):
            parts = names.setdefault(name, [pa.nulls(count)] if count else [])
            parts.append(_array(name, [row.get(name) for row in rows], types.get(name), count))
        count += len(rows)
        for parts in names.values():
            if (missing := count - sum(map(len, parts))) > 0:
                parts.append(pa.nulls(missing))
    columns = {name: _together(name, parts) for name, parts in names.items()}
    return pa.table(
        {
            name: as_type(name, column, types[name]) if name in types else guessed(name, column, json_=True)
            for name, column in columns.items()
        }
    )


def _array(name: str, values: list[Any], wanted: pa.DataType | None, start: int) -> pa.Array:
    if wanted == pa.string():
        values = [
            value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            for value in values
        ]
    return array_of(name, values, start, _takes_all(name))


def array_of(name: str, values: list[Any], start: int = 0, hint: str = "") -> pa.Array:
    """Return values of a column. Raises `InputError` naming the first row whose value is of another type."""
    try:
        made = pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        row = first_refused(len(values), lambda stop: pa.array(values[:stop]))
        raise _other_type(name, start + row, hint, values[row], str(error)) from error
    if pa.types.is_temporal(made.type) or {bool, float} <= set(map(type, values)):
        for row, (value, now) in enumerate(zip(values, made.to_pylist(), strict=True)):
            if now is not None and (value != now or isinstance(value, bool) != isinstance(now, bool)):
                raise _other_type(name, start + row, hint, value)
    return made


def _together(name: str, parts: list[pa.Array]) -> ArrowColumn:
    """Return the parts of a column in a type that all have, such as float64 for whole numbers and others."""
    kind = pa.null()
    start = 0
    for part in parts:
        try:
            schemas = [pa.schema([("", each)]) for each in (kind, part.type)]
            kind = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
        except pa.ArrowException as error:
            row = part.is_valid().index(True).as_py()
            raise _other_type(name, start + row, _takes_all(name), part[row].as_py()) from error
        start += len(part)
    cast = []
    start = 0
    for part in parts:
        numbers = range(start, start + len(part))
        cast.append(kept_in(part, kind, in_column(name, numbers), _takes_all(name)))
        start += len(part)
    return pa.chunked_array(cast, kind)


def _takes_all(name: str) -> str:
    return advice("; {} takes all", f"payload_schema.{name}", "string")


def _other_type(name: str, row: int, hint: str, got: Any, said: str = "") -> InputError:
    expected = "whole numbers from -2^63 to 2^63 - 1" if "too large" in said else "values of one type"
    return InputError(in_column(name)(row), f"{expected}{hint}", brief(got))
