"""A comparison as the tables of the papers: for the terminal, notebooks, Markdown, LaTeX and CSV."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from rich.table import Table
from rich.text import Text

from hubless.errors import InputError, storage_errors
from hubless.lab import markup
from hubless.lab.experiments.columns import SKEWNESS, Column, columns
from hubless.lab.experiments.distances import Distances
from hubless.lab.experiments.measured import Measured, Row
from hubless.measures.chance import antihubs_by_chance
from hubless.store.durable import replace_text

_CHANGE, _P = "ΔR@1 [95 %]", "p"
_FIRST = ("correction", "R@1", _CHANGE, _P, SKEWNESS)
"""First columns on a terminal: others may not fit beside them."""
Measures: TypeAlias = Sequence[str] | None
"""Which measures a table shows; None for the usual ones."""
_LATEX = {"\\": r"\textbackslash{}"} | {mark: f"\\{mark}" for mark in "_%&#{}$"}


@dataclass(frozen=True)
class Cell:
    """A number in words, and whether it is the best of its column."""

    text: str
    best: bool = False


def grid(comparison: Measured, measures: Measures = None) -> tuple[list[str], list[list[Cell]]]:
    """Headings, and a line of cells for each correction: what all formats show.

    Parameters
    ----------
    measures : which, as for `hubless.lab.experiments.columns.columns`. The change of R@1 stands beside R@1 only
    """
    shown = columns(comparison, measures)
    changes = "recall_at_1" in shown
    headings = ["correction", *(column.heading for column in shown.values()), *([_CHANGE] if changes else [])]
    tested = changes and any(row.mcnemar for row in comparison.rows)
    best = {name: _best(comparison, name, column) for name, column in shown.items()}
    lines = []
    for row in comparison.rows:
        line = [Cell(row.label), *(_cell(row, name, column, best[name]) for name, column in shown.items())]
        line += [Cell(_change(row))] if changes else []
        lines.append([*line, Cell(_p_value(row))] if tested else line)
    groups = list(comparison.group_shares)
    for row, line in zip(comparison.rows, lines, strict=True):
        line += [Cell(f"{100 * row.group_shares[group]:.1f}") for group in groups]
    shares = [f"{group} ({100 * share:.1f})" for group, share in comparison.group_shares.items()]
    return [*headings, *([_P] if tested else []), *shares], lines


def caption(comparison: Measured) -> str:
    """What was compared, and what there is to know of it."""
    sizes = f"{comparison.queries:,} queries, {comparison.targets:,} targets"
    banks = f", query bank of {comparison.query_bank:,}" if comparison.query_bank else ""
    banks += f", target bank of {comparison.target_bank:,}" if comparison.target_bank else ""
    repeats = [f"{len(comparison.seeds)} splits"] if len(comparison.seeds) > 1 else []
    repeats += [f"{comparison.draws} draws of the bank"] if comparison.draws > 1 else []
    protocol = "Strict protocol, mean" if comparison.protocol == "strict" else "Mean"
    splits = f"{protocol} ± standard deviation over {' and '.join(repeats)}: " if repeats else ""
    antihubs = antihubs_by_chance(comparison.queries, comparison.targets, comparison.depths[0])
    percent = f"R@k, Robin Hood and antihubs in %, chance leaves {antihubs:.1%} antihubs; Δ against "
    percent += comparison.baseline
    groups = ["shares of groups in % of the first targets (of all targets)"] if comparison.group_shares else []
    distances = [] if comparison.distances is None else _distances(comparison.distances)
    return ". ".join([splits + sizes + banks, percent, *groups, *distances, *comparison.notes]) + "."


def _distances(distances: Distances) -> list[str]:
    moved = [f"{clouds} {value:.3f}" for clouds, value in distances.earth_movers.items()]
    test = distances.nearest
    said = [f"earth mover's distances: {', '.join(moved)}"] if moved else []
    return [
        *said,
        "Kolmogorov-Smirnov test of how near bank and test queries are to their nearest target: "
        f"{test.statistic:.3f}, p {test.p_value:.2g}",
    ]


def as_table(comparison: Measured, measures: Measures = None) -> Table:
    """For the terminal; the best of each column is bold. What matters most stands first."""
    headings, lines = grid(comparison, measures)
    order = list(range(len(headings)))
    if measures is None:
        order.sort(key=lambda number: _place(headings[number]))
    table = Table(caption=caption(comparison))
    for number in order:
        table.add_column(headings[number], justify="right" if number else "left")
    for line in lines:
        table.add_row(*(Text(line[number].text, style="bold" if line[number].best else "") for number in order))
    return table


def _place(heading: str) -> int:
    return _FIRST.index(heading) if heading in _FIRST else len(_FIRST)


def as_markdown(comparison: Measured, measures: Measures = None) -> str:
    """A table for a README."""
    headings, lines = grid(comparison, measures)
    rule = ["---", *(["---:"] * (len(headings) - 1))]
    shown = [[f"**{cell.text}**" if cell.best else cell.text for cell in line] for line in lines]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in [headings, rule, *shown])
    return f"{table}\n\n{caption(comparison)}\n"


def as_html(comparison: Measured, measures: Measures = None) -> str:
    """A table for a notebook; the best of each column is bold."""
    headings, lines = grid(comparison, measures)
    shown = [[cell.text for cell in line] for line in lines]
    best = [(row, place) for row, line in enumerate(lines) for place, cell in enumerate(line) if cell.best]
    return f"<div>{markup.table(headings, shown, strong=best)}{markup.paragraphs([caption(comparison)])}</div>"


def as_latex(comparison: Measured, measures: Measures = None) -> str:
    """A table for a paper; needs the package booktabs."""
    headings, lines = grid(comparison, measures)
    shown = [
        [rf"\textbf{{{_escaped(cell.text)}}}" if cell.best else _escaped(cell.text) for cell in line] for line in lines
    ]
    rows = [r"\toprule", _latex_line([_escaped(heading) for heading in headings]), r"\midrule"]
    rows += [*map(_latex_line, shown), r"\bottomrule"]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\begin{{tabular}}{{l{'r' * (len(headings) - 1)}}}",
            *rows,
            r"\end{tabular}",
            rf"\caption{{{_escaped(caption(comparison))}}}",
            r"\end{table}",
            "",
        ]
    )


def as_csv(comparison: Measured, measures: Measures = None) -> str:
    """All measures, a line a correction, unrounded; with intervals, spread and tests in columns of their own."""
    lines = [_flat(row) for row in comparison.rows]
    names = list(dict.fromkeys(name for line in lines for name in line))
    written = io.StringIO()
    writer = csv.DictWriter(written, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return written.getvalue()


def as_json(comparison: Measured, measures: Measures = None) -> str:
    """All of it."""
    return json.dumps(comparison.as_json(), indent=2, ensure_ascii=False, default=str) + "\n"


FORMATS: dict[str, Callable[[Measured, Measures], str]] = {
    ".json": as_json,
    ".csv": as_csv,
    ".md": as_markdown,
    ".tex": as_latex,
}


def check_output(path: Path) -> None:
    """Raise `InputError` unless the path ends in a known format."""
    if path.suffix not in FORMATS:
        raise InputError("output", f"a file ending in {', '.join(FORMATS)}", path.suffix or "no ending")


def write(comparison: Measured, path: Path, measures: Measures = None) -> None:
    """Write a comparison in the format of the path's ending.

    Raises
    ------
    InputError
        for any other ending.
    StorageError
    """
    check_output(path)
    with storage_errors(path):
        replace_text(path, FORMATS[path.suffix](comparison, measures))


def _best(comparison: Measured, name: str, column: Column) -> str:
    """How the best value is written."""
    values = [row.quality[name] for row in comparison.rows]
    best, worst = (max(values), min(values)) if column.high_is_best else (min(values), max(values))
    shown = _number(best, column)
    return "" if shown == _number(worst, column) else shown  # nothing stands out where all are the same


def _number(value: float, column: Column) -> str:
    return f"{column.scale * value:.{column.digits}f}"


def _cell(row: Row, name: str, column: Column, best: str) -> Cell:
    text = _number(row.quality[name], column)
    if name != "recall_at_1":
        return Cell(text, text == best)
    if row.spread is not None:
        return Cell(f"{text} ± {_number(row.spread[name], column)}", text == best)
    interval = row.intervals[name]
    return Cell(f"{text} [{_number(interval.low, column)}, {_number(interval.high, column)}]", text == best)


def _change(row: Row) -> str:
    if row.change is None:
        return "–"
    interval = row.change.interval
    return f"{100 * row.change.value:+.1f} [{100 * interval.low:+.1f}, {100 * interval.high:+.1f}]"


def _p_value(row: Row) -> str:
    if row.mcnemar is None:
        return "–"
    return "<0.001" if row.mcnemar.p_value < 0.001 else f"{row.mcnemar.p_value:.3f}"


def _flat(row: Row) -> dict[str, Any]:
    flat: dict[str, Any] = {"correction": row.label} | row.quality
    for name, interval in row.intervals.items():
        flat |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
    flat |= {f"{name}_spread": value for name, value in (row.spread or {}).items()}
    if row.change is not None:
        interval = row.change.interval
        flat |= {"change": row.change.value, "change_error": row.change.error}
        flat |= {"change_low": interval.low, "change_high": interval.high}
    if row.mcnemar is not None:
        flat["mcnemar_p"] = row.mcnemar.p_value
    return flat | {f"share_{group}": share for group, share in row.group_shares.items()}


def _latex_line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _escaped(text: str) -> str:
    escaped = "".join(_LATEX.get(mark, mark) for mark in text)
    for sign, command in {"Δ": r"$\Delta$", "±": r"$\pm$", "–": "--"}.items():
        escaped = escaped.replace(sign, command)
    return escaped
