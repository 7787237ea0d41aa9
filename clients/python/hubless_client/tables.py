"""Hits as a table of HTML, which notebooks show."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple
from urllib.parse import urlsplit

SHOWN = 20
"""Hits of a query that are shown at most."""
_NAMED = re.compile(r"(^|_)(image|img|photo|picture|pic|thumbnail|thumb|poster|cover|avatar|icon)(_|$)", re.IGNORECASE)
_ENDINGS = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".avif", ".svg")
_CELL = "padding: 2px 8px; text-align: right; font-variant-numeric: tabular-nums"
_HIDDEN = 'alt="" loading="lazy" decoding="async" referrerpolicy="no-referrer"'  # its host is not told where it stands
_THUMBNAIL = "width: 64px; height: 64px; object-fit: contain; margin: 0"


class Line(NamedTuple):
    """A line of a table: the parts of a hit that are shown."""

    id: str | int
    score: float
    similarity: float
    offset: float
    raw_rank: int | None
    payload: Mapping[str, Any] | None


def hits_table(lines: Sequence[Line], title: str, explained: bool) -> str:
    """Hits, best first, with offsets as bars: to the right and orange for hubs. Images are those of http(s) addresses.

    Parameters
    ----------
    lines : all hits of a query
    title : what stands above them
    explained : whether to show raw ranks
    """
    shown = lines[:SHOWN]
    images = [_link(line.payload) for line in shown]
    ranks = ["rank", "raw rank"] if explained else ["rank"]
    names = [*ranks, *(["image"] if any(images) else []), "id", "score", "similarity", "offset", ""]
    longest = max((abs(line.offset) for line in shown), default=0.0) or 1.0
    rows = []
    for rank, (line, image) in enumerate(zip(shown, images, strict=True), 1):
        raw = ["–" if line.raw_rank is None else str(line.raw_rank)] if explained else []
        picture = [_image(image)] if any(images) else []
        numbers = [f"{line.score:.4f}", f"{line.similarity:.4f}", f"{line.offset:+.4f}", _bar(line.offset, longest)]
        rows.append(_row("td", [str(rank), *raw, *picture, escape(str(line.id)), *numbers]))
    caption = f'<caption style="text-align: left">{escape(title)}</caption>'
    table = f"<table>{caption}<thead>{_row('th', names)}</thead><tbody>{''.join(rows)}</tbody></table>"
    more = f"<p>{len(lines) - SHOWN} more hits</p>" if len(lines) > SHOWN else ""
    return f"<div>{table}{more}</div>"


def _row(tag: str, cells: Sequence[str]) -> str:
    written = (f'<{tag} style="{_CELL}">{cell}</{tag}>' for cell in cells)
    return f"<tr>{''.join(written)}</tr>"


def _link(payload: Mapping[str, Any] | None) -> str | None:
    """The first http(s) address of an image, by its column or its ending."""
    for column, value in (payload or {}).items():
        if isinstance(value, str) and value.startswith(("http://", "https://")):
            try:
                path = urlsplit(value).path.lower()
            except ValueError:
                continue
            if _NAMED.search(column) or path.endswith(_ENDINGS):
                return value
    return None


def _image(address: str | None) -> str:
    return "" if address is None else f'<img src="{escape(address)}" {_HIDDEN} style="{_THUMBNAIL}"/>'


def _bar(offset: float, longest: float) -> str:
    half = 50 * abs(offset) / longest
    left, colour = (50.0, "#d55e00") if offset > 0 else (50 - half, "#0072b2")
    bar = f"position: absolute; left: {left:.1f}%; width: {half:.1f}%; height: 100%; background: {colour}"
    return f'<div style="position: relative; width: 120px; height: 10px"><div style="{bar}"></div></div>'
