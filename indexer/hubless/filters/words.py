"""The words of filters: names that mean something in their JSON."""

from hubless.filters.kinds import EQUALITY, ORDER

FIELD = "field"
COMBINATIONS = ("and", "or", "not")
OPERATORS = (*EQUALITY, *ORDER, "exists", "contains", "prefix")
RESERVED = (*COMBINATIONS, FIELD, *OPERATORS)
"""Names that short filters do not have."""
