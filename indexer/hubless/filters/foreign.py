"""Filters as other programs write them → the same filter in the form of hubless, for the message that refuses them.

    {"price": {"$lt": 20}}, {"$and": [filter, …]}                       Chroma, Pinecone, MongoDB, LangChain
    {"must": [{"key": "price", "range": {"lt": 20}}]}                  Qdrant
    {"bool": {"filter": [{"term": {"genre": "law"}}]}}                  Elasticsearch, OpenSearch
    {"operator": "AND", "conditions": [{"field": …, "value": …}]}       Haystack
    {"condition": "and", "filters": [{"key": …, "value": …}]}           LlamaIndex
    [filter, …]                                                         a list of any of these
    "price < 20 and genre in ['law', 'art']"                            Milvus, LanceDB, SQL

As in most of them, an absent value differs from every value: `$ne` becomes `not` around `eq`.
"""

import json
from collections.abc import Callable
from typing import Any

from hubless.filters.expression import read_expression
from hubless.filters.operators import OPERATORS
from hubless.filters.words import COMBINATIONS, FIELD

_Json = dict[str, Any]
_Asking = Callable[[str, Any], _Json]

_DEEPEST = 20


class NoForm(Exception):
    """A filter has no counterpart here, or nobody writes it so."""


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list) or _is_filters(value):
        raise NoForm
    return value


def _equal(key: str, value: Any) -> _Json:
    return {"field": key, "exists": False} if value is None else {"field": key, "eq": value}


def _between(key: str, value: Any) -> _Json:
    low, high = _listed(value) if isinstance(value, list) and len(value) == 2 else (None, None)
    if low is None or high is None:
        raise NoForm
    return {"field": key, "gte": low, "lte": high}


def _each(joined: str, key: str, value: Any) -> _Json:
    return {joined: [{"field": key, "contains": one} for one in _listed(value)]}


def _same(operator: str) -> _Asking:
    return lambda key, value: {"field": key, operator: value}


TESTS: dict[str, _Asking] = {
    **{name: _same(name) for name in OPERATORS},
    **dict.fromkeys(("eq", "=", "==", "value"), _equal),
    **dict.fromkeys(("ne", "!=", "<>"), lambda key, value: {"not": _equal(key, value)}),
    **{sign: _same(name) for sign, name in {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}.items()},
    **dict.fromkeys(("in", "any of"), lambda key, value: {"field": key, "in": _listed(value)}),
    **dict.fromkeys(("nin", "not in", "except"), lambda key, value: {"not": {"field": key, "in": _listed(value)}}),
    "any": lambda key, value: {"field": key, "in": _listed(value)},
    "all": lambda key, value: _each("and", key, value),
    "between": _between,
    "not contains": lambda key, value: {"not": {"field": key, "contains": value}},
    "exists": lambda key, value: {"field": key, "exists": bool(value)},
}
"""Operators of others, without `$` and in small letters, and what they ask."""

JOINED: dict[str, Callable[[list[_Json]], _Json]] = {
    **dict.fromkeys(("and", "must", "filter"), lambda parts: _all(parts)),
    **dict.fromkeys(("or", "should"), lambda parts: {"or": parts}),
    "not": lambda parts: {"not": _all(parts)},
    **dict.fromkeys(("must not", "nor"), lambda parts: {"not": {"or": parts} if len(parts) > 1 else parts[0]}),
}
"""Combinations of others, likewise."""

WRAPPERS = ("bool", "term", "terms", "match", "range", "where")
"""Names around what could stand without them."""
_PRESENCE = {"is_null": ("key", False), "is_empty": ("key", False), "exists": ("field", True)}
"""Names that ask for presence: the member that names the column, and whether its value is there."""
KEYS, PARTS, JOINS = ("field", "key"), ("conditions", "filters"), ("operator", "condition")
"""Names of a column, of the parts of a combination, and of the combination, as Haystack and LlamaIndex have them."""


