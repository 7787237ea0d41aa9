"""The charts of a report, in the colours of `lab.charts`."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np

from hubless.lab.charts import ACCENT, INK, MIDDLE, RAW, SIZE, Axis, Chart, even_axis, logarithm
from hubless.lab.experiments.drawing import occurrence, quality
from hubless.lab.report import words
from hubless.lab.report.closeups import HeatMap, Projection, Source
from hubless.lab.report.contents import Report
from hubless.lab.report.curves import CurvePoint
from hubless.vectors.arrays import F32, I64

OTHERS = (("#444444", "s", "7 4"), ("#777777", "^", "7 3 2 3"), ("#222222", "D", "2 3"), ("#999999", "v", "7 4"))
"""Colour, marker and dashes of all curves but that of `auto`."""
BINS = 50
TALL = (500, 420)
"""Pixels, of a chart without a legend."""
LARGEST_DOT = 9.5
"""Radius of the dot of the target that is found most often, in pixels."""


@dataclass(frozen=True)
class Picture:
    """A plot, what it is called, and what it says."""

    title: str
    svg: str
    caption: str


def main_pictures(report: Report) -> list[Picture]:
    """Draw what every reader should see."""
    diagnosis = report.diagnosis
    drawn = [
        Picture(
            "How often each item is shown",
            occurrence(diagnosis.curves).svg(),
            words.occurrence_caption(diagnosis),
        )
    ]
    if report.comparison is not None:
        drawn.append(Picture("R@1 by correction", quality(report.comparison).svg(), words.RECALLS_CAPTION))
    return drawn


def detailed_pictures(report: Report) -> list[Picture]:
    """What specialists look for: curves, offsets, and what was asked for."""
    curves, drawn = report.curves, []
    for title, found, label, name, caption in (
        ("The size of the bank", curves.by_bank, "example searches in the bank", "bank", words.bank_caption(report)),
        ("The temperature", curves.by_temperature, "temperature τ", "temperature", words.TEMPERATURE_CAPTION),
    ):
        if not found:
            continue
        mark = curves.temperature if name == "temperature" else None
        kinds = [("R@1", True)] if curves.raw.recall is not None else []
        for kind, recall in [*kinds, ("skewness", False)]:
            svg = _curves(found, curves.raw, label, mark, recall=recall).svg()
            drawn.append(Picture(f"{title}: {kind}", svg, caption))
    drawn.append(Picture("Offsets", _histogram(report.diagnosis.offsets).svg(), words.OFFSETS_CAPTION))
    if report.sources:
        svg = _sources(report.sources, curves.raw).svg()
        drawn.append(Picture("Query banks side by side", svg, words.SOURCES_CAPTION))
    return drawn


def pairs_of_pictures(report: Report) -> list[tuple[Picture, Picture]]:
    """Heat map and projection, before and after, if they were asked for."""
    drawn = []
    if report.heat_map is not None:
        drawn.append(_heat_maps(report.heat_map))
    if report.projection is not None:
        drawn.append(_projections(report.projection))
    return drawn


def _histogram(offsets: F32) -> Chart:
    counts, edges = np.histogram(offsets, BINS)
    x = even_axis("offset, in units of similarity", [*edges, 0])
    y = even_axis("items", [0, counts.max()])
    chart = Chart(x, Axis(y.label, 0, y.high, {tick: text for tick, text in y.ticks.items() if tick >= 0}, grid=True))
    chart.bars(edges, counts, ACCENT)
    chart.rule(INK, x=0)
    return chart


def _curves(
    curves: dict[str, list[CurvePoint]], raw: CurvePoint, label: str, mark: float | None, *, recall: bool
) -> Chart:
    first = next(iter(curves.values()))
    settings = [point.setting for points in curves.values() for point in points]
    ends = [*settings, *([] if mark is None else [mark])]
    ticks = [point.setting for point in first][:: 1 if mark is None else 3]
    named = {tick: f"{tick:,.2g}" if tick < 1 else f"{tick:,.0f}" for tick in ticks}
    x = Axis(label, 0.9 * min(ends), 1.1 * max(ends), named, logarithm, grid=True)
    values = [_value(point, recall) for points in [*curves.values(), [raw]] for point in points]
    chart = Chart(x, even_axis("R@1 in %" if recall else "skewness of N_10", values))
    looks = cycle(OTHERS)
    for name, points in curves.items():
        colour, marker, dash = (ACCENT, "o", "") if name == "auto" else next(looks)
        across, up = [point.setting for point in points], [_value(point, recall) for point in points]
        chart.line(across, up, colour, name, width=2, dash=dash, marker=marker)
    chart.rule(RAW, "raw", y=_value(raw, recall), dash="2 3")
    if mark is not None:
        chart.rule(ACCENT, "chosen by auto", x=mark)
    return chart


def _value(point: CurvePoint, recall: bool) -> float:
    return 100 * point.recall if recall and point.recall is not None else point.skewness


def _sources(sources: Sequence[Source], raw: CurvePoint) -> Chart:
    recall = raw.recall is not None
    values = [_value(source.point, recall) for source in sources]
    label = "R@1 in %" if recall else "skewness of N_10"
    names = {float(place): source.name for place, source in enumerate(sources[::-1])}
    x = even_axis(label, [*values, _value(raw, recall)], margin=0.15)
    chart = Chart(x, Axis("", -0.6, len(sources) - 0.3, names), SIZE)
    chart.rule(RAW, "raw", x=_value(raw, recall), dash="2 3")
    for place, (source, value) in enumerate(zip(sources[::-1], values[::-1], strict=True)):
        chart.point(value, place, ACCENT if source is sources[0] else MIDDLE)
        chart.text(value, place, f"{value:.3g}", up=9)
    return chart


def _heat_maps(found: HeatMap) -> tuple[Picture, Picture]:
    low, high = np.quantile(np.concatenate([found.before, found.after]), [0.02, 0.995])
    caption = words.HEAT_CAPTION.format(hubs=found.hubs) + (words.RIGHT_CAPTION if len(found.right) else "")

    def draw(values: F32) -> str:
        rows, columns = values.shape
        x = Axis("items, the largest hubs first", -0.5, columns - 0.5)
        # the first search is uppermost
        chart = Chart(x, Axis("searches", rows - 0.5, -0.5), TALL)
        chart.cells(values, float(low), float(high))
        chart.rule(INK, x=found.hubs - 0.5)
        if len(found.right):
            chart.dots(found.right[:, ::-1].astype(np.float32), 1.8, "#fff")
        return chart.svg()

    return (
        Picture("Similarities, raw", draw(found.before), caption),
        Picture("Similarities, with auto", draw(found.after), caption),
    )


def _projections(found: Projection) -> tuple[Picture, Picture]:
    caption = words.PROJECTION_CAPTION.format(explained=found.explained)
    most = max(int(found.before.max()), int(found.after.max()), 1)
    both = np.concatenate([found.queries, found.targets])
    edges = [(float(low), float(high)) for low, high in zip(both.min(axis=0), both.max(axis=0), strict=True)]
    rooms = [0.05 * ((high - low) or 1.0) for low, high in edges]
    x, y = (
        Axis(label, low - room, high + room)
        for label, (low, high), room in zip(("first principal component", "second"), edges, rooms, strict=True)
    )

    def draw(counts: I64) -> str:
        chart = Chart(x, y, TALL)
        chart.dots(found.queries, 1.5, MIDDLE, 0.35)
        chart.dots(found.targets, 1.5, "#B9D5E6")
        for row in np.flatnonzero(counts >= words.OFTEN * found.even):
            chart.dots(found.targets[row : row + 1], LARGEST_DOT * float(counts[row] / most) ** 0.5, ACCENT, 0.6)
        return chart.svg()

    return (
        Picture("Hubs on a plane, raw", draw(found.before), caption),
        Picture("Hubs on a plane, with auto", draw(found.after), caption),
    )
