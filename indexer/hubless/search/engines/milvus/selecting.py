"""Which rows a search in Milvus looks at: all, those that it finds by a filter, or those that it is told."""

from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa

from hubless.search.engines.milvus.expressions import Untranslatable, among, both, outside, translate
from hubless.search.matches import Matches

FEW = 1000
"""So few rows are named one by one: Milvus compares with them, and needs no graph."""
LISTED = 10_000
"""Rows that one expression names, at most."""
MOST_LISTED = 100_000
"""Rows that the expressions of one search name, at most."""


class Selected(NamedTuple):
    """Expressions that together select some rows, and whether Milvus has to find them by the filter."""

    expressions: list[str]
    filtered: bool


def selected(matches: Matches | None, schema: pa.Schema | None, fields: Mapping[str, str]) -> Selected:
    """The rows that match.

    Parameters
    ----------
    schema : of the payload
    fields : as for `translate`

    Raises
    ------
    Untranslatable
        if too many rows match to be named one by one, and Milvus does not keep a column of the filter.
    """
    if matches is None:
        return Selected([""], False)
    gone = matches.without
    if matches.filter is None and gone is not None and len(gone) < matches.count:
        return Selected([outside(gone.tolist())], False)
    if matches.count <= FEW or matches.filter is None or schema is None:
        return listed(matches)
    try:
        found = translate(matches.filter, schema, fields)
    except Untranslatable:
        if matches.count > MOST_LISTED:
            raise
        return listed(matches)
    return Selected([found if gone is None else both(found, outside(gone.tolist()))], True)


def listed(matches: Matches) -> Selected:
    """The rows that match, named one by one."""
    rows = matches.rows
    parts = [among(rows[start : start + LISTED].tolist()) for start in range(0, len(rows), LISTED)]
    return Selected(parts, False)
