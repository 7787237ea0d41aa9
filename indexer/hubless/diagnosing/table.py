"""A table of texts, for a terminal and a notebook."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from hubless.search.pages import render


@dataclass(frozen=True)
class TextTable:
    """Headings, and lines with a cell for each, of which the first is text. `best` cells (line, column) are bold."""

    headings: Sequence[str]
    lines: Sequence[Sequence[str]]
    caption: str = ""
    best: Collection[tuple[int, int]] = ()
    first: Sequence[str] = ()
    """Headings that stand first on a terminal, which may be too narrow for the others."""

    def rich(self) -> Table:
        """Return the table for a terminal, with the columns of `first` first and the best cells bold."""
        order = [self.headings.index(heading) for heading in self.first if heading in self.headings]
        order += [number for number in range(len(self.headings)) if number not in order]
        table = Table(caption=self.caption)
        for number in order:
            # a figure with its interval stays on one line
            width = max(len(line[number]) for line in [self.headings, *self.lines]) if number else None
            table.add_column(self.headings[number], justify="right" if number else "left", min_width=width)
        for place, line in enumerate(self.lines):
            table.add_row(*(Text(line[number], "bold" if (place, number) in self.best else "") for number in order))
        return table

    def html(self) -> str:
        return render("notebook.html", tables=[self])
