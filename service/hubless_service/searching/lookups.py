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


def page(collection: hubless.Collection, wanted: Scroll) -> Document:
    """The targets from a row on, and a cursor if there are more."""
    rows = collection.page(wanted.start, wanted.limit + 1, wanted.filter)
    more = len(rows) > wanted.limit
    return {
        "points": _targets(collection, rows[: wanted.limit], wanted.extras),
        "cursor": write_cursor(collection, int(rows[wanted.limit]), wanted.filter) if more else None,
        **_of(collection),
    }


def count(collection: hubless.Collection, filter: Filter | None) -> Document:
    """How many targets there are, or meet a filter."""
    counted = collection.count if filter is None else collection.matches(filter).count
    return {"count": counted, **_of(collection)}


def _targets(collection: hubless.Collection, rows: I64, extras: Extras) -> list[Document]:
    targets: list[Document] = [
        {"id": id_, "offset": offset}
        for id_, offset in zip(collection.ids(rows), collection.offsets[rows].tolist(), strict=True)
    ]
    add_extras(collection, targets, rows, extras)
    return targets


def _of(collection: hubless.Collection) -> Document:
    return {"collection": collection.name, "version": collection.version}
