"""Images that a payload names and the report may show: links, and data URIs."""

import re
from typing import Any

from hubless.vectors.images import is_link

_DATA = re.compile(r"data:image/(png|jpeg|gif|webp|avif|svg\+xml)[;,]", re.IGNORECASE)
_LONGEST = 200_000
"""Characters of a data URI. A longer one is left out, or one page would hold a whole catalog of images."""


def image_of(payload: dict[str, Any] | None) -> str:
    """Return the address of the first image that a payload names; nothing without one."""
    fields = (payload or {}).items()
    return next((value for name, value in fields if isinstance(value, str) and is_image(name, value)), "")


def is_image(column: str, value: str) -> bool:
    """Return True if a value of a column is the address of an image that a page may show."""
    if value[:5].lower() == "data:":
        return len(value) <= _LONGEST and _DATA.match(value) is not None
    return is_link(column, value)
