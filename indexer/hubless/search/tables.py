"""Results as a table of HTML, which notebooks show."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

QUERIES, HITS = 5, 20
"""The most that is shown: a notebook is no place for thousands of rows."""
_UP, _DOWN = "#0072b2", "#d55e00"
"""Targets that the correction lifts, and hubs, which it lowers."""
_THUMBNAIL = "width: 64px; height: 64px; object-fit: contain; margin: 0"
_CELL = "padding: 2px 8px; text-align: right; font-variant-numeric: tabular-nums"


class Line(NamedTuple):
    """A line of a table of hits; `raw_rank` is None if it is not known, `image` an http(s) address or None."""

    id: str | int
    score: float
    similarity: float
    offset: float
    raw_rank: int | None
    image: str | None = None


def results_table(queries: Sequence[Sequence[Line]], total: int, strength: float, explained: bool) -> str:
    """The hits of some of the queries, with images, and offsets as bars: to the right and orange for hubs."""
    longest = max((abs(hit.offset) for hits in queries for hit in hits), default=0.0) or 1.0
    images = any(hit.image for hits in queries for hit in hits[:HITS])
    ranks = ["rank", "raw rank"] if explained else ["rank"]
    names = [*ranks, *(["image"] if images else []), "id", "score", "similarity", "offset", ""]
    head = "".join(f'<th scope="col" style="{_CELL}">{name}</th>' for name in names)
    parts = []
    for number, hits in enumerate(queries):
        title = f"results[{number}], of {total} queries" if total > 1 else "results[0]"
        caption = f'<caption style="text-align: left">{title}, strength {strength:g}</caption>'
        rows = "".join(_row(rank, hit, explained, images, longest) for rank, hit in enumerate(hits[:HITS], start=1))
        parts.append(f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{_left_out(hits)}")
    more = f"<p>{total - len(queries)} more queries</p>" if total > len(queries) else ""
    return f"<div>{''.join(parts)}{more}</div>"


def _row(rank: int, hit: Line, explained: bool, images: bool, longest: float) -> str:
    raw = ["–" if hit.raw_rank is None else str(hit.raw_rank)] if explained else []
    image = [_image(hit.image)] if images else []
    numbers = [f"{hit.score:.4f}", f"{hit.similarity:.4f}", f"{hit.offset:+.4f}"]
    texts = [str(rank), *raw, *image, escape(str(hit.id)), *numbers]
    cells = "".join(f'<td style="{_CELL}">{text}</td>' for text in texts)
    return f"<tr>{cells}<td>{_bar(hit.offset, longest)}</td></tr>"


def _image(address: str | None) -> str:
    if address is None:
        return ""
    # the host of the image is not told where the notebook stands
    asked = 'alt="" loading="lazy" decoding="async" referrerpolicy="no-referrer"'
    return f'<img src="{escape(address)}" {asked} style="{_THUMBNAIL}"/>'


def _bar(offset: float, longest: float) -> str:
    half = 50 * abs(offset) / longest
    left, colour = (50.0, _DOWN) if offset > 0 else (50 - half, _UP)
    bar = f"position: absolute; left: {left:.1f}%; width: {half:.1f}%; height: 100%; background: {colour}"
    return f'<div style="position: relative; width: 120px; height: 10px"><div style="{bar}"></div></div>'


def _left_out(hits: Sequence[Line]) -> str:
    return f"<p>{len(hits) - HITS} more hits</p>" if len(hits) > HITS else ""
