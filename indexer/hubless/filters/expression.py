"""Conditions written as a text, as Milvus, LanceDB and SQL have them → a filter. Python's parser reads them."""

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

_Json = dict[str, Any]
Tests = Mapping[str, Callable[[str, Any], _Json]]

_LONGEST = 1000
"""Characters of a text that is read."""
_TOKENS = re.compile(r"""'[^']*'|"[^"]*"|\w+|[<>!=]=|<>|=|&&|\|\||.""", re.IGNORECASE | re.DOTALL)
_WORDS = {
    **{word: word for word in ("and", "or", "not", "in", "is")},
    "=": "==",
    "<>": "!=",
    "&&": " and ",
    "||": " or ",
    "null": "None",
    "true": "True",
    "false": "False",
}
_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Is: "eq",
    ast.IsNot: "ne",
    ast.Gt: "gt",
    ast.GtE: "gte",
    ast.Lt: "lt",
    ast.LtE: "lte",
    ast.In: "in",
    ast.NotIn: "nin",
}
_MIRRORED = {"gt": "lt", "lt": "gt", "gte": "lte", "lte": "gte", "eq": "eq", "ne": "ne"}


def read_expression(text: str, tests: Tests) -> _Json | None:
    """Return the filter of a text, whose comparisons `tests` make; None if it is not made of comparisons."""
    if len(text) > _LONGEST:
        return None
    written = "".join(_WORDS.get(token.lower(), token) for token in _TOKENS.findall(text.strip()))
    try:
        return _filter(ast.parse(written, mode="eval").body, tests)
    except (SyntaxError, ValueError, LookupError, RecursionError, MemoryError):
        return None


def _filter(node: ast.expr, tests: Tests) -> _Json:
    match node:
        case ast.BoolOp(op=ast.And(), values=parts):
            return {"and": [_filter(part, tests) for part in parts]}
        case ast.BoolOp(op=ast.Or(), values=parts):
            return {"or": [_filter(part, tests) for part in parts]}
        case ast.UnaryOp(op=ast.Not(), operand=part):
            return {"not": _filter(part, tests)}
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [left, *others]
            made = [_compared(sides[i], _OPERATORS[type(op)], sides[i + 1], tests) for i, op in enumerate(ops)]
            return made[0] if len(made) == 1 else {"and": made}
    raise ValueError


def _compared(left: ast.expr, operator: str, right: ast.expr, tests: Tests) -> _Json:
    if isinstance(left, ast.Constant):
        left, operator, right = right, _MIRRORED[operator], left
    value = ast.literal_eval(right)
    return tests[operator](_name(left), list(value) if isinstance(value, tuple | set) else value)


def _name(node: ast.expr) -> str:
    """The name of a column: `a`, `a.b` or `a["b"]`."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=inner, attr=name) | ast.Subscript(value=inner, slice=ast.Constant(value=str(name))):
            return f"{_name(inner)}.{name}"
    raise ValueError
