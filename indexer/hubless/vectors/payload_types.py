"""Types and values of a payload: what a build takes, a service can send.

A service sends payload as JSON, and makes Python objects of it first. So a build refuses what Python cannot hold, such
as dates beyond the years 1 to 9999, and converts the types of which Arrow cannot look up rows.
"""

import re
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from hubless.errors import InputError, one_line
from hubless.vectors.free_payload import MOST_NESTED
from hubless.vectors.readers.kept_values import RowName, inner_arrays, kept_in

_FOREIGN = re.compile(r"extension(<|:name: ')(?!arrow\.)([\w.]+)")
"""The name of a type of another program, as Arrow shows a field that has it, or is marked with it."""
_UNSENT = (pa.types.is_union, pa.types.is_interval, pa.types.is_run_end_encoded)


def check_types(schema: pa.Schema) -> None:
    """Raise `InputError`, naming the column, for types of other programs, or lists and structs too deep in each other.

    What pandas calls a period is a mere number to all others. Unions, intervals and runs of equal values have no form
    in JSON.
    """
    for field in schema:
        inside = [field.type]  # one level of the type; without recursion, which such a type would exhaust
        for _ in range(MOST_NESTED):
            for kind in inside:
                if any(is_such(kind) for is_such in _UNSENT):
                    raise InputError(f"payload, column {field.name}", "numbers, texts, times, lists or structs", kind)
            inside = [kind.field(i).type for kind in inside for i in range(kind.num_fields)]
        if any(pa.types.is_nested(kind) for kind in inside):
            expected = f"at most {MOST_NESTED} lists and structs inside each other"
            raise InputError(f"payload, column {field.name}", expected, "more")
        if found := _FOREIGN.search(pa.schema([field]).to_string()):
            raise InputError(f"payload, column {field.name}", "a type of Arrow, such as .astype(str) makes", found[2])


def payload_schema(given: pa.Schema) -> pa.Schema:
    """Return the types that a payload is stored with: plain ones, and times in microseconds, the finest of Python."""
    fields = [field.with_type(_in_microseconds(field.type)) for field in map(_plain_field, given)]
    for field in fields:
        if "[ns" in str(field.type):
            raise InputError(f"payload, column {field.name}", "nested times in microseconds or coarser", field.type)
    return pa.schema(fields)


def _in_microseconds(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    if kind == pa.duration("ns"):
        return pa.duration("us")
    return pa.time64("us") if pa.types.is_time64(kind) else kind


def _plain_field(field: pa.Field) -> pa.Field:
    """Return the field without dictionaries, which batches would share, and views, which Arrow cannot look up."""
    return field.with_type(_plain(field.type))


def _plain(stored: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_dictionary(stored):
        return _plain(stored.value_type)
    if types.is_map(stored):
        return pa.map_(_plain(stored.key_type), _plain(stored.item_type))
    if types.is_struct(stored):
        return pa.struct([_plain_field(field) for field in stored])
    if types.is_fixed_size_list(stored):
        return pa.list_(_plain_field(stored.value_field), stored.list_size)
    for is_such, listed in _LISTS:
        if is_such(stored):
            return listed(_plain_field(stored.value_field))
    return _VIEWED.get(stored, stored)


_VIEWED = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
_LISTS = (
    (pa.types.is_list, pa.list_),
    (pa.types.is_large_list, pa.large_list),
    (pa.types.is_list_view, pa.list_view),
    (pa.types.is_large_list_view, pa.large_list_view),
)


def in_columns(rows: pa.Table, schema: pa.Schema, named: Callable[[str], RowName]) -> pa.Table:
    """Return rows in the columns of a schema, null where they have none.

    Raises `InputError` as `check_values` and `kept_in`.
    """
    columns = [
        kept_in(rows[field.name], field.type, named(field.name))
        if field.name in rows.column_names
        else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    made = pa.table(columns, schema)
    for batch in made.to_batches():  # in the zones of the columns, which may differ from those given
        check_values(batch)
    return made


def check_values(rows: pa.RecordBatch) -> None:
    """Raise `InputError`, naming the column, for values that a service cannot send."""
    for field, column in zip(rows.schema, rows.columns, strict=True):
        name = f"payload, column {field.name}"
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            raise InputError(name, "valid values", one_line(error)) from error
        for part in _parts(column):
            _check_part(name, part)


def _parts(column: pa.Array) -> Iterator[pa.Array]:
    yield column
    for each in inner_arrays(column):
        yield from _parts(each)


def _check_part(name: str, part: pa.Array) -> None:
    kind = part.type
    types = pa.types
    if types.is_struct(kind) and len(set(kind.names)) < len(kind.names):
        raise InputError(name, "a struct with members of different names", kind)
    if not (types.is_date(kind) or types.is_timestamp(kind) or types.is_duration(kind)):
        return
    numbers = pa.int32() if kind.bit_width == 32 else pa.int64()
    extremes = pc.min_max(part.view(numbers))
    try:
        # 0 shows that the zone is known, even if the column holds nothing yet
        pa.array([0, extremes["min"].as_py(), extremes["max"].as_py()], numbers).view(kind).to_pylist()
    except (OverflowError, ValueError, LookupError) as error:
        expected = "durations within 999,999,999 days" if types.is_duration(kind) else _TIMES
        raise InputError(name, expected, f"values of {kind} ({one_line(error)})") from error


_TIMES = "times from year 1 to 9999, in UTC or another zone of the IANA database"
