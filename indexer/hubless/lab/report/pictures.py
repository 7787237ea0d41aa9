"""The pictures of a report. Their captions stand in the template of the page, by their names."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle

import numpy as np

from hubless.lab.charts import ACCENT, INK, RAW, Axis, Chart, even_axis, logarithm
from hubless.lab.report.contents import Report
from hubless.lab.report.curves import CurvePoint
from hubless.vectors.arrays import F32

OTHERS = (("#444444", "s", "7 4"), ("#777777", "^", "7 3 2 3"), ("#222222", "D", "2 3"), ("#999999", "v", "7 4"))
"""Colour, marker and dashes of all curves but that of `auto`."""
BINS = 50


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
    return drawn


def detailed_pictures(report: Report) -> list[Picture]:
    """Draw what specialists look for: curves and offsets."""
    curves, drawn = report.curves, []
    for title, found, label, mark, caption in (
        ("The size of the bank", curves.by_bank, "example searches in the bank", None, "bank"),
        ("The temperature", curves.by_temperature, "temperature τ", curves.temperature, "temperature"),
    ):
        kinds = [("R@1", True)] if curves.raw.recall is not None else []
        for kind, recall in [*kinds, ("skewness", False)] if found else []:
            svg = _curves(found, curves.raw, label, mark, recall=recall).svg()
            drawn.append(Picture(f"{title}: {kind}", svg, caption))
    drawn.append(Picture("Offsets", _histogram(report.diagnosis.offsets).svg(), "offsets"))
    return drawn


def _histogram(offsets: F32) -> Chart:
    counts, edges = np.histogram(offsets, BINS)
    x, y = even_axis("offset, in units of similarity", [*edges, 0]), even_axis("items", [0, counts.max()])
    ticks = {tick: text for tick, text in y.ticks.items() if tick >= 0}
    chart = Chart(x, Axis(y.label, 0, y.high, ticks, grid=True))
    chart.bars(edges, counts, ACCENT)
    chart.rule(INK, x=0)
    return chart


def _curves(
    curves: dict[str, list[CurvePoint]], raw: CurvePoint, label: str, mark: float | None, *, recall: bool
) -> Chart:
    value, value_label = _measure(recall)
    settings = [point.setting for points in curves.values() for point in points]
    ends = settings if mark is None else [*settings, mark]
    ticks = [point.setting for point in next(iter(curves.values()))][:: 1 if mark is None else 3]
    named = {tick: f"{tick:,.2g}" if tick < 1 else f"{tick:,.0f}" for tick in ticks}
    x = Axis(label, 0.9 * min(ends), 1.1 * max(ends), named, logarithm, grid=True)
    chart = Chart(x, even_axis(value_label, [value(point) for points in [*curves.values(), [raw]] for point in points]))
    looks = cycle(OTHERS)
    for name, points in curves.items():
        colour, marker, dash = (ACCENT, "o", "") if name == "auto" else next(looks)
        across = [point.setting for point in points]
        chart.line(across, list(map(value, points)), colour, name, width=2, dash=dash, marker=marker)
    chart.rule(RAW, "raw", y=value(raw), dash="2 3")
    if mark is not None:
        chart.rule(ACCENT, "chosen by auto", x=mark)
    return chart


def _measure(recall: bool) -> tuple[Callable[[CurvePoint], float], str]:
    if recall:
        return lambda point: 100 * (point.recall or 0.0), "R@1 in %"
    return lambda point: point.skewness, "skewness of N_10"
