"""Images that a payload names: links that a page may show, and nothing else."""

import re
from typing import Any
from urllib.parse import urlsplit

_NAMED = re.compile(r"(^|_)(image|img|photo|picture|pic|thumbnail|thumb|poster|cover|avatar|icon)(_|$)", re.IGNORECASE)
"""Columns of these names hold the address of an image, whatever its path ends with."""
_ENDINGS = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".avif", ".svg")


def link_of(payload: dict[str, Any] | None) -> str | None:
    """Return the first http(s) address of an image that a payload names; None without one."""
    links = (value for column, value in (payload or {}).items() if isinstance(value, str) and is_link(column, value))
    return next(links, None)


def is_link(column: str, value: str) -> bool:
    """Return True if a value of a column is the http(s) address of an image."""
    try:
        address = urlsplit(value)
    except ValueError:
        return False
    if address.scheme not in ("http", "https") or not address.netloc:
        return False
    return _NAMED.search(column) is not None or address.path.lower().endswith(_ENDINGS)
