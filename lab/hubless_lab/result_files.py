"""Files of a measured result: JSON, CSV, its table in Markdown or LaTeX, and its picture."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hubless.diagnosing.table import TextTable
from hubless.errors import InputError, storage_errors
from hubless.store.durable import replace_text
from hubless_lab.written_tables import as_latex, as_markdown

FORMATS: Mapping[str, Callable[[Any, TextTable, Sequence[str]], str]] = {
    ".json": lambda result, table, drawn: (
        json.dumps(result.as_json(), indent=2, ensure_ascii=False, default=str) + "\n"
    ),
    ".csv": lambda result, table, drawn: _csv(result.records()),
    ".md": lambda result, table, drawn: as_markdown(table),
    ".tex": lambda result, table, drawn: as_latex(table),
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
