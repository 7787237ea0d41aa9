"""Stored targets: by a filter, by their ids, and page by page. Runs in a search thread."""

from collections.abc import Iterable, Sequence
from time import perf_counter

import numpy as np

import hubless
from hubless.filters import Filter
from hubless.search.delta.overlay import seqs_of
from hubless.search.matches import Matches
from hubless.vectors.arrays import I64
from hubless_service.http.hits import LoadedTargets, read_beside
from hubless_service.http.trace import Trace
from hubless_service.http.values import Extras


def matches_of(collection: hubless.Collection, filter: Filter, traces: Iterable[Trace]) -> Matches:
    """Return the targets that meet a filter, evaluated only if they are not known yet.

    The time of an evaluation is the stage `filter` of all traces that wait for it.
    """
    if known := collection.known_matches(filter):
        return known
    started = perf_counter()
    found = collection.matches(filter)
    seconds = perf_counter() - started
    for trace in traces:
        trace.add("filter", seconds)
    return found


def find_target(collection: hubless.Collection, text: str, extras: Extras) -> LoadedTargets:
    """The target of an id, as the id stands in a URL. Raises `PointNotFound`."""
    return _targets(collection, np.array([collection.row(collection.parts.ids.parse(text))]), extras)


def find_targets(
    collection: hubless.Collection, ids: Sequence[str | int], extras: Extras
) -> tuple[LoadedTargets, list[str | int]]:
    """The targets of some ids, in their order; and those ids that no target bears."""
    rows = collection.find(ids)
    found = np.array([row for row in rows if row is not None], np.int64)
    missing = [wanted for wanted, row in zip(ids, rows, strict=True) if row is None]
    return _targets(collection, found, extras), missing


def scroll_targets(
    collection: hubless.Collection, start: int, limit: int, filter: Filter | None, extras: Extras, trace: Trace
) -> tuple[LoadedTargets, int | None]:
    """The targets from row `start` on, and the row at which the next page begins; None if there are no more."""
    matches = None if filter is None else matches_of(collection, filter, [trace])
    rows = (
        np.arange(start, min(start + limit + 1, collection.count))
        if matches is None
        else matches.page(start, limit + 1)
    )
    return _targets(collection, rows[:limit], extras), int(rows[limit]) if len(rows) > limit else None


def count_matches(collection: hubless.Collection, filter: Filter, trace: Trace) -> int:
    """Return the number of targets that meet a filter."""
    return matches_of(collection, filter, [trace]).count


def _targets(collection: hubless.Collection, rows: I64, extras: Extras) -> LoadedTargets:
    beside = read_beside(collection, rows, extras)
    return LoadedTargets(collection.ids(rows), collection.offsets[rows], seqs_of(collection.parts, rows), beside)
