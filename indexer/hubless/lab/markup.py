"""Pieces of HTML for notebooks and reports. All text is escaped here. Colours are the reader's: light or dark."""

import re
from collections.abc import Collection, Iterable, Sequence
from html import escape

_CODE = re.compile("`([^`]+)`")
_CELL = "padding: 2px 8px; text-align: {side}; font-variant-numeric: tabular-nums"


def paragraphs(sentences: Iterable[str], kind: str = "") -> str:
    """A paragraph a sentence; what stands in `backticks` is code."""
    attribute = f' class="{kind}"' if kind else ""
    written = (_CODE.sub(r"<code>\1</code>", escape(sentence)) for sentence in sentences)
    return "".join(f"<p{attribute}>{sentence}</p>" for sentence in written)


def table(
    headings: Sequence[str],
    lines: Sequence[Sequence[str]],
    caption: str = "",
    strong: Collection[tuple[int, int]] = (),
) -> str:
    """A table without a style sheet: the first column to the left, numbers to the right.

    Parameters
    ----------
    lines : a cell for each heading
    caption : what stands above it
    strong : line and column of the cells that stand out
    """
    above = f'<caption style="text-align: left">{escape(caption)}</caption>' if caption else ""
    head = "".join(_cell("th", name, place, ' scope="col"') for place, name in enumerate(headings))
    rows = []
    for number, line in enumerate(lines):
        first, *rest = line
        cells = [_cell("th", first, 0, ' scope="row"')]
        for place, text in enumerate(rest, start=1):
            cells.append(_cell("td", text, place, strong=(number, place) in strong))
        rows.append(f"<tr>{''.join(cells)}</tr>")
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<table style="margin-bottom: 1em">{above}{body}</table>'


def _cell(tag: str, text: str, place: int, attribute: str = "", *, strong: bool = False) -> str:
    style = _CELL.format(side="right" if place else "left")
    shown = f"<strong>{escape(text)}</strong>" if strong else escape(text)
    return f'<{tag}{attribute} style="{style}">{shown}</{tag}>'
