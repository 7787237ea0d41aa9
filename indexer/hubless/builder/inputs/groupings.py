"""Groups of targets and of queries by a payload column: fits of their own."""

from dataclasses import dataclass

import pyarrow as pa

from hubless.corrections.grouped import Names, group_names, rows_by_group
from hubless.errors import InputError
from hubless.vectors.files import Items
from hubless.vectors.readers.arrow_rows import reading_payload


@dataclass(frozen=True)
class Grouping:
    """The groups of targets (n,) and of bank queries (b,), which a payload column names."""

    column: str
    of_targets: Names
    of_queries: Names


def column_table(items: Items, column: str) -> pa.Table | None:
    """Return one column of the payload of some items; if it is not there, no rows of those that are."""
    if items.payload is None:
        return None
    with reading_payload():
        if column in items.payload_columns:
            return items.payload.to_table(columns=[column])
        return items.payload.schema.empty_table().select(list(items.payload_columns))


def bank_groups_of(items: Items, column: str, name: str = "the query bank") -> Names:
    """Return the groups of the queries of a bank. Raises `InputError` naming the bank, if it has no such column."""
    return group_names(column_table(items, column), column, f"payload of {name}")


def checked_grouping(column: str, of_targets: Names, of_queries: Names) -> Grouping:
    """Return the groups. Raises `InputError` if no query is of a group that has targets."""
    known, asked = (sorted(rows_by_group(names)) for names in (of_targets, of_queries))
    if not set(known) & set(asked):
        some = [", ".join(map(repr, names[:3])) or "none" for names in (known, asked)]
        raise InputError(f"query bank, column {column}", f"groups that have targets, such as {some[0]}", some[1])
    return Grouping(column, of_targets, of_queries)
