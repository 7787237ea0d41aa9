"""Points of an Arrow table: the columns `id` and `vector`, and all others are payload."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import hubless
from hubless.errors import InputError, UnknownField, one_line
from hubless.search.delta.writes import Put
from hubless.vectors.free_payload import free_table, is_free
from hubless.vectors.payload_types import UNREADABLE, check_values
from hubless_service.http.arrow import VECTOR, vectors_of
from hubless_service.http.problems import clip

ID = "id"


def put_of(table: pa.Table, collection: hubless.Collection) -> Put:
    """The write of a table."""
    if repeated := [name for name in table.column_names if table.column_names.count(name) > 1]:
        raise InputError(clip(repeated[0]), "one column of that name", str(table.column_names.count(repeated[0])))
    if ID not in table.column_names:
        raise InputError(ID, "a column of ids", "none")
    ids = _ids(table[ID], collection)
    vectors, there = np.zeros((len(table), collection.stored_dim), np.float32), np.zeros(len(table), np.bool_)
    if VECTOR in table.column_names:
        vectors, there = vectors_of(table, collection, all_needed=False)
    others = table.select([name for name in table.column_names if name not in (ID, VECTOR)])
    return Put(vectors, ids, _payload(others, collection.parts.payload_schema), there)


def _ids(column: pa.ChunkedArray, collection: hubless.Collection) -> pa.Array:
    numbers = collection.manifest.id_type == "int64"
    given = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    fits = pa.types.is_integer(given) if numbers else pa.types.is_string(given) or pa.types.is_large_string(given)
    if not fits:
        expected = "whole numbers" if numbers else "strings"
        raise InputError(ID, f'{expected}, as the ids of collection "{collection.name}" are', str(given))
    ids = _cast(column, pa.int64() if numbers else pa.large_string(), ID).combine_chunks()
    if ids.null_count:
        raise InputError(f"{ID}[{_first(ids.is_null())}]", "an id", "null")
    if pc.count_distinct(ids).as_py() < len(ids):
        seen: set[Any] = set()
        for row, wanted in enumerate(ids.to_pylist()):
            if wanted in seen:
                raise InputError(f"{ID}[{row}]", "an id that no other row has", clip(repr(wanted)))
            seen.add(wanted)
    return ids


def _payload(given: pa.Table, schema: pa.Schema | None) -> pa.Table | None:
    if schema is None:
        if given.column_names:
            raise UnknownField(clip(given.column_names[0]), "no payload, as the collection has none", "a column")
        return None
    if is_free(schema):
        try:
            rows = given.to_pylist()
        except UNREADABLE as error:
            raise InputError("body", "payload that JSON can say", one_line(error)) from error
        return free_table([{key: value for key, value in row.items() if value is not None} for row in rows])
    for name in given.column_names:
        if name not in schema.names:
            raise UnknownField(clip(name), f"columns of the payload, {', '.join(schema.names)}", "another column")
    columns = [
        _cast(given[field.name], field.type, field.name).combine_chunks()
        if field.name in given.column_names
        else pa.nulls(len(given), field.type)
        for field in schema
    ]
    return pa.Table.from_batches([check_values(pa.record_batch(columns, schema))])


def _cast(column: pa.ChunkedArray, kind: pa.DataType, name: str) -> pa.ChunkedArray:
    """A column in the type of the collection."""
    try:
        return column.cast(kind)
    except pa.ArrowException as error:
        row, stop = 0, len(column)
        while stop - row > 1:  # the first row that is wrong is in this half, or in the other
            half = (row + stop) // 2
            try:
                column.take(np.arange(row, half)).cast(kind)  # a slice of lists would cast the elements of all
                row = half
            except pa.ArrowException:
                stop = half
        raise InputError(f"{clip(name)}[{row}]", f"a value of {kind}", clip(repr(column[row].as_py()))) from error


def _first(mask: pa.Array) -> int:
    return int(np.argmax(mask.to_numpy(zero_copy_only=False)))
