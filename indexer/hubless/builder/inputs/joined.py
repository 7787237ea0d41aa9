"""Targets with their ids and payload: what calls itself by ids is joined by them, and else row by row."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from hubless.builder.inputs.items import column_of_ids, open_given
from hubless.errors import InputError, advice, names_of
from hubless.vectors.files import Items, Vectors
from hubless.vectors.ids import ID_COLUMN, Ids, id_array, index_ids, repeated, rows_by_id, seeming_ids, share_ids
from hubless.vectors.payload import PayloadLike, PayloadTypes, as_payload, no_ids_advised, parted_ids, typed_payload
from hubless.vectors.readers.arrow_rows import Dataset, open_dataset, reading_payload
from hubless.vectors.readers.columns import ID_FILES, as_ids

_TARGET = "target"
_log = logging.getLogger("hubless.ids")


def open_targets(
    targets: Vectors,
    ids: Ids | None,
    payload: PayloadLike | None,
    payload_schema: PayloadTypes | None = None,
    parameter: str = "targets",
    metric: str = "cosine",
    *,
    skip_bad_rows: bool = False,
) -> Items:
    """Open targets, their ids and payload, by the parameters of `build`. Errors call the targets `parameter`.

    With `skip_bad_rows` the rows that are no vectors are still there: see `without_bad_rows`.
    """
    items = open_given(targets, parameter, metric, skip_bad_rows=skip_bad_rows)
    named = joined_items(items, ids, payload, payload_schema)
    if named.ids is None:
        _warn_of_unseen((targets, payload), (items, named))
    return named


def joined_items(
    items: Items, ids: Ids | None, payload: PayloadLike | None, payload_schema: PayloadTypes | None = None
) -> Items:
    """Return vectors with their ids and payload, by the parameters of `build`.

    Ids are those given, of the file, or of the payload. Payload with ids goes to the targets of these, as `rows_by_id`
    says.
    """
    if payload is None:
        items = _typed(items, payload_schema)
    column = column_of_ids(ids)
    in_file = column in items.payload_columns or (column == ID_COLUMN and items.ids is not None)
    named = items
    if column is None:
        named = items if ids is None else _with_ids(items, ids)
    elif in_file and column != ID_COLUMN:
        named = _with_column(items, column)
    if payload is not None:
        key = column if in_file else None if ids is not None else ID_COLUMN
        named = _with_payload(named, items.ids, payload, payload_schema, key)
    return named if column is None or in_file else _with_column(named, column)


def _typed(items: Items, types: PayloadTypes | None) -> Items:
    """Return items with the payload of their file in the types that were asked for."""
    if items.payload is not None:
        return replace(items, payload=typed_payload(items.payload, types, items.payload_columns))
    if types:
        raise InputError("payload schema", "a payload", "none")
    return items


def _with_ids(items: Items, ids: Ids) -> Items:
    """Put the given ids, an array or those of a file, in the place of the file's, which may be others."""
    count = items.vectors.shape[0]
    array = as_ids(ids)
    if len(array) != count:
        raise InputError("ids", f"{count}, one a target", f"{len(array)}")
    order = None
    with suppress(InputError):  # of other ids
        order = rows_by_id(items.ids, array, _TARGET, "ids")
    if order is not None:
        expected = "the order of the targets, or other ids than those in their file"
        raise InputError("ids", expected, f"these in another order, such as {array[0].as_py()!r} in row 0")
    return replace(items, ids=array)


def _with_column(items: Items, column: str) -> Items:
    """Make a column of the payload the ids."""
    table = items.payload
    columns = list(items.payload_columns)
    if table is None or column not in columns:
        known = f"a column: {names_of(columns)}" if columns else "a column, but there is none"
        raise InputError("ids", f"a file ending in {', '.join(ID_FILES)}, or {known}", column)
    array = _column(table, column, f"ids (column {column})")
    if (twice := repeated(array)) is not None:
        raise InputError(f"ids (column {column})", "an id for each target, each once", twice)
    columns.remove(column)
    if items.ids is not None and ID_COLUMN in table.schema.names:  # it is no id then
        columns.insert(0, ID_COLUMN)
    return replace(items, ids=array, payload=table if columns else None, payload_columns=tuple(columns))


def _column(table: Dataset, column: str, name: str) -> pa.Array:
    with reading_payload():
        return id_array(table.to_table(columns=[column]).column(0), name)


def _with_payload(
    items: Items, own: pa.Array | None, payload: PayloadLike, types: PayloadTypes | None, key: str | None
) -> Items:
    """Put the given payload in the place of the file's, each row to the target of its id.

    `own` are the ids in the file of the targets, of which `items` may have others now. `key` is the column that has
    ids wherever there is one, None if the ids were given apart.
    """
    table = as_payload(payload, types)
    columns = list(table.schema.names)
    order = None
    with reading_payload():
        if key == ID_COLUMN and items.ids is None:
            _check_count(items, table)
            found, columns = parted_ids(table)
            items = replace(items, ids=found)
            if found is not None and isinstance(payload, str | Path):
                _log.info("targets have no ids: row by row they get those of the payload")
        elif key is not None and key in columns:
            with no_ids_advised():
                order = rows_by_id(items.ids, _column(table, key, f"payload, column {key}"), _TARGET, "payload")
            columns = [each for each in columns if each != key or key == ID_COLUMN]
        else:
            order = _order([each for each in (items.ids, own) if each is not None], table, payload)
            if order is None:
                _check_count(items, table)
        if order is not None:
            table = open_dataset(table.to_table(columns=columns).take(order))
    return replace(items, payload=table if columns else None, payload_columns=tuple(columns))


def _check_count(items: Items, table: Dataset) -> None:
    """Raise `InputError` unless payload has a row for each target, in each shard if both have as many."""
    count = items.vectors.shape[0]
    if (rows := table.count_rows()) != count:
        raise InputError("payload", f"{count} rows, one a target", f"{rows} rows")
    shards, children = getattr(items.vectors, "parts", ()), getattr(table, "children", ())
    for shard, child in zip(shards, children, strict=True) if len(shards) == len(children) else ():
        if (rows := child.count_rows()) != shard.shape[0]:
            raise InputError("payload", f"{shard.shape[0]} rows in a shard, as {shard.name} has", f"{rows} rows")


def _order(sides: list[pa.Array], table: Dataset, payload: PayloadLike) -> Any:
    """Return the order of payload whose ids, its column `id` or its index, may be of other things than the targets."""
    found = index_ids(payload)
    with suppress(InputError):
        found = _column(table, ID_COLUMN, "") if ID_COLUMN in table.schema.names else found
    for ids in sides:
        if found is not None and share_ids(ids, found):
            return rows_by_id(ids, found, _TARGET, "payload")
    if sides and found is not None:
        _log.warning("payload: none of its ids is the id of a target. So rows are taken in the order of the targets")
    elif sides and isinstance(payload, str | Path):
        _log.info("payload has no column id: its rows are taken in the order of the targets")
    return None


def _warn_of_unseen(given: Sequence[Any], opened: Sequence[Items]) -> None:
    """Warn of what looks like ids, and is not taken for ids."""
    if any(index_ids(each) is not None for each in given):
        _log.warning('ids are row numbers, but the index looks like ids: frame.reset_index(names="id") gives them')
    for items in opened:
        table = items.payload
        for name in () if table is None else seeming_ids(table.schema, items.payload_columns):
            with suppress(InputError):
                if repeated(_column(table, name, "")) is None:
                    taken = advice(": {} takes them", "ids", name)
                    _log.warning("ids are row numbers, but column %s looks like ids%s", name, taken)
                    return