def rewritten(given: Any) -> _Json | None:
    """Return a filter of another program in the form of hubless; None if it has none, or is in this form already."""
    try:
        if isinstance(given, str):
            return read_expression(given, TESTS) or _full(json.loads(given), 0)
        made = _full(given, 0)
    except (NoForm, ValueError, RecursionError):
        return None
    return None if _is_ours(given) else made


def _full(given: Any, depth: int) -> _Json:
    """Read one filter: raises `NoForm` for what is none."""
    if depth > _DEEPEST or not given:
        raise NoForm
    if isinstance(given, list):
        return _all([_full(one, depth + 1) for one in given])
    if not isinstance(given, dict) or not all(map(_is_text, given)):
        raise NoForm
    key = _first(given, KEYS, _is_text)
    if key is not None:
        return _asked(key, {name: value for name, value in given.items() if name not in KEYS})
    parts = _first(given, PARTS, _is_filters)
    if parts is not None:
        return _joined(_first(given, JOINS, _is_text) or "and", parts, depth)
    return _all([_member(name, value, depth) for name, value in given.items()])


def _member(name: str, value: Any, depth: int) -> _Json:
    """Read a member of a filter: a combination, or a column with what is asked of it."""
    if _plain(name) in JOINED and _is_filters(value):
        return _joined(name, value, depth)
    of_presence = _PRESENCE.get(name)
    if of_presence is not None and isinstance(value, dict) and isinstance(value.get(of_presence[0]), str):
        return {"field": value[of_presence[0]], "exists": of_presence[1]}
    if name in WRAPPERS and isinstance(value, dict):
        return _full(value, depth + 1)
    if name.startswith("$") or _plain(name) in (*JOINED, *TESTS):
        raise NoForm
    if isinstance(value, dict):
        return _asked(name, value)
    return _tested("in" if isinstance(value, list) else "eq", name, value)


def _asked(key: str, tests: _Json) -> _Json:
    """Read what is asked of a column, as `{"$gte": 1}`, `{"range": {"gte": 1}}` or `{"operator": ">=", "value": 1}`."""
    if isinstance(tests.get("operator"), str):
        tests = {tests["operator"]: tests.get("value")}
    flat = {name: value for name, value in tests.items() if not (name in WRAPPERS and isinstance(value, dict))}
    for name in tests.keys() - flat.keys():
        flat |= tests[name]
    made = [_tested(name, key, value) for name, value in flat.items()]
    if made and all("field" in one for one in made):
        return {name: value for one in made for name, value in one.items()}
    return _all(made)


def _tested(name: str, key: str, value: Any) -> _Json:
    test = TESTS.get(_plain(name))
    if test is None or isinstance(value, dict):
        raise NoForm
    return test(key, value)


def _joined(name: str, parts: Any, depth: int) -> _Json:
    join = JOINED.get(_plain(name))
    if join is None:
        raise NoForm
    return join([_full(part, depth + 1) for part in (parts if isinstance(parts, list) else [parts])])


def _all(parts: list[_Json]) -> _Json:
    if not parts:
        raise NoForm
    return parts[0] if len(parts) == 1 else {"and": parts}


def _is_ours(given: Any) -> bool:
    """Return whether a filter has our form already, so that something else is wrong with it."""
    if not isinstance(given, dict):
        return False
    if FIELD in given:
        return all(name in (FIELD, *OPERATORS) for name in given)
    if len(given) == 1 and (name := next(iter(given))) in COMBINATIONS:
        return all(map(_is_ours, given[name] if isinstance(given[name], list) else [given[name]]))
    return not any(_is_filters(value) for value in given.values())


def _first(given: _Json, names: tuple[str, ...], fits: Callable[[Any], bool]) -> Any:
    """Return the first member by these names that fits; None without any."""
    return next((given[name] for name in names if fits(given.get(name))), None)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_filters(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict) for one in value))


def _plain(name: str) -> str:
    return name.lstrip("$").lower().replace("_", " ")
