"""What users say of targets and queries beside vector and payload, joined to them by id or by row."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from hubless.corrections.grouped import rows_by_group
from hubless.corrections.roles import FIT_BY, TARGET_ROLES, Names, TargetRole, group_names
from hubless.corrections.target_columns import TargetColumn, TargetColumns
from hubless.errors import InputError, StorageError, names_of
from hubless.search.segments.role_columns import in_payload
from hubless.vectors.files import Items
from hubless.vectors.readers.arrow_rows import reading_payload


def given_columns(given: Mapping[str, Any], items: Items) -> TargetColumns:
    """Return the columns of targets by what is given for each role: a payload column, a file or an array.

    Raises `InputError`, `StorageError` naming the parameter that is none of these, or a value that is wrong.
    """
    some = {name: values for name, values in given.items() if values is not None}
    return TargetColumns({name: _given_column(TARGET_ROLES[name], values, items) for name, values in some.items()})


def _given_column(role: TargetRole, given: Any, items: Items) -> TargetColumn:
    columns = list(items.payload_columns)
    if role is FIT_BY or (isinstance(given, str) and given in columns):
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


def bank_groups_of(items: Items, column: str, name: str = "the query bank") -> Names:
    """Return the groups of the queries of a bank. Raises `InputError` naming the bank, if it has no such column."""
    return group_names(_column_table(items, column), column, f"payload of {name}")


def check_groups(columns: TargetColumns, of_queries: Names) -> None:
    """Raise `InputError` if no query is of a group that has targets."""
    of_targets = columns.of(FIT_BY)
    if of_targets is None:
        return
    known, asked = (sorted(rows_by_group(names)) for names in (of_targets.values, of_queries))
    if not set(known) & set(asked):
        some = [", ".join(map(repr, names[:3])) or "none" for names in (known, asked)]
        raise InputError(
            f"query bank, column {of_targets.column}", f"groups that have targets, such as {some[0]}", some[1]
        )
