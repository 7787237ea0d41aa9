"""Lines of Python as a page or a command prints them, and the value of the last one."""

import ast
from typing import Any

EVALUATED: dict[str, Any] = {}
"""The value of the last lines, as `hits`, which query lines of Python find."""


def evaluated(lines, names):
    *before, last = ast.parse(lines).body
    exec(compile(ast.Module(before, []), "<lines>", "exec"), names)  # noqa: S102
    EVALUATED["hits"] = eval(compile(ast.Expression(last.value), "<lines>", "eval"), names)  # noqa: S307
    return EVALUATED["hits"]
