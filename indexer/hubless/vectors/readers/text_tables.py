"""Tables with vectors in texts: CSV and lines of JSON. A vector is a JSON list, or stands in columns of numbers."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from hubless.vectors.readers.arrow_rows import open_dataset
from hubless.vectors.readers.csv_rows import CsvFile
from hubless.vectors.readers.json_rows import json_objects, read_jsonl
from hubless.vectors.readers.kept_values import converted
from hubless.vectors.readers.payload_text import MISSING, read_csv, without_missing
from hubless.vectors.readers.places import place
from hubless.vectors.readers.tabular import TableFile

_VECTORS = pa.list_(pa.float64())
_NUMBER = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$"
_WHOLE = r"^(0|-?[1-9][0-9]{0,18})$"
_LIST = r"^\[\s*[-+.0-9]"
_ID = "id"


def open_csv(path: Path, name: str) -> TableFile:
    """Return the rows of a CSV. Its first 16 MiB say which columns are numbers, or lists of numbers."""
    opened = CsvFile.open(path, name)
    first = next(opened.batches(opened.columns), None)
    kinds = {} if first is None else {each: _kind(each, first.column(each)) for each in opened.columns}

    def batches(columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        start = 0
        for batch in opened.batches(columns):
            for stop in range(0, len(batch), rows):
                part = batch.slice(stop, rows)
                arrays = [
                    _typed(texts, kinds[each], f"{name}, column {each}", start)
                    for each, texts in zip(columns, part.columns, strict=True)
                ]
                yield pa.record_batch(arrays, list(columns))
                start += len(part)

    count = sum(map(len, opened.batches(opened.columns[:1])))
    return TableFile(name, pa.schema(kinds), count, batches, lambda columns: open_dataset(read_csv(path, {}, columns)))


def _kind(name: str, texts: pa.Array) -> pa.DataType:
    """Return the type of most values, so that another one is an error at its row; ids are numbers only if all are."""
    known = without_missing(texts).drop_null()
    patterns = {pa.int64(): _WHOLE} if name == _ID else {pa.float64(): _NUMBER, _VECTORS: _LIST}
    for kind, pattern in patterns.items():
        some = pc.sum(pc.match_substring_regex(known, pattern)).as_py() or 0
        if some and (some == len(known) if name == _ID else 2 * some > len(known)):
            return kind
    return pa.string()


def _typed(texts: pa.Array, kind: pa.DataType, where: str, start: int) -> pa.Array:
    """Return texts as numbers or lists of numbers. Raises `InputError` naming the row of another text."""

    def read(part: pa.Array) -> pa.Array:
        if kind != _VECTORS:
            return without_missing(part).cast(kind)
        return pa.array([None if text in MISSING else orjson.loads(text) for text in part.to_pylist()], kind)

    if kind == pa.string():
        return texts
    expected = "a JSON list of numbers, such as [0.5, 1]" if kind == _VECTORS else "a number"
    return converted(texts, read, lambda row: f"{where}, {place(start + row)}", expected)


def open_jsonl(path: Path, name: str) -> TableFile:
    """Return the rows of a file with a JSON object a line, which is read once to know all keys."""
    count = 0
    found = dict[str, pa.DataType]()
    for rows in json_objects(path, name):
        count += len(rows)
        for key in dict.fromkeys(key for row in rows for key in row):
            if found.get(key, pa.null()) == pa.null():
                found[key] = _kind_of([row.get(key) for row in rows])
    return TableFile(
        name,
        pa.schema(found),
        count,
        partial(_json_batches, path, name, found),
        lambda columns: open_dataset(read_jsonl(path, {}, columns)),
    )


def _kind_of(values: list[Any]) -> pa.DataType:
    """Return the type of the first value, as that of all: lists of numbers may have whole ones and others."""
    first = next((value for value in values if value is not None), None)
    if isinstance(first, list) and first and all(type(each) in (int, float) for each in first):
        return _VECTORS
    return {str: pa.string(), int: pa.int64(), float: pa.float64(), type(None): pa.null()}.get(type(first), pa.bool_())


def _json_batches(
    path: Path, name: str, kinds: dict[str, pa.DataType], columns: Sequence[str], rows: int
) -> Iterator[pa.RecordBatch]:
    start = 0
    for each in json_objects(path, name, rows):
        arrays = [_array([row.get(key) for row in each], kinds[key], f"{name}, column {key}", start) for key in columns]
        yield pa.record_batch(arrays, list(columns))
        start += len(each)


def _array(values: list[Any], kind: pa.DataType, where: str, start: int) -> pa.Array:
    expected = "a list of numbers" if kind == _VECTORS else f"a value of {kind}"
    return converted(values, lambda some: pa.array(some, kind), lambda row: f"{where}, {place(start + row)}", expected)
