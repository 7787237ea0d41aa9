"""The pictures of a report."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle

from hubless.lab.charts import ACCENT, RAW, Axis, Chart, even_axis, logarithm
from hubless.lab.report.contents import Report
from hubless.lab.report.curves import CurvePoint, Curves

OTHERS = (("#444444", "s", "7 4"), ("#777777", "^", "7 3 2 3"), ("#222222", "D", "2 3"), ("#999999", "v", "7 4"))
"""Colour, marker and dashes of all curves but that of `auto`."""


@dataclass(frozen=True)
class Picture:
    """A picture, its title, and the name of its caption."""

    title: str
    svg: str
    caption: str


def main_pictures(report: Report) -> list[Picture]:
    """Draw what every reader should see."""
    drawn = [Picture("How often each item is shown", report.diagnosis.plot().svg(), "occurrence")]
    if report.comparison is not None:
        drawn.append(Picture("R@1 by correction", report.comparison.plot().svg(), "recalls"))
    if report.abstention is not None:
        drawn.append(Picture("Right answers by how many are given", report.abstention.plot().svg(), "abstain"))
    return drawn


def detailed_pictures(report: Report) -> list[Picture]:
    """Draw what specialists look for: curves by the size of the bank."""
    curves, drawn = report.curves, []
    if curves.raw.recall is not None:
        chart = _curves(curves, "R@1 in %", lambda point: 100 * (point.recall or 0.0))
        drawn.append(Picture("The size of the bank: R@1", chart.svg(), "bank"))
    chart = _curves(curves, "skewness of N_10", lambda point: point.skewness)
    return [*drawn, Picture("The size of the bank: skewness", chart.svg(), "bank")]


def _curves(curves: Curves, label: str, value: Callable[[CurvePoint], float]) -> Chart:
    sizes = [point.size for point in next(iter(curves.by_bank.values()))]
    ticks = {float(size): f"{size:,}" for size in sizes}
    x = Axis("example searches in the bank", 0.9 * min(sizes), 1.1 * max(sizes), ticks, logarithm, grid=True)
    values = {name: list(map(value, points)) for name, points in curves.by_bank.items()}
    raw = value(curves.raw)
    chart = Chart(x, even_axis(label, [raw, *(each for line in values.values() for each in line)]))
    looks = cycle(OTHERS)
    for name, line in values.items():
        colour, marker, dash = (ACCENT, "o", "") if name == "auto" else next(looks)
        chart.line(sizes, line, colour, name, width=2, dash=dash, marker=marker)
    chart.rule(RAW, "raw", y=raw, dash="2 3")
    return chart
