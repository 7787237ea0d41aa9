"""The targets that meet a filter; to evaluate it is a stage of its own, that most queries need not go through."""

from collections.abc import Iterable
from time import perf_counter

import hubless
from hubless.filters import Filter
from hubless.matches import Matches
from hubless_service.http.trace import Trace


def matches_of(collection: hubless.Collection, filter: Filter, traces: Iterable[Trace]) -> Matches:
    """What meets a filter. The time is `filter` of all that wait for it; nothing if it is known already."""
    if known := collection.known_matches(filter):
        return known
    started = perf_counter()
    found = collection.matches(filter)
    seconds = perf_counter() - started
    for trace in traces:
        trace.add("filter", seconds)
    return found
