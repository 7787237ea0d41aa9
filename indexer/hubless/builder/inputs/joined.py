"""Targets with their ids and payload: what calls itself by ids is joined by them, and else row by row."""

import logging
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from hubless.builder.inputs.items import column_of_ids, open_given, reading_payload
from hubless.errors import InputError, names_of
from hubless.vectors.files import Items, Vectors
from hubless.vectors.ids import ID_COLUMN, Ids, Named, id_array, index_ids, repeated, rows_by_id, seeming_ids, share_ids
from hubless.vectors.payload import (
    PayloadLike,
    PayloadTypes,
    as_payload,
    no_ids_advised,
    parted_ids,
    typed_payload,
)
from hubless.vectors.readers.arrow_rows import Dataset, open_dataset
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
        _warn_of_unseen(targets, items, named)
    return named


def joined_items(
    items: Items, ids: Ids | None, payload: PayloadLike | None, payload_schema: PayloadTypes | None = None
) -> Items:
    """Return vectors with their ids and payload, by the parameters of `build`.

    Ids are those given, of the file, or of the payload. Payload with ids goes to the targets of these, as `rows_by_id`
    says.
    """
    if payload is None and items.payload is not None:
        items = replace(items, payload=typed_payload(items.payload, payload_schema, items.payload_columns))
    elif payload is None and payload_schema:
        raise InputError("payload schema", "a payload", "none")
    named = items
    column = column_of_ids(ids)
    in_file = column in items.payload_columns or (column == ID_COLUMN and items.ids is not None)
    if in_file and column != ID_COLUMN:
        named = _with_column(items, column)
    elif column is None and ids is not None:
        named = _with_ids(items, ids)
    if payload is not None:
        key = column if in_file else None if ids is not None else ID_COLUMN
        named = _with_payload(named, items.ids, payload, payload_schema, key)
    return named if column is None or in_file else _with_column(named, column)


def _with_ids(items: Items, ids: Ids) -> Items:
    """Put the given ids, an array or those of a file, in the place of the file's, which may be others."""
    count = items.vectors.shape[0]
    array = as_ids(ids)
    if len(array) != count:
        raise InputError("ids", f"{count}, one a target", f"{len(array)}")
    order = None
    with suppress(InputError):  # of other ids
        order = rows_by_id(Named(_TARGET, count, items.ids), Named("ids", count, array))
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
    target = Named(_TARGET, items.vectors.shape[0], items.ids)
    with reading_payload():
        rows = Named("payload", table.count_rows(), None)
        if key == ID_COLUMN and items.ids is None:
            order = rows_by_id(target, rows)
            found, columns = parted_ids(table)
            items = replace(items, ids=found)
            if found is not None and isinstance(payload, str | Path):
                _log.info("targets have no ids: row by row they get those of the payload")
        elif key in columns:
            with no_ids_advised():
                order = rows_by_id(target, rows._replace(ids=_column(table, key, f"payload, column {key}")))
            columns = [each for each in columns if each != key or key == ID_COLUMN]
        else:
            found = index_ids(payload)
            with suppress(InputError):
                found = _column(table, ID_COLUMN, "") if ID_COLUMN in columns else found
            order = _order(target, own, rows._replace(ids=found), payload)
        if order is None:
            _check_shards(items, table)
        else:
            table = open_dataset(table.to_table(columns=columns).take(order))
    return replace(items, payload=table if columns else None, payload_columns=tuple(columns))


def _check_shards(items: Items, table: Dataset) -> None:
    """Raise `InputError` if payload in as many shards as the vectors has another number of rows in one."""
    pairs = list(zip(getattr(items.vectors, "parts", ()), getattr(table, "children", ()), strict=False))
    for part, child in pairs if len(pairs) == len(getattr(table, "children", ())) else ():
        if (count := child.count_rows()) != part.shape[0]:
            raise InputError("payload", f"{part.shape[0]} rows in a shard, as {part.name} has", f"{count} rows")


def _order(target: Named, own: pa.Array | None, rows: Named, payload: PayloadLike) -> Any:
    """Return the order of payload whose ids, its column `id` or the index of a frame, may be of other things."""
    for ids in (target.ids, own):
        if ids is not None and rows.ids is not None and share_ids(ids, rows.ids):
            return rows_by_id(target._replace(ids=ids), rows)
    if target.ids is not None and rows.ids is not None:
        _log.warning("payload: none of its ids is the id of a target. So rows are taken in the order of the targets")
    elif target.ids is not None and isinstance(payload, str | Path):
        _log.info("payload has no column id: its rows are taken in the order of the targets")
    return rows_by_id(target._replace(ids=None), rows)


def _warn_of_unseen(targets: Vectors, *places: Items) -> None:
    """Warn of what looks like ids, and is not taken for ids."""
    if index_ids(targets) is not None:
        _log.warning('ids are row numbers, but the index looks like ids: targets.reset_index(names="id") gives them')
    for items in places:
        table = items.payload
        for name in () if table is None else seeming_ids(table.schema, items.payload_columns):
            with suppress(InputError):
                if repeated(_column(table, name, "")) is None:
                    _log.warning("ids are row numbers, but column %s looks like ids: --ids %s takes them", name, name)
                    return
