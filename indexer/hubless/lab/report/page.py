"""A report as one HTML page. It runs no script, and loads nothing but images that the payload names."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from hubless.errors import storage_errors
from hubless.lab.diagnosis import Diagnosis
from hubless.lab.experiments.tables import caption, grid
from hubless.lab.markup import paragraphs
from hubless.lab.report import blocks, words
from hubless.lab.report.closeups import Source
from hubless.lab.report.contents import Report
from hubless.lab.report.plots import detailed_pictures, main_pictures, pairs_of_pictures
from hubless.lab.report.words import headline
from hubless.store.durable import replace_text


def write_report(report: Report, path: Path) -> None:
    """Write the page.

    Raises
    ------
    StorageError
        if the disk refuses.
    """
    page = as_html(report)
    with storage_errors(path):
        replace_text(path, page)


def as_html(report: Report) -> str:
    """The page, with style and plots inside."""
    diagnosis = report.diagnosis
    title = f"Hubness of {report.name}"
    style = files("hubless.lab.report").joinpath("page.css").read_text("utf-8")
    body = "\n".join([*_summary(report, title), *_hubs(report), *_examples(report), *_details(report), *_foot()])
    # img-src: images of the payload, and those within the charts
    sources = "data: http: https:" if report.images else "data:"
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src {sources}"
    language = f'<html lang="en" data-level="{escape(diagnosis.level)}">'
    return (
        f'<!doctype html>\n{language}\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        "</body>\n</html>\n"
    )


def _summary(report: Report, title: str) -> Iterable[str]:
    diagnosis = report.diagnosis
    lead = f"{diagnosis.targets:,} items of {diagnosis.dim} dimensions, {diagnosis.metric}; "
    lead += f"a query bank of {diagnosis.bank.queries:,}, of which {diagnosis.held_out:,} measured in turn"
    yield f"<h1>{escape(title)}</h1>"
    yield f'<p class="headline">{escape(headline(report))}</p>'
    yield f'<p class="lead">{escape(lead)}. Made on {datetime.now(UTC):%Y-%m-%d} by hubless {version("hubless")}.</p>'
    yield f'<div class="verdict">{paragraphs(diagnosis.verdict)}</div>'
    yield paragraphs((f"Note: {note}." for note in diagnosis.notes), "note")
    yield '<h2 id="pictures">In pictures</h2>'
    yield f'<div class="plots">{"".join(map(blocks.figure, main_pictures(report)))}</div>'


def _hubs(report: Report) -> Iterable[str]:
    yield '<h2 id="hubs">The largest hubs</h2>'
    yield f'<p class="sub">What is shown most often, over {report.diagnosis.held_out:,} searches.</p>'
    yield blocks.items(
        blocks.item(
            hub.target, f"shown {hub.raw:,} times raw, {hub.corrected:,} with auto", images=report.images, kind="hub"
        )
        for hub in report.diagnosis.hubs
    )


def _examples(report: Report) -> Iterable[str]:
    if report.examples:
        yield '<h2 id="examples">First answers, before and after</h2>'
        yield f'<p class="sub">{escape(words.EXAMPLES_CAPTION)}</p>'
        yield from (blocks.example(found, images=report.images) for found in report.examples)


def _details(report: Report) -> Iterable[str]:
    curves = report.curves
    yield '<h2 id="detail">In detail</h2>'
    yield (
        f'<p class="sub">Curves are measured on {curves.tested:,} test queries and {curves.targets:,} targets. '
        f"Skewness is that of N_10.</p>"
    )
    yield f'<div class="plots">{"".join(map(blocks.figure, detailed_pictures(report)))}</div>'
    yield '<div id="heat-map"></div>'
    yield from map(blocks.pair, pairs_of_pictures(report))
    if report.comparison is not None:
        headings, lines = grid(report.comparison)
        yield '<h2 id="quality">Ranking quality by correction</h2>'
        yield blocks.table(headings, [[cell.text for cell in line] for line in lines])
        yield paragraphs([caption(report.comparison)], "note")
    yield '<h2 id="uneven">How uneven</h2>'
    yield _uneven(report.diagnosis)
    yield '<h2 id="bank">The query bank</h2>'
    yield _bank(report.diagnosis)
    if report.sources:
        yield "<h2>Query banks side by side</h2>"
        yield _sources(report.sources)


def _foot() -> Iterable[str]:
    yield f'<footer><h2 id="words">Words</h2>{blocks.glossary(words.GLOSSARY)}</footer>'


def _uneven(diagnosis: Diagnosis) -> str:
    lines = []
    for depth in diagnosis.depths:
        three = (depth.raw, depth.corrected, depth.chance)
        lines += [
            [f"skewness of N_{depth.k}", *(f"{shape.skewness:.2f}" for shape in three)],
            [f"most found, N_{depth.k}", *(f"{shape.most:,}" for shape in three)],
            [f"never found, N_{depth.k}", *(f"{shape.antihubs:.1%}" for shape in three)],
        ]
    return blocks.table(["", "raw", "auto", "chance"], lines)


def _bank(diagnosis: Diagnosis) -> str:
    bank, effective = diagnosis.bank, diagnosis.bank.effective
    apart = "not measured" if bank.distance is None else f"{bank.distance:.3f}"
    within = "not measured" if bank.own_distance is None else f"{bank.own_distance:.3f}"
    lines = [
        ["queries", f"{bank.queries:,}"],
        ["of these repeated", f"{bank.repeated:,}"],
        ["of these targets", f"{bank.among_targets:.1%}"],
        ["targets covered", "not measured" if bank.coverage is None else f"{bank.coverage:.0%}"],
        ["effective queries per target, mean", f"{effective.mean:.0f}"],
        ["effective queries, 5 % of the targets stay below", f"{effective.low:.0f}"],
        ["earth mover's distance to the targets", apart],
        ["earth mover's distance within the bank", within],
    ]
    return blocks.table(["", "value"], lines)


def _sources(sources: Sequence[Source]) -> str:
    headings = ["bank", "queries", "targets covered", "skewness of N_10"]
    labelled = sources[0].point.recall is not None
    lines = []
    for source in sources:
        line = [source.name, f"{source.queries:,}", f"{source.coverage:.1%}", f"{source.point.skewness:.2f}"]
        recall = [] if source.point.recall is None else [f"{100 * source.point.recall:.1f}"]
        lines.append(line + recall)
    return blocks.table([*headings, "R@1 in %"] if labelled else headings, lines)
