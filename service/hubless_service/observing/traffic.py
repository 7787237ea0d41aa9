"""Traffic is what people ask. All that counts or learns from queries and lists is told of these, and no others."""

from collections.abc import Mapping
from typing import Any

from hubless_service.http.trace import Trace

NO_SAMPLE = b"x-no-sample"
"""The header of a request that is none: somebody looks, a probe asks, or whoever asks objects."""


def is_traffic(trace: Trace, options: Mapping[str, Any], usual: float) -> bool:
    """Return whether a query or list is what people ask, by its request and by the options that it gives.

    Another strength than the usual one looks what it would do, and so does `explain`. A later page was asked already.
    """
    return (
        NO_SAMPLE not in trace.heads
        and options.get("strength") in (None, usual)
        and "skip" not in options
        and "explain" not in options
    )
