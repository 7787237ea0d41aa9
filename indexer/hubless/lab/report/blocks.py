"""Pieces of the page: tables, pictures, items with their payload. All text is escaped here."""

import json
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from hubless.lab.gallery import Named
from hubless.lab.report.closeups import Example, Hit
from hubless.lab.report.plots import Picture
from hubless.vectors.images import image_of, is_image

LONGEST_FIELD = 160
"""Characters of a payload field; the rest is cut."""
MOST_FIELDS = 6
WIDE = 6
"""A table of more columns is set smaller, and becomes lists earlier."""


def table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table whose rows become small lists on a phone, each value with its heading."""
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    body = "".join(_row(headings, line) for line in lines)
    kind = ' class="wide"' if len(headings) > WIDE else ""
    return f"<table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _row(headings: Sequence[str], line: Sequence[str]) -> str:
    first, *rest = line
    cells = [
        f'<td data-label="{escape(heading)}">{escape(value)}</td>'
        for heading, value in zip(headings[1:], rest, strict=True)
    ]
    return f'<tr><th scope="row">{escape(first)}</th>{"".join(cells)}</tr>'


def figure(picture: Picture) -> str:
    """A picture with its title above and its caption below."""
    name = escape(picture.title)
    return (
        f'<figure><div class="title">{name}</div><div role="img" aria-label="{name}">{picture.svg}</div>'
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
    )


def pair(pictures: tuple[Picture, Picture]) -> str:
    """Two pictures side by side, with the caption of the first below both."""
    shown = "".join(
        f'<div><div class="title">{escape(one.title)}</div>'
        f'<div role="img" aria-label="{escape(one.title)}">{one.svg}</div></div>'
        for one in pictures
    )
    caption = f"<figcaption>{escape(pictures[0].caption)}</figcaption>"
    return f'<figure class="pair"><div class="sides">{shown}</div>{caption}</figure>'


def item(target: Named, below: str, *, images: bool, kind: str = "") -> str:
    """A target: its image if it has one, its id, some fields of its payload, and a line below."""
    shown = image_of(target.payload)
    picture = ""
    if images and shown is not None:
        picture = (
            f'<img src="{escape(shown[1])}" alt="" width="96" height="96" loading="lazy" decoding="async" '
            'referrerpolicy="no-referrer">'
        )
    fields = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in _fields(target.payload))
    listed = f"<dl>{fields}</dl>" if fields else ""
    return (
        f'<li class="item {kind}">{picture}<div><strong>{escape(str(target.id))}</strong>{listed}'
        f'<div class="count">{escape(below)}</div></div></li>'
    )


def _fields(payload: dict[str, Any] | None) -> list[tuple[str, str]]:
    """The first fields that say something, without addresses of images."""
    said = []
    for name, value in (payload or {}).items():
        if value is None or (isinstance(value, str) and is_image(name, value)):
            continue
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        text = " ".join(text.split())
        said.append((name, text if len(text) <= LONGEST_FIELD else f"{text[:LONGEST_FIELD]}…"))
    return said[:MOST_FIELDS]


def items(listed: Iterable[str]) -> str:
    """Items as cards."""
    return f'<ul class="items">{"".join(listed)}</ul>'


def example(found: Example, *, images: bool) -> str:
    """The first hits of a query, raw beside corrected."""
    sides = "".join(
        f'<div><div class="title">{title}</div><ol class="hits">{"".join(_hit(hit, images) for hit in hits)}</ol></div>'
        for title, hits in (("raw", found.before), ("with auto", found.after))
    )
    return f'<section class="example"><h3>{escape(found.query)}</h3><div class="sides">{sides}</div></section>'


def _hit(hit: Hit, images: bool) -> str:
    mark = {True: "right · ", False: "", None: ""}[hit.right]
    return item(hit.target, f"{mark}score {hit.score:.4f}", images=images, kind="right" if hit.right else "")


def glossary(words: dict[str, str]) -> str:
    """Words and what they mean."""
    entries = "".join(f"<dt>{escape(word)}</dt><dd>{escape(meaning)}</dd>" for word, meaning in words.items())
    return f'<dl class="glossary">{entries}</dl>'
