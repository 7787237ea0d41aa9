"""For mkdocstrings: a parameter's line in our docstrings is its shape and meaning. Its type is in the signature."""

import re
from typing import Any

import griffe

SECTIONS = re.compile(r"(?ms)^(Parameters|Attributes|Returns)\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)")
ENTRY = re.compile(r"(?m)^(\w+(?:, \w+)*) : (.+)$")


class Shapes(griffe.Extension):
    """Moves what follows the name of a parameter into its description, so that it is not taken for a type."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = SECTIONS.sub(self._section, obj.docstring.value)

    def _section(self, found: re.Match[str]) -> str:
        if found[1] == "Returns":
            return found[0]
        return f"{found[1]}\n{'-' * len(found[1])}\n" + ENTRY.sub(r"\1\n    \2", found[2])
