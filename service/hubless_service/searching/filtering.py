"""The targets that meet a filter."""

from collections.abc import Iterable
from time import perf_counter

import hubless
from hubless.filters import Filter
from hubless.search.matches import Matches
from hubless_service.http.trace import Trace


def matches_of(collection: hubless.Collection, filter: Filter, traces: Iterable[Trace]) -> Matches:
    """The targets that meet a filter, evaluated only if they are not known yet.

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
