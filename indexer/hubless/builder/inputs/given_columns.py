"""The columns that users give of targets and queries beside vector and payload, joined to them by id or by row."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from hubless.corrections.roles import NO_GROUP, TARGET_ROLES, TargetRole
from hubless.corrections.target_columns import NO_COLUMNS, TargetColumn, TargetColumns
from hubless.errors import InputError, StorageError, names_of
from hubless.search.segments.role_columns import in_payload
from hubless.store.bundle import Played
from hubless.vectors.files import Items
from hubless.vectors.readers.arrow_rows import reading_payload


def given_columns(given: Mapping[str, Any], items: Items) -> TargetColumns:
    """Return the columns of targets by what is given for each role: a payload column, a file or an array.

    Raises `InputError`, `StorageError` naming the parameter that is none of these, or a value that is wrong.
    """
    return TargetColumns({name: _given_column(TARGET_ROLES[name], values, items) for name, values in given.items()})


def _given_column(role: TargetRole, given: Any, items: Items) -> TargetColumn:
    columns = list(items.payload_columns)
    if role.above is None or (isinstance(given, str) and given in columns):
        return TargetColumn(in_payload(role, _column_table(items, given), given, complete=True), column=given)
    try:
        return TargetColumn(role.given(given, items.vectors.shape[0], items.ids))
    except StorageError as error:
        if not isinstance(given, str) or Path(given).suffix:
            raise
        known = f"or a payload column: {names_of(columns)}" if columns else "as there is no payload"
        raise InputError(role.name, f"a file, {known}", given) from error


def _column_table(items: Items, column: str) -> pa.Table | None:
    """Return one column of the payload of some items; if it is not there, no rows of those that are."""
    if items.payload is None:
        return None
    with reading_payload():
        if column in items.payload_columns:
            return items.payload.to_table(columns=[column])
        return items.payload.schema.empty_table().select(list(items.payload_columns))


def bank_columns(items: Items, roles: Mapping[str, Played | TargetColumn], name: str) -> TargetColumns:
    """Return the columns of queries by role. Raises `InputError` naming the bank, if it has no such column."""
    found = NO_COLUMNS
    for role, played in roles.items():
        if TARGET_ROLES[role].of_queries and (column := played.column) is not None:
            values = in_payload(TARGET_ROLES[role], _column_table(items, column), column, f"payload of {name}")
            found = found.beside(TARGET_ROLES[role], TargetColumn(values, column=column))
    return found


def check_shared(columns: TargetColumns, of_queries: TargetColumns) -> None:
    """Raise `InputError` if no query is of a group that has targets."""
    for role, asked in of_queries.by_role.items():
        known, named = (sorted({*each.values} - {NO_GROUP}) for each in (columns.by_role[role], asked))
        if not set(known) & set(named):
            some, others = (", ".join(map(repr, names[:3])) or "none" for names in (known, named))
            expected = f"groups that have targets, such as {some}"
            raise InputError(f"query bank, column {asked.column}", expected, others)
