"""A table of texts as Markdown and LaTeX."""

from collections.abc import Callable

from hubless.diagnosing.table import TextTable

_LATEX = {mark: f"\\{mark}" for mark in "_%&#{}$"}
_LATEX |= {"\\": r"\textbackslash{}", "Δ": r"$\Delta$", "±": r"$\pm$", "–": "--"}


def as_markdown(table: TextTable) -> str:
    """Return a table in Markdown, with the best cells bold and the caption below."""
    rule = ["---", *(["---:"] * (len(table.headings) - 1))]
    rows = [table.headings, rule, *_marked(table, "**{}**".format, str)]
    return "\n".join([*(f"| {' | '.join(row)} |" for row in rows), "", table.caption, ""])


def as_latex(table: TextTable) -> str:
    """Return a table for a paper; it needs the package booktabs."""
    head, *rows = (
        " & ".join(row) + r" \\"
        for row in [list(map(_escaped, table.headings)), *_marked(table, r"\textbf{{{}}}".format, _escaped)]
    )
    begin = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{l{'r' * (len(table.headings) - 1)}}}"]
    end = [r"\bottomrule", r"\end{tabular}", rf"\caption{{{_escaped(table.caption)}}}", r"\end{table}", ""]
    return "\n".join([*begin, r"\toprule", head, r"\midrule", *rows, *end])


def _marked(table: TextTable, mark: Callable[[str], str], write: Callable[[str], str]) -> list[list[str]]:
    return [
        [mark(write(text)) if (row, place) in table.best else write(text) for place, text in enumerate(line)]
        for row, line in enumerate(table.lines)
    ]


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(mark, mark) for mark in text)
