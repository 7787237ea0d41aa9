"""Files of a measured result: JSON, CSV, its table in Markdown or LaTeX, and its picture."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hubless.diagnosing.table import TextTable
from hubless.errors import InputError, storage_errors
from hubless.search.pages import render
from hubless.store.durable import replace_text

_LATEX = {mark: f"\\{mark}" for mark in "_%&#{}$"}
_LATEX |= {"\\": r"\textbackslash{}", "Δ": r"$\Delta$", "±": r"$\pm$", "–": "--"}
FORMATS: Mapping[str, Callable[[Any, TextTable, Sequence[str]], str]] = {
    ".json": lambda result, table, drawn: (
        json.dumps(result.as_json(), indent=2, ensure_ascii=False, default=str) + "\n"
    ),
    ".csv": lambda result, table, drawn: _csv(result.records()),
    ".md": lambda result, table, drawn: written_table(table, "md"),
    ".tex": lambda result, table, drawn: written_table(table, "tex"),
    ".svg": lambda result, table, drawn: result.plot(*drawn).svg("#fff") + "\n",
}


def written_table(table: TextTable, ending: str) -> str:
    """Return a table in Markdown (md), or for a paper in LaTeX with the package booktabs (tex); the best are bold."""
    return render(f"table.{ending}", "hubless_lab", table=table, tex=_escaped) + "\n"


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
