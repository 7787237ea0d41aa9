"""A report as one HTML page that loads nothing."""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from pathlib import Path

from hubless.errors import storage_errors
from hubless.lab.diagnose import Diagnosis
from hubless.lab.report.contents import Report
from hubless.lab.report.plots import plots
from hubless.lab.tables import caption, grid
from hubless.store.durable import replace_text

_CODE = re.compile("`([^`]+)`")
_STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 76rem; background: #fff; color: #1b1b1b;
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; margin: 0; line-height: 1.2; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2rem 0 .5rem; }
.headline { font-size: 1.3rem; margin: .8rem 0; }
.lead { color: #444; margin: .3rem 0 1rem; }
.verdict { border-left: .4rem solid #0072b2; background: #eef5fa; padding: .6rem 1rem; }
.verdict p { margin: .4rem 0; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1.5rem; }
figure { margin: 0; }
figure svg { width: 100%; height: auto; }
figcaption { font-weight: 600; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem; border-bottom: 1px solid #ccc; text-align: right; white-space: nowrap; }
th { border-bottom: 2px solid #555; }
th:first-child, td:first-child, th.text, td.text { text-align: left; }
td:first-child { white-space: normal; }
td.text { white-space: normal; overflow-wrap: anywhere; min-width: 14rem; }
.note { color: #444; }
@media (max-width: 40rem) { body { padding: 1rem .8rem; } th, td { padding: .25rem .5rem; } }
"""


def write_report(report: Report, path: Path) -> None:
    """Write the page.

    Raises
    ------
    InputError
        without matplotlib.
    StorageError
    """
    page = as_html(report)
    with storage_errors(path):
        replace_text(path, page)


def as_html(report: Report) -> str:
    """The page, with style and plots inside."""
    diagnosis = report.diagnosis
    title = f"Hubness of {report.name}"
    lead = f"{diagnosis.targets:,} targets of {diagnosis.dim} dimensions, {diagnosis.metric}; "
    lead += f"a query bank of {diagnosis.bank.queries:,}, of which {diagnosis.held_out:,} measured in turn"
    drawn = "".join(
        f'<figure role="img" aria-label="{escape(name)}"><figcaption>{escape(name)}</figcaption>{svg}</figure>'
        for name, svg in plots(report).items()
    )
    measured = "R@1 and hubness" if report.raw.recall is not None else "Hubness"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="headline">{escape(headline(report))}</p>',
        f'<p class="lead">{escape(lead)}. Made on {datetime.now(UTC):%Y-%m-%d} by hubless {version("hubless")}.</p>',
        f'<div class="verdict">{"".join(f"<p>{_with_code(sentence)}</p>" for sentence in diagnosis.verdict)}</div>',
        *(f'<p class="note">Note: {escape(note)}.</p>' for note in diagnosis.notes),
        "<h2>How uneven</h2>",
        _uneven(diagnosis),
        *_compared(report),
        "<h2>Pictures</h2>",
        f'<p class="note">{measured} under other temperatures and smaller banks: over {report.tested:,} test queries. '
        "Skewness is 0 where all targets are found alike.</p>",
        f'<div class="plots">{drawn}</div>',
        "<h2>The largest hubs</h2>",
        _hubs(diagnosis),
        "<h2>The query bank</h2>",
        _bank(diagnosis),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


def headline(report: Report) -> str:
    """What the correction does, in searches that a reader can picture."""
    labels = {} if report.comparison is None else {row.label: row for row in report.comparison.rows}
    if "none" in labels and "auto" in labels:
        before, after = (round(1000 * labels[name].quality["recall_at_1"]) for name in ("none", "auto"))
        change = labels["auto"].change
        if change is not None and change.interval.above_zero:
            following = "Next: build with auto."
        elif change is not None and change.interval.high < 0:
            following = "Next: look for a bank like the live queries, or build with none."
        else:
            following = "The difference may be chance. Next: measure with more labelled searches."
        found = f"In {after:,} of 1,000 searches the right item comes first with auto; before it was {before:,}."
        return f"{found} {following}"
    diagnosis = report.diagnosis
    depth = diagnosis.depths[min(1, len(diagnosis.depths) - 1)]
    return (
        f"The most shown item comes up in {depth.raw.most:,} of {diagnosis.held_out:,} searches, and with auto in "
        f"{depth.corrected.most:,}; chance would give {depth.chance.most:,}. Next: build with auto, or measure "
        "its gain with labelled searches."
    )


def _uneven(diagnosis: Diagnosis) -> str:
    lines = []
    for depth in diagnosis.depths:
        three = (depth.raw, depth.corrected, depth.chance)
        lines += [
            [f"skewness of N_{depth.k}", *(f"{shape.skewness:.2f}" for shape in three)],
            [f"most found, N_{depth.k}", *(f"{shape.most:,}" for shape in three)],
            [f"never found, N_{depth.k}", *(f"{shape.antihubs:.1%}" for shape in three)],
        ]
    return _table(["", "raw", "auto", "chance"], lines)


def _compared(report: Report) -> Iterable[str]:
    if report.comparison is None:
        return []
    headings, lines = grid(report.comparison)
    shown = [[cell.text for cell in line] for line in lines]
    return [
        "<h2>Ranking quality by correction</h2>",
        _table(headings, shown),
        f'<p class="note">{escape(caption(report.comparison))}</p>',
    ]


def _hubs(diagnosis: Diagnosis) -> str:
    headings = ["id", "N_10 raw", "N_10 by auto", "offset"]
    lines = [[str(hub.target.id), f"{hub.raw:,}", f"{hub.corrected:,}", f"{hub.offset:+.4f}"] for hub in diagnosis.hubs]
    if any(hub.target.payload for hub in diagnosis.hubs):
        headings.append("payload")
        for hub, line in zip(diagnosis.hubs, lines, strict=True):
            line.append(json.dumps(hub.target.payload, ensure_ascii=False, default=str))
    return _table(headings, lines, text={4})


def _bank(diagnosis: Diagnosis) -> str:
    bank, effective = diagnosis.bank, diagnosis.bank.effective
    apart = "not measured" if bank.distance is None else f"{bank.distance:.3f}"
    within = "not measured" if bank.own_distance is None else f"{bank.own_distance:.3f}"
    lines = [
        ["queries", f"{bank.queries:,}"],
        ["of these repeated", f"{bank.repeated:,}"],
        ["targets covered", f"{bank.coverage:.1%}"],
        ["effective queries per target, mean", f"{effective.mean:.0f}"],
        ["effective queries, 5 % of the targets stay below", f"{effective.low:.0f}"],
        ["earth mover's distance to the targets", apart],
        ["earth mover's distance within the bank", within],
    ]
    return _table(["", "value"], lines)


def _with_code(sentence: str) -> str:
    return _CODE.sub(r"<code>\1</code>", escape(sentence))


def _table(headings: Sequence[str], lines: Sequence[Sequence[str]], text: Collection[int] = ()) -> str:
    def cells(tag: str, values: Sequence[str]) -> str:
        kinds = (' class="text"' if column in text else "" for column in range(len(values)))
        return "".join(f"<{tag}{kind}>{escape(value)}</{tag}>" for kind, value in zip(kinds, values, strict=True))

    body = "".join(f"<tr>{cells('td', line)}</tr>" for line in lines)
    head = cells("th", headings)
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
