"""The plots of a report, as SVG, in the colours of `lab.drawing`."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hubless.lab.drawing import (
    ACCENT,
    INK,
    MIDDLE,
    RAW,
    SIZE,
    TEXT,
    draw_occurrence,
    draw_quality,
    figure,
    load_matplotlib,
)
from hubless.lab.report import words
from hubless.lab.report.closeups import HeatMap, Projection, Source
from hubless.lab.report.contents import Report
from hubless.lab.report.curves import CurvePoint
from hubless.vectors.arrays import F32, I64

OTHERS = (("#444444", "s", "--"), ("#777777", "^", "-."), ("#222222", "D", ":"), ("#999999", "v", "--"))
"""Colour, marker and line of all curves but that of `auto`."""
BINS = 50
TALL = (5.0, 4.2)
"""Inches, of a picture without a legend."""


@dataclass(frozen=True)
class Picture:
    """A plot, what it is called, and what it says."""

    title: str
    svg: str
    caption: str


def main_pictures(report: Report) -> list[Picture]:
    """What every reader should see.

    Raises
    ------
    InputError
        without matplotlib.
    """
    diagnosis = report.diagnosis
    drawn = [
        Picture(
            "How often each item is shown",
            _svg(lambda axes: draw_occurrence(axes, diagnosis.curves), "occurrence"),
            words.occurrence_caption(diagnosis),
        )
    ]
    if report.comparison is not None:
        shown = report.comparison
        drawn.append(
            Picture(
                "R@1 by correction",
                _svg(lambda axes: draw_quality(axes, shown), "recalls", grid="x"),
                words.RECALLS_CAPTION,
            )
        )
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
            svg = _svg(_curves(found, curves.raw, label, mark, recall=recall), f"{name}-{kind}")
            drawn.append(Picture(f"{title}: {kind}", svg, caption))
    offsets = _svg(lambda axes: _histogram(axes, report.diagnosis.offsets), "offsets")
    drawn.append(Picture("Offsets", offsets, words.OFFSETS_CAPTION))
    if report.sources:
        svg = _svg(lambda axes: _sources(axes, report.sources, curves.raw), "sources", grid="x")
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


def _svg(draw: Callable[[Any], None], name: str, *, size: tuple[float, float] = SIZE, grid: str = "both") -> str:
    matplotlib = load_matplotlib("report")
    # text stays text, for readers of the screen; a salt a plot, as several stand on one page
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"} | TEXT):
        written = io.StringIO()
        nothing = {"Date": None, "Creator": None}
        figure(draw, size=size, grid=grid).savefig(written, format="svg", transparent=True, dpi=200, metadata=nothing)
    svg = written.getvalue()
    return svg[svg.index("<svg") :]


def _histogram(axes: Any, offsets: F32) -> None:
    axes.hist(offsets, bins=BINS, color=ACCENT)
    axes.axvline(0, color=INK, linewidth=1)
    axes.locator_params(axis="x", nbins=6)
    axes.set_xlabel("offset, in units of similarity")
    axes.set_ylabel("items")


def _curves(
    curves: dict[str, list[CurvePoint]], raw: CurvePoint, label: str, mark: float | None, *, recall: bool
) -> Callable[[Any], None]:
    def draw(axes: Any) -> None:
        looks = iter(OTHERS * len(curves))
        for name, points in curves.items():
            colour, marker, style = (ACCENT, "o", "-") if name == "auto" else next(looks)
            values = [_value(point, recall) for point in points]
            settings = [point.setting for point in points]
            axes.plot(settings, values, color=colour, marker=marker, linestyle=style, linewidth=2, label=name)
        axes.axhline(_value(raw, recall), color=RAW, linestyle=":", linewidth=2, label="raw")
        if mark is not None:
            axes.axvline(mark, color=ACCENT, linewidth=1.5, label="chosen by auto")
        axes.set_xscale("log")
        ticks = [point.setting for point in next(iter(curves.values()))][:: 1 if mark is None else 3]
        axes.set_xticks(ticks, [f"{tick:,.2g}" if tick < 1 else f"{tick:,.0f}" for tick in ticks])
        axes.set_xticks([], minor=True)
        axes.set_xlabel(label)
        axes.set_ylabel("R@1 in %" if recall else "skewness of N_10")

    return draw


def _value(point: CurvePoint, recall: bool) -> float:
    return 100 * point.recall if recall and point.recall is not None else point.skewness


def _sources(axes: Any, sources: Sequence[Source], raw: CurvePoint) -> None:
    recall = raw.recall is not None
    for place, source in enumerate(sources[::-1]):
        value = _value(source.point, recall)
        axes.plot(value, place, marker="o", markersize=8, color=ACCENT if source is sources[0] else MIDDLE)
        axes.annotate(f"{value:.3g}", (value, place), (0, 8), textcoords="offset points", ha="center", fontsize=10)
    axes.axvline(_value(raw, recall), color=RAW, linestyle=":", linewidth=2, label="raw")
    axes.set_yticks(range(len(sources)), [source.name for source in sources[::-1]])
    axes.set_ylim(-0.6, len(sources) - 0.3)
    axes.margins(x=0.15)
    axes.set_xlabel("R@1 in %" if recall else "skewness of N_10")


def _heat_maps(found: HeatMap) -> tuple[Picture, Picture]:
    low, high = np.quantile(np.concatenate([found.before, found.after]), [0.02, 0.995])
    caption = words.HEAT_CAPTION.format(hubs=found.hubs) + (words.RIGHT_CAPTION if len(found.right) else "")

    def draw(values: F32) -> Callable[[Any], None]:
        def on(axes: Any) -> None:
            axes.imshow(values, cmap="Blues", vmin=low, vmax=high, aspect="auto", interpolation="none")
            axes.axvline(found.hubs - 0.5, color=INK, linewidth=1)
            if len(found.right):
                rows, columns = found.right.T
                axes.scatter(columns, rows, s=7, color="white", linewidths=0)
            axes.set_xticks([])
            axes.set_yticks([])
            axes.set_xlabel("items, the largest hubs first")
            axes.set_ylabel("searches")

        return on

    return (
        Picture("Similarities, raw", _svg(draw(found.before), "heat-before", size=TALL, grid="none"), caption),
        Picture("Similarities, with auto", _svg(draw(found.after), "heat-after", size=TALL, grid="none"), caption),
    )


def _projections(found: Projection) -> tuple[Picture, Picture]:
    caption = words.PROJECTION_CAPTION.format(explained=found.explained)
    most = max(int(found.before.max()), int(found.after.max()), 1)

    def draw(counts: I64) -> Callable[[Any], None]:
        def on(axes: Any) -> None:
            # thousands of points as one image, or the page grows by megabytes
            axes.scatter(*found.queries.T, s=6, color=MIDDLE, alpha=0.35, linewidths=0, rasterized=True)
            axes.scatter(*found.targets.T, s=6, color="#B9D5E6", linewidths=0, rasterized=True)
            often = counts >= words.OFTEN * found.even
            sizes = 360 * counts[often] / most
            axes.scatter(*found.targets[often].T, s=sizes, color=ACCENT, alpha=0.6, linewidths=0, rasterized=True)
            axes.set_xticks([])
            axes.set_yticks([])
            axes.set_xlabel("first principal component")
            axes.set_ylabel("second")

        return on

    return (
        Picture("Hubs on a plane, raw", _svg(draw(found.before), "plane-before", size=TALL, grid="none"), caption),
        Picture("Hubs on a plane, with auto", _svg(draw(found.after), "plane-after", size=TALL, grid="none"), caption),
    )
