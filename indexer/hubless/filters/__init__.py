"""Which targets a search is to look at: conditions on their payload, as JSON."""

from hubless.filters.grammar import LIMITS, Filter, Limits, parse_filter

__all__ = ["LIMITS", "Filter", "Limits", "parse_filter"]
