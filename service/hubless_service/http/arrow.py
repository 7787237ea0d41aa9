"""Arrow IPC streams as bodies: vectors, and whole points."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from hubless import Collection
from hubless.errors import InputError, UnknownField, names_of, one_line
from hubless.search.writes import Put
from hubless.vectors.arrays import F32, is_text, matrix_of
from hubless.vectors.comparing import OF_QUERIES, OF_TARGETS, ComparedSide
from hubless.vectors.free_payload import free_table, is_free
from hubless.vectors.payload_types import check_types, in_columns
from hubless.vectors.plain_arrow import plain_content, plain_stream
from hubless.vectors.readers.kept_values import RowName, kept_in
from hubless.vectors.readers.places import UNREADABLE
from hubless.vectors.readers.tabular import is_vectors, vector_columns
from hubless_service.http.problems import HttpProblem, clip

ARROW, ARROW_FILE = "application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.file"
VECTOR = "vector"


def read_table(body: bytes, kind: str = ARROW) -> pa.Table:
    """Return the rows of a stream, or of a file. Raises `malformed_body`, and `InputError` for wrong names."""
    try:
        table = plain_stream(body) if kind == ARROW else plain_content(pa.py_buffer(body))
        _check_names(pa.struct(list(table.schema)))
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        wanted = kind.rpartition(".")[2]
        raise HttpProblem(
            "malformed_body", f"The body is not an Arrow IPC {wanted}: {clip(one_line(error))}"
        ) from error
    return table


def vectors_of(table: pa.Table, collection: Collection, side: ComparedSide = OF_QUERIES) -> tuple[F32, Any]:
    """Return the column `vector` as rows (m, d) prepared for the collection, 0 for null, and which are there (m,).

    Raises `InputError` for another type, another dimension, or null among queries.
    """
    _check_vectors_named(table)
    all_needed = side == OF_QUERIES
    column = table[VECTOR].combine_chunks()
    if not (is_vectors(column.type) or (pa.types.is_null(column.type) and not all_needed)):
        raise InputError(VECTOR, f"fixed_size_list<float32>[{collection.dim}]", clip(str(column.type)))
    there = column.is_valid().to_numpy(zero_copy_only=False)
    if all_needed and not there.all():
        raise InputError(f"{VECTOR}[{int(np.argmin(there))}]", "a vector", "null")
    rows = np.zeros((len(table), collection.parts.space.width), np.float32)
    if there.any():
        rows[there] = collection.prepare(matrix_of(column.drop_null(), VECTOR), VECTOR, side)
    return rows, there


def check_distinct(ids: Sequence[str | int], where: str) -> None:
    """Raise `InputError` if an id stands twice; `where` names the field of one, with {} for its place."""
    seen = set[str | int]()
    for place, wanted in enumerate(ids):
        if wanted in seen:
            raise InputError(where.format(place), "an id that no other point has", repr(wanted))
        seen.add(wanted)


def _check_names(kind: pa.DataType) -> None:
    """Raise `ValueError` for a name that is not UTF-8, at any depth: `validate` passes it over."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    for place in range(kind.num_fields):
        str(kind.field(place).name)
        _check_names(kind.field(place).type)


ID = "id"


def put_of(table: pa.Table, collection: Collection) -> Put:
    """Return the write of a table. Raises `InputError` with the column and the row."""
    names = table.column_names
    if repeated := [name for name in names if names.count(name) > 1]:
        raise InputError(clip(repeated[0]), "one column of that name", names.count(repeated[0]))
    if ID not in names:
        raise InputError(ID, "a column of ids", "none")
    ids = _ids(table[ID], collection)
    vectors, there = vectors_of(table, collection, OF_TARGETS)
    others = table.select([name for name in names if name not in (ID, VECTOR)])
    return Put(vectors, ids, _payload(others, collection.parts.payload_schema), there)


def _check_vectors_named(table: pa.Table) -> None:
    """Refuse a table without the column `vector`, and name the column that could be meant.

    Its points would be stored without vectors, and no query would find them.
    """
    if VECTOR in table.column_names:
        return
    meant = vector_columns(table.schema)
    line = f'table.rename_columns({{"{clip(meant[0])}": "{VECTOR}"}})' if meant else "pa.nulls(len(table))"
    way = f"rename yours, such as {line}" if meant else f"for points without vectors one of nulls, {line}"
    got = names_of([clip(name) for name in meant or table.column_names])
    raise InputError(VECTOR, f"a column of this name; {way}", f"{'lists of numbers in' if meant else 'columns'} {got}")


def _ids(column: pa.ChunkedArray, collection: Collection) -> pa.Array:
    numbers = collection.manifest.id_type == "int64"
    given = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    fits = pa.types.is_integer(given) if numbers else is_text(given)
    if not fits:
        expected = "whole numbers" if numbers else "strings"
        raise InputError(ID, f'{expected}, as the ids of collection "{collection.name}" are', given)
    ids = kept_in(column, pa.int64() if numbers else pa.large_string(), _named(ID)).combine_chunks()
    if ids.null_count:
        row = ids.is_null().to_pylist().index(True)
        raise InputError(f"{ID}[{row}]", "an id", "null")
    check_distinct(ids.to_pylist(), f"{ID}[{{}}]")
    return ids


def _payload(given: pa.Table, schema: pa.Schema | None) -> pa.Table | None:
    """Return the payload of a table by the schema of a collection; None where it has none. Raises `InputError`."""
    if schema is None:
        if given.column_names:
            raise UnknownField(clip(given.column_names[0]), "no payload, as the collection has none", "a column")
        return None
    check_types(given.schema)
    if is_free(schema):
        try:
            rows = given.to_pylist()
        except UNREADABLE as error:
            raise InputError("body", "payload that JSON can say", one_line(error)) from error
        return free_table([{key: value for key, value in row.items() if value is not None} for row in rows])
    for name in given.column_names:
        if name not in schema.names:
            raise UnknownField(clip(name), f"columns of the payload, {names_of(schema.names)}", "another column")
    return in_columns(given, schema, _named)


def _named(name: str) -> RowName:
    return lambda row: f"{clip(name)}[{row}]"
