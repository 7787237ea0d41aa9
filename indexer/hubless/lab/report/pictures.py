"""The pictures of a report. Their captions stand in the template of the page, by their names."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np

from hubless.lab.charts import ACCENT, INK, MIDDLE, RAW, SIZE, Axis, Chart, even_axis, logarithm
from hubless.lab.report.closeups import BankResult, HeatMap, Plane
from hubless.lab.report.contents import Report
from hubless.lab.report.curves import CurvePoint
from hubless.vectors.arrays import F32

OTHERS = (("#444444", "s", "7 4"), ("#777777", "^", "7 3 2 3"), ("#222222", "D", "2 3"), ("#999999", "v", "7 4"))
"""Colour, marker and dashes of all curves but that of `auto`."""
BINS = 50
TALL = (500, 420)
"""Pixels, of a chart without a legend."""
OFTEN = 2
"""An item that is found so many times the mean is a hub on the plane."""
LARGEST_DOT = 9.5
"""Radius of the dot of the target that is found most often, in pixels."""


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
    """Draw what specialists look for: curves, offsets, and other banks."""
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
    if report.banks:
        drawn.append(Picture("Query banks side by side", _banks(report.banks, curves.raw).svg(), "banks"))
    return drawn


def pairs_of_pictures(report: Report) -> list[tuple[Picture, Picture]]:
    """Draw heat map and plane, before and after, if they were asked for."""
    drawn = []
    if report.heat_map is not None:
        drawn.append(_pair("Similarities", _heat_maps(report.heat_map), "heat_map"))
    if report.projection is not None:
        drawn.append(_pair("Hubs on a plane", _planes(report.projection), "plane"))
    return drawn


def _pair(title: str, charts: Sequence[Chart], caption: str) -> tuple[Picture, Picture]:
    before, after = (chart.svg() for chart in charts)
    return Picture(f"{title}, raw", before, caption), Picture(f"{title}, with auto", after, caption)


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


def _banks(banks: Sequence[BankResult], raw: CurvePoint) -> Chart:
    value, label = _measure(raw.recall is not None)
    names = {float(place): bank.name for place, bank in enumerate(banks[::-1])}
    x = even_axis(label, [value(point) for point in (raw, *(bank.point for bank in banks))], margin=0.15)
    chart = Chart(x, Axis("", -0.6, len(banks) - 0.3, names), SIZE)
    chart.rule(RAW, "raw", x=value(raw), dash="2 3")
    for place, bank in enumerate(banks[::-1]):
        chart.point(value(bank.point), place, ACCENT if bank is banks[0] else MIDDLE)
        chart.text(value(bank.point), place, f"{value(bank.point):.3g}", up=9)
    return chart


def _heat_maps(found: HeatMap) -> list[Chart]:
    low, high = np.quantile(np.concatenate([found.before, found.after]), [0.02, 0.995]).tolist()
    rows, columns = found.before.shape
    drawn = []
    for values in (found.before, found.after):
        # the first search is uppermost
        x, y = Axis("items, the largest hubs first", -0.5, columns - 0.5), Axis("searches", rows - 0.5, -0.5)
        chart = Chart(x, y, TALL)
        chart.cells(values, low, high)
        chart.rule(INK, x=found.hubs - 0.5)
        if len(found.right):
            chart.dots(found.right[:, ::-1].astype(np.float32), 1.8, "#fff")
        drawn.append(chart)
    return drawn


def _planes(found: Plane) -> list[Chart]:
    most = max(int(found.before.max()), int(found.after.max()), 1)
    both = np.concatenate([found.queries, found.targets])
    lows, highs = both.min(axis=0), both.max(axis=0)
    rooms = 0.05 * np.where(highs > lows, highs - lows, 1)
    ends = zip(("first principal component", "second"), lows - rooms, highs + rooms, strict=True)
    x, y = (Axis(label, float(low), float(high)) for label, low, high in ends)
    drawn = []
    for counts in (found.before, found.after):
        chart = Chart(x, y, TALL)
        chart.dots(found.queries, 1.5, MIDDLE, 0.35)
        chart.dots(found.targets, 1.5, "#B9D5E6")
        for row in np.flatnonzero(counts >= OFTEN * found.even):
            chart.dots(found.targets[row : row + 1], LARGEST_DOT * float(counts[row] / most) ** 0.5, ACCENT, 0.6)
        drawn.append(chart)
    return drawn
