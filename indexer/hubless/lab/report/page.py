"""A report as one HTML page. It runs no script, and loads nothing but images that the payload names."""

import json
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from hubless.errors import storage_errors
from hubless.lab.diagnosis import Diagnosis
from hubless.lab.experiments.comparisons import table_of
from hubless.lab.gallery import NamedTarget
from hubless.lab.pages import render
from hubless.lab.report.contents import Report
from hubless.lab.report.pictures import detailed_pictures, main_pictures
from hubless.lab.table import TextTable
from hubless.store.durable import replace_text
from hubless.vectors.images import image_of, is_image

LONGEST_FIELD = 160
"""Characters of a payload field; the rest is cut."""
MOST_FIELDS = 6


def write_report(report: Report, path: Path) -> None:
    """Write the page."""
    page = as_html(report)
    with storage_errors(path):
        replace_text(path, page)


def as_html(report: Report) -> str:
    """Return the page, with style and pictures inside."""
    return render(
        "report.html",
        report=report,
        headline=headline(report),
        made=f"{datetime.now(UTC):%Y-%m-%d}",
        version=version("hubless"),
        main=main_pictures(report),
        detailed=detailed_pictures(report),
        quality=None if report.comparison is None else table_of(report.comparison),
        bank=_bank_table(report.diagnosis),
        image=lambda target: (image_of(target.payload) or ("", ""))[1] if report.images else "",
        fields=_fields,
    ).lstrip()


def headline(report: Report) -> str:
    """Return what the correction does, in searches that a reader can picture, and what to do next."""
    rows = {} if report.comparison is None else {row.label: row for row in report.comparison.rows}
    both = "none" in rows and "auto" in rows
    return render("headline.txt", rows=rows if both else None, diagnosis=report.diagnosis).strip()


def _fields(target: NamedTarget) -> list[tuple[str, str]]:
    """Return the first fields of a payload that say something, without addresses of images."""
    said = []
    for name, value in (target.payload or {}).items():
        if value is None or (isinstance(value, str) and is_image(name, value)):
            continue
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        text = " ".join(text.split())
        said.append((name, text if len(text) <= LONGEST_FIELD else f"{text[:LONGEST_FIELD]}…"))
    return said[:MOST_FIELDS]


def _bank_table(diagnosis: Diagnosis) -> TextTable:
    bank, effective = diagnosis.bank, diagnosis.bank.effective
    lines = [
        ["queries", f"{bank.queries:,}"],
        ["of these repeated", f"{bank.repeated:,}"],
        ["of these targets", f"{bank.among_targets:.1%}"],
        ["targets covered", _measured(bank.coverage, ".0%")],
        ["effective queries per target, mean", f"{effective.mean:.0f}"],
        ["effective queries, 5 % of the targets stay below", f"{effective.low:.0f}"],
        ["earth mover's distance to the targets", _measured(bank.distance, ".3f")],
        ["earth mover's distance within the bank", _measured(bank.own_distance, ".3f")],
    ]
    return TextTable(["", "value"], lines)


def _measured(value: float | None, form: str) -> str:
    return "not measured" if value is None else format(value, form)
