"""Rows in Milvus' language: those of a filter, and those that are named one by one.

A condition on null is false here, and `not` makes it true. In Milvus it is null, and `not` leaves it null. So `not`
moves inwards to the conditions, and an opposite condition says that null meets it. Prefixes become ranges of texts:
`like` has wildcards, which versions of Milvus escape in different ways.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

import pyarrow as pa

from hubless.errors import InputError
from hubless.filters.instants import instant_of
from hubless.filters.kinds import TEXT, kind_of, plain_of
from hubless.filters.operators import OPERATORS
from hubless.filters.words import FIELD
from hubless.search.bitmap import Bitmap
from hubless.vectors.payload import Masks
from hubless_milvus.columns import plain
from hubless_milvus.names import ROW

FEW = 1000
"""So few rows are named one by one: Milvus compares with them, and needs no graph."""
LISTED = 10_000
"""Rows that one expression names, at most."""
MOST_LISTED = 100_000
"""Rows that the expressions of one search name, at most."""
_EVERYTHING, _NOTHING = f"{ROW} >= 0", f"{ROW} < 0"
_SYMBOLS = {"eq": "==", "ne": "!=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_OPPOSITES = {"eq": "ne", "ne": "eq", "gt": "lte", "gte": "lt", "lt": "gte", "lte": "gt"}
_LEAST, _MOST = -(2**63), 2**63 - 1
_BESIDE_LEAST = {"eq": "lt", "lte": "lt", "ne": "gte", "gt": "gte"}
"""Versions of Milvus cannot read the least int64, as they read digits before the sign. One more is compared with."""
_LAST_CHARACTER, _SURROGATES = chr(0x10FFFF), range(0xD800, 0xE000)
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


class Untranslatable(InputError):
    """A filter asks for what Milvus does not hold, or not exactly: names the column."""

    def __init__(self, column: str) -> None:
        super().__init__("filter", "what Milvus keeps and can ask", f"one on {column!r}, which it cannot do exactly")


def translate(filter: Masks, schema: pa.Schema, fields: Mapping[str, str]) -> str:
    """A filter as an expression that selects the same rows.

    `filter`: what `parse_filter` gave for this schema. `fields`: by column of the payload, the name of its field in
    Milvus; only those that Milvus keeps. Raises `Untranslatable` naming the column that Milvus does not keep.
    """
    return _Translator(schema, fields).node(json.loads(filter.key), True)


def among(rows: Iterable[int]) -> str:
    """An expression that selects these rows."""
    return f"{ROW} in [{', '.join(map(str, rows))}]"


def outside(rows: Iterable[int]) -> str:
    """An expression that selects all rows but these."""
    return f"{ROW} not in [{', '.join(map(str, rows))}]"


def both(*expressions: str) -> str:
    """An expression that selects what all of these do."""
    return _joined("and", expressions)


def literal(value: bool | int | float | str) -> str:
    """A value as it stands in an expression. A text cannot end its literal."""
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    return str(value).lower() if isinstance(value, bool) else repr(value)


class _Translator:
    def __init__(self, schema: pa.Schema, fields: Mapping[str, str]) -> None:
        self._schema = schema
        self._fields = fields

    def node(self, document: Mapping[str, Any], holds: bool) -> str:
        """The rows for which a filter holds, or those for which it does not."""
        if FIELD in document:
            name = document[FIELD]
            conditions = [(asked, value) for asked, value in document.items() if asked != FIELD]
            return _combined("and", holds, [self._condition(name, *each, holds) for each in conditions])
        ((name, inner),) = document.items()
        if name == "not":
            return self.node(inner, not holds)
        return _combined(name, holds, [self.node(part, holds) for part in inner])

    def _condition(self, name: str, asked: str, value: Any, holds: bool) -> str:
        if name not in self._fields:
            raise Untranslatable(name)
        field = self._fields[name]
        if asked == "exists":
            return _there(field) if value == holds else f"{field} is null"
        met = _Values(name, field, self._schema.field(name).type).that(asked, value, holds)
        return met if holds else _joined("or", [f"{field} is null", met])


class _Values:
    """Conditions on the values of a field that are not null."""

    def __init__(self, name: str, field: str, stored: pa.DataType) -> None:
        self._name = name
        self._field = field
        self._stored = plain_of(stored)

    def that(self, asked: str, value: Any, holds: bool) -> str:
        """The rows whose value meets a condition, or those whose value does not."""
        if asked in _SYMBOLS:
            return self._compared(asked if holds else _OPPOSITES[asked], value)
        if asked not in _TRANSLATIONS:
            raise Untranslatable(self._name)
        return _TRANSLATIONS[asked](self, value, holds)

    def _compared(self, asked: str, value: Any) -> str:
        if asked not in ("eq", "ne") and _is_instant(value, self._stored):
            raise Untranslatable(self._name)
        found = self._plain(value)
        if found is None:  # all values are on the same side of it
            return _there(self._field) if OPERATORS[asked].row_test(0, value) else _NOTHING
        if found == _LEAST and isinstance(found, int):
            if asked not in _BESIDE_LEAST:
                return _there(self._field) if asked == "gte" else _NOTHING
            asked, found = _BESIDE_LEAST[asked], _LEAST + 1
        return f"{self._field} {_SYMBOLS[asked]} {literal(found)}"

    def _in(self, listed: Sequence[Any], holds: bool) -> str:
        values = [found for value in listed if (found := self._plain(value)) is not None]
        if 0 in values and isinstance(values[values.index(0)], float):
            values += [0.0, -0.0]  # equal, but Milvus may look for their bits
        simple = [value for value in values if value != _LEAST or isinstance(value, float)]
        symbol = "in" if holds else "not in"
        parts = [f"{self._field} {symbol} [{', '.join(map(literal, simple))}]"] if simple else []
        if len(simple) < len(values):
            parts.append(self._compared("eq" if holds else "ne", _LEAST))
        return _combined("or", holds, parts)

    def _contains(self, value: Any, holds: bool) -> str:
        found = self._plain(value)
        if found is None:
            return _NOTHING if holds else _EVERYTHING
        if found == _LEAST and isinstance(found, int):
            raise Untranslatable(self._name)
        met = f"array_contains({self._field}, ({literal(found)}))"
        return met if holds else f"not {met}"

    def _prefix(self, prefix: str, holds: bool) -> str:
        if not prefix:
            return _there(self._field) if holds else _NOTHING
        parts = [self._compared("gte" if holds else "lt", prefix)]
        if (end := _after(prefix)) is not None:
            parts.append(self._compared("lt" if holds else "gte", end))
        return _combined("and", holds, parts)

    def _plain(self, value: Any) -> Any:
        """A value as Milvus stores it; None if it is beyond all that Milvus stores."""
        kind = kind_of(self._stored)
        if kind is None:
            raise Untranslatable(self._name)
        read = kind.read(value, self._stored)
        if (isinstance(read, int) and not _LEAST <= read <= _MOST) or (isinstance(read, float) and not isfinite(read)):
            return None
        if isinstance(read, bool | int | float | str):
            return read
        return plain(pa.array([read], kind.compared(self._stored)), self._stored)[0].as_py()


def _is_instant(value: Any, stored: pa.DataType) -> bool:
    """Return whether a value is compared with texts as an instant, where Milvus compares letters."""
    kind = kind_of(stored)
    return kind is not None and kind.family == TEXT and instant_of(value) is not None


_TRANSLATIONS: dict[str, Callable[[_Values, Any, bool], str]] = {
    "in": _Values._in,
    "contains": _Values._contains,
    "prefix": _Values._prefix,
}
TRANSLATED = (*_SYMBOLS, *_TRANSLATIONS, "exists")
"""Operators that have words in Milvus. What others select is named row by row."""


def _after(prefix: str) -> str | None:
    """The first text after all that begin with a prefix, by their characters; None if there is none."""
    prefix = prefix.rstrip(_LAST_CHARACTER)
    if not prefix:
        return None
    following = ord(prefix[-1]) + 1
    return prefix[:-1] + chr(_SURROGATES.stop if following in _SURROGATES else following)


def _there(field: str) -> str:
    return f"{field} is not null"


def _combined(how: str, holds: bool, parts: Sequence[str]) -> str:
    """The rows that meet a combination of conditions; if it does not hold, the parts are the opposites of them."""
    return _joined(how if holds else {"and": "or", "or": "and"}[how], parts)


def _joined(how: str, parts: Sequence[str]) -> str:
    if not parts:
        return _EVERYTHING if how == "and" else _NOTHING
    return parts[0] if len(parts) == 1 else f" {how} ".join(f"({part})" for part in parts)


class Selected(NamedTuple):
    """Expressions that together select some rows, and whether Milvus has to find them by the filter."""

    expressions: list[str]
    filtered: bool


def selected(matches: Bitmap | None, schema: pa.Schema | None, fields: Mapping[str, str]) -> Selected:
    """The rows that match.

    `schema`: of the payload. `fields`: as for `translate`. Raises `Untranslatable` if too many rows match to be named
    one by one, and Milvus does not keep a column of the filter.
    """
    if matches is None:
        return Selected([""], False)
    gone = matches.without
    if matches.filter is None and gone is not None and len(gone) < matches.count:
        return Selected([outside(gone.tolist())], False)
    if matches.count <= FEW or matches.filter is None or schema is None:
        return listed(matches)
    try:
        found = translate(matches.filter, schema, fields)
    except Untranslatable:
        if matches.count > MOST_LISTED:
            raise
        return listed(matches)
    return Selected([found if gone is None else both(found, outside(gone.tolist()))], True)


def listed(matches: Bitmap) -> Selected:
    """The rows that match, named one by one."""
    rows = matches.rows
    parts = [among(rows[start : start + LISTED].tolist()) for start in range(0, len(rows), LISTED)]
    return Selected(parts, False)
