"""Filters that cannot be meant: of typed columns, and of free payload."""

from datetime import datetime

from support.refusals.shape import COMMAND, HTTP, PYTHON, Refused

from hubless.errors import UnknownField

DEEP = {"field": "year", "eq": 1}
for _ in range(10):
    DEEP = {"not": DEEP}
OF_COLUMNS = [
    ([], "filter: expected an object…a list of 0"),
    ({}, "filter: expected one of and, or, not, or field…nothing"),
    ({"and": [], "or": []}, "filter: expected one of and, or, not…got an object of and, or"),
    ({"year": 2000, "eq": 3}, "filter: …field with its operators…year, eq"),
    ({"year": "2000"}, 'filter.year: expected a whole number, …field "year" is int32…"2000"'),
    ({"year": None}, "filter.year: …exists…null"),
    ({"year": {"gte": {}}}, 'filter.year: …a list of values…"field": name…an object'),
    ({"title": "a", "year": [1, "2"]}, 'filter.year[1]: expected a whole number…"2"'),
    ({"tags": "x"}, "filter.tags: expected contains or exists…list"),
    ({"year": [1] * 10_001}, "filter.year: expected at most 10000 values"),
    ({"and": [{"year": 1, "title": "a"}] * 128}, "filter: expected at most 256 conditions"),
    ({"and": {}}, "filter.and: expected a list of filters…an object"),
    ({"not": None}, "filter.not: expected an object…null"),
    ({"not": []}, "filter.not: expected an object…a list of 0"),
    ({"and": [{"or": [3]}]}, "filter.and[0].or[0]: expected an object…got 3"),
    ({"gte": 3}, "filter: expected field beside gte"),
    ({"field": "year"}, "filter: expected an operator…gte"),
    ({"field": 3, "eq": 1}, "filter.field: expected the name of a payload column…got 3"),
    ({"field": "year", "eq": "2000"}, 'filter.eq: expected a whole number, …field "year" is int32…"2000"'),
    ({"field": "year", "eq": 2000.0}, "filter.eq: expected a whole number…2000.0"),
    ({"field": "year", "gt": True}, "filter.gt: expected a whole number…true"),
    ({"field": "year", "eq": None}, "filter.eq: expected a whole number…exists…null"),
    ({"field": "year", "eq": []}, "filter.eq: expected a whole number…a list of 0"),
    ({"field": "year", "in": 3}, "filter.in: expected a list of values…got 3"),
    ({"field": "year", "in": [1, "2"]}, 'filter.in[1]: expected a whole number…"2"'),
    ({"field": "year", "prefix": "2"}, "filter.prefix: expected eq or ne or in…int32…got prefix"),
    ({"field": "year", "contains": 2}, "filter.contains: expected eq or ne or in…got contains"),
    ({"field": "year", "exists": 1}, "filter.exists: expected true or false…got 1"),
    ({"field": "price", "lt": "3"}, 'filter.lt: expected a number…double…"3"'),
    ({"field": "exact", "lt": 3.333}, "filter.lt: …can hold exactly…decimal128(6, 2)…3.333"),
    ({"field": "exact", "lt": "NaN"}, "filter.lt: …can hold exactly"),
    ({"field": "title", "eq": 3}, "filter.eq: expected a string…got 3"),
    ({"field": "live", "gt": False}, "filter.gt: expected eq or ne or in or exists…bool"),
    ({"field": "live", "eq": 1}, "filter.eq: expected true or false…got 1"),
    ({"field": "day", "eq": "31.1.2026"}, "filter.eq: expected a date as ISO 8601…31.1.2026"),
    ({"field": "day", "eq": "2026-01-31T10:00:00"}, "filter.eq: expected a date as ISO 8601"),
    ({"field": "at", "eq": "2026-01-31T10:00:00Z"}, "filter.eq: …without offset"),
    ({"field": "zoned", "eq": "2026-01-31T10:00:00"}, "filter.eq: …with its offset"),
    ({"field": "clock", "eq": "10:00:00+01:00"}, "filter.eq: expected a time of day"),
    ({"field": "tags", "eq": "x"}, "filter.eq: expected contains or exists…list…got eq"),
    ({"field": "tags", "contains": 3}, "filter.contains: expected a string…got 3"),
    ({"field": "parts", "eq": {}}, "filter.eq: expected exists…struct"),
    ({"field": "rows", "contains": {}}, "filter.contains: expected exists…list"),
    (DEEP, "filter: expected filters nested at most 10 deep"),
    ({"field": "year", "in": [1] * 10_001}, "filter.in: expected at most 10000 values…10001"),
    ({"or": [{"field": "year", "eq": 1}] * 256}, "filter: expected at most 256 conditions…more"),
    ({"and": [{"or": []}] * 256}, "filter: expected at most 256 conditions…more"),
]
UNKNOWN = [
    ({"field": "yaer", "eq": 1}, "filter.field: expected one of year, price, exact"),
    ({"field": "year", "equals": 1}, "filter.equals: expected one of eq, ne, in"),
    ({"nor": []}, "filter.nor: expected one of and, or, not, field"),
    ({"year": 1, "yaer": 1}, "filter.yaer: expected one of and, or, not, field, year, price"),
    ({"x" * 1000: []}, f"filter.{'x' * 80}…: expected one of and, or, not"),
    ({"a\n\x1b[31m": []}, r"filter.a\n\x1b[31m: expected one of and, or, not"),
]
NOT_JSON = [
    ({3: []}, "filter: expected an object"),
    ({"field": "year", "eq": 10**5000}, "filter: expected …some thousand digits"),
    ({"field": "title", "eq": 10**5000}, "filter.eq: …too many digits"),
    ({"field": "price", "lt": float("nan")}, "filter.lt: expected a number…NaN"),
    ({"field": "price", "lt": 10**400}, "filter.lt: expected a number"),
    ({"field": "title", "eq": "\ud800"}, "filter.eq: expected a string"),
    ({"field": "at", "eq": datetime(2026, 1, 31)}, "filter.eq: …as ISO 8601"),
]
FREE = [
    ({"field": "year", "eq": None}, "filter.eq: expected a string, a number, true or false, got null"),
    ({"field": "year", "eq": [1]}, "filter.eq: expected a string"),
    ({"field": "year", "gt": True}, "filter.gt: expected a number or a string, got true"),
    ({"field": "year", "in": 3}, "filter.in: expected a list"),
    ({"field": "year", "in": [{}]}, "filter.in: expected a string"),
    ({"field": "year", "exists": 1}, "filter.exists: expected true or false"),
    ({"field": "year", "prefix": 1}, "filter.prefix: expected a string"),
    ({"field": "year", "eq": float("nan")}, "filter.eq: expected a string, a number"),
    ({"field": "year", "lt": float("inf")}, "filter.lt: expected a string, a number"),
    ({"field": "year", "eq": "\ud800"}, "filter.eq: expected a value of JSON"),
]
EVERYWHERE = (PYTHON, COMMAND, HTTP)
ROWS_OF_FILTERS = [
    *(Refused("query", {"filter": document}, words, doors=EVERYWHERE) for document, words in OF_COLUMNS),
    *(Refused("query", {"filter": document}, words, UnknownField, EVERYWHERE) for document, words in UNKNOWN),
    *(Refused("query", {"filter": document}, words) for document, words in NOT_JSON),
    *(Refused("query_free", {"filter": document}, words) for document, words in FREE),
    Refused("query_bare", {"filter": {"and": []}}, "filter: expected none, as collection 'index' has no payload"),
]
