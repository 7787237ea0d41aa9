"""A table of texts, and each way to write one: terminal, Markdown, HTML and LaTeX."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from hubless.diagnosing.pages import render

_LATEX = {mark: f"\\{mark}" for mark in "_%&#{}$"}
_LATEX |= {"\\": r"\textbackslash{}", "Δ": r"$\Delta$", "±": r"$\pm$", "–": "--"}


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

    def markdown(self) -> str:
        """Return the table in Markdown, with the best cells bold and the caption below."""
        rule = ["---", *(["---:"] * (len(self.headings) - 1))]
        rows = [self.headings, rule, *self._marked("**{}**".format, str)]
        return "\n".join([*(f"| {' | '.join(row)} |" for row in rows), "", self.caption, ""])

    def latex(self) -> str:
        """Return the table for a paper; it needs the package booktabs."""
        head, *rows = (
            " & ".join(row) + r" \\"
            for row in [list(map(_escaped, self.headings)), *self._marked(r"\textbf{{{}}}".format, _escaped)]
        )
        begin = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{l{'r' * (len(self.headings) - 1)}}}"]
        end = [r"\bottomrule", r"\end{tabular}", rf"\caption{{{_escaped(self.caption)}}}", r"\end{table}", ""]
        return "\n".join([*begin, r"\toprule", head, r"\midrule", *rows, *end])

    def html(self) -> str:
        return render("notebook.html", tables=[self])

    def _marked(self, mark: Callable[[str], str], write: Callable[[str], str]) -> list[list[str]]:
        return [
            [mark(write(text)) if (row, place) in self.best else write(text) for place, text in enumerate(line)]
            for row, line in enumerate(self.lines)
        ]


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(mark, mark) for mark in text)
