"""Stored targets: one or several by their ids, and page by page. Runs in a search thread."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import hubless
from hubless.arrays import I64
from hubless.filters import Filter
from hubless_service.http.cursors import write_cursor
from hubless_service.http.extras import Extras, add_extras
from hubless_service.http.selections import Scroll
from hubless_service.http.trace import Trace
from hubless_service.searching.filtering import matches_of

Document = dict[str, Any]


def one(collection: hubless.Collection, text: str, extras: Extras) -> Document:
    """The target of an id, as it stands in a URL.

    Raises
    ------
    PointNotFound
    """
    row = collection.row(collection.parse_id(text))
    (target,) = _targets(collection, np.array([row]), extras)
    return target | _of(collection)


def several(collection: hubless.Collection, ids: Sequence[str | int], extras: Extras) -> Document:
    """The targets of some ids, in their order, and those ids that no target bears.

    Raises
    ------
    InputError
        naming the first id of the wrong type.
    """
    rows = collection.find(ids)
    found = np.array([row for row in rows if row is not None], np.int64)
    missing = [wanted for wanted, row in zip(ids, rows, strict=True) if row is None]
    return {"points": _targets(collection, found, extras), "missing": missing, **_of(collection)}


def page(collection: hubless.Collection, wanted: Scroll, trace: Trace) -> Document:
    """The targets from a row on, and a cursor if there are more."""
    matches = None if wanted.filter is None else matches_of(collection, wanted.filter, [trace])
    rows = collection.page(wanted.start, wanted.limit + 1, matches)
    more = len(rows) > wanted.limit
    return {
        "points": _targets(collection, rows[: wanted.limit], wanted.extras),
        "cursor": write_cursor(collection, int(rows[wanted.limit]), wanted.filter) if more else None,
        **_of(collection),
    }


def count(collection: hubless.Collection) -> Document:
    """How many targets there are."""
    return {"count": collection.count, **_of(collection)}


def count_matches(collection: hubless.Collection, filter: Filter, trace: Trace) -> Document:
    """How many targets meet a filter."""
    return {"count": matches_of(collection, filter, [trace]).count, **_of(collection)}


def _targets(collection: hubless.Collection, rows: I64, extras: Extras) -> list[Document]:
    targets: list[Document] = [
        {"id": id_, "offset": offset}
        for id_, offset in zip(collection.ids(rows), collection.offsets[rows].tolist(), strict=True)
    ]
    add_extras(collection, targets, rows, extras)
    return targets


def _of(collection: hubless.Collection) -> Document:
    return {"collection": collection.name, "version": collection.version}
