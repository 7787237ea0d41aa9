"""Images that a payload names: the addresses that a page may show, and nothing else."""

import re
from typing import Any
from urllib.parse import urlsplit

_NAMED = re.compile(r"(^|_)(image|img|photo|picture|pic|thumbnail|thumb|poster|cover|avatar|icon)(_|$)", re.IGNORECASE)
"""Columns of these names hold the address of an image, whatever its path ends with."""
ENDINGS = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".avif", ".svg")
DATA = re.compile(r"data:image/(png|jpeg|gif|webp|avif|svg\+xml)[;,]", re.IGNORECASE)
_LONGEST = 200_000
"""Characters of a data URI. A longer one is left out, or one page would hold a whole catalog of images."""


def image_of(payload: dict[str, Any] | None) -> tuple[str, str] | None:
    """Return column and address of the first image that a payload names; None without one."""
    for column, value in (payload or {}).items():
        if isinstance(value, str) and is_image(column, value):
            return column, value
    return None


def link_of(payload: dict[str, Any] | None) -> str | None:
    """Return the first http(s) address of an image that a payload names; None without one."""
    links = (value for column, value in (payload or {}).items() if isinstance(value, str) and _is_link(column, value))
    return next(links, None)


def is_image(column: str, value: str) -> bool:
    """Return True if a value of a column is the address of an image that a page may show."""
    if value[:5].lower() == "data:":
        return len(value) <= _LONGEST and DATA.match(value) is not None
    return _is_link(column, value)


def _is_link(column: str, value: str) -> bool:
    try:
        address = urlsplit(value)
    except ValueError:
        return False
    if address.scheme not in ("http", "https") or not address.netloc:
        return False
    return _NAMED.search(column) is not None or address.path.lower().endswith(ENDINGS)
