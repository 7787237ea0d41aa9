"""Show in errors what was given, in a few words."""

import json
from typing import Any

_LONGEST = 80
"""Characters of a filter that an error shows."""


def shown(value: Any) -> str:
    """Return a JSON value in a few words."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    try:
        return cut(json.dumps(value, ensure_ascii=False, default=str))
    except ValueError:  # Python writes no numbers of more than some thousand digits
        return "a number of too many digits"


def cut(text: str, longest: int = _LONGEST) -> str:
    """The beginning of a text that may be long."""
    return text if len(text) <= longest else text[:longest] + "…"
