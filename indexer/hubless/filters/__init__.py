"""Filters: conditions on payload, as JSON, that choose the targets of a search. Stands above `vectors` only."""

from hubless.filters.grammar import FILTER_LIMITS, Filter, FilterLimits, parse_filter
from hubless.filters.rows import read_row, table_of
from hubless.filters.schema import filter_schemas

__all__ = ["FILTER_LIMITS", "Filter", "FilterLimits", "filter_schemas", "parse_filter", "read_row", "table_of"]
