"""A table of texts, and each way to write one: terminal, Markdown, HTML and LaTeX. Files of a measured result."""

import csv
import io
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from hubless.errors import InputError, storage_errors
from hubless.lab.pages import render
from hubless.store.durable import replace_text

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


FORMATS: Mapping[str, Callable[[Any, TextTable, Sequence[str]], str]] = {
    ".json": lambda result, table, drawn: (
        json.dumps(result.as_json(), indent=2, ensure_ascii=False, default=str) + "\n"
    ),
    ".csv": lambda result, table, drawn: _csv(result.records()),
    ".md": lambda result, table, drawn: table.markdown(),
    ".tex": lambda result, table, drawn: table.latex(),
    ".svg": lambda result, table, drawn: result.plot(*drawn).svg("#fff") + "\n",
}


def check_output(path: Path) -> None:
    """Raise `InputError` unless the path ends in a known format."""
    if path.suffix not in FORMATS:
        raise InputError("output", f"a file ending in {', '.join(FORMATS)}", path.suffix or "no ending")


def write_result(result: Any, table: TextTable, path: Path, *drawn: str) -> None:
    """Write a comparison or an abstention, its table or its picture, in the format of the path's ending.

    Raises `InputError` for another ending, and `StorageError`.
    """
    check_output(path)
    with storage_errors(path):
        replace_text(path, FORMATS[path.suffix](result, table, drawn))


def _csv(records: Sequence[Mapping[str, Any]]) -> str:
    written = io.StringIO()
    names = list(dict.fromkeys(name for record in records for name in record))
    writer = csv.DictWriter(written, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return written.getvalue()


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(mark, mark) for mark in text)
