"""The plots of a report, as SVG."""

import io
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from hubless.errors import InputError, how_to_install
from hubless.lab.comparison import Comparison
from hubless.lab.report.contents import CurvePoint, Report
from hubless.vectors.arrays import F32, I64

# colours of Okabe and Ito's palette, which the colour-blind can tell apart
RAW, CORRECTED, THIRD, INK, PALE = "#B34700", "#0072B2", "#00795A", "#222222", "#CCCCCC"
MARKS = ((CORRECTED, "o", "-"), (THIRD, "s", "--"))
BINS = 50


def plots(report: Report) -> dict[str, str]:
    """Title → SVG, in the order of the page.

    Raises
    ------
    InputError
        without matplotlib.
    """
    diagnosis = report.diagnosis
    drawn = {
        "How often each target is found": _svg(lambda axes: _occurrence(axes, diagnosis.occurrences), "occurrence"),
        "Offsets": _svg(lambda axes: _histogram(axes, diagnosis.offsets), "offsets"),
    }
    if report.comparison is not None:
        shown = report.comparison
        drawn["R@1 by correction"] = _svg(lambda axes: _recalls(axes, shown), "recalls")
    for title, curves, label, name in (
        ("Sensitivity to temperature", report.by_temperature, "temperature τ", "temperature"),
        ("Sensitivity to the size of the bank", report.by_bank, "queries in the bank", "bank"),
    ):
        mark = report.temperature if name == "temperature" else None
        if report.raw.recall is not None:
            drawn[f"{title}: R@1"] = _svg(_curves(curves, report.raw, label, mark, recall=True), f"{name}-recall")
        drawn[f"{title}: hubness"] = _svg(_curves(curves, report.raw, label, mark, recall=False), f"{name}-skewness")
    return drawn


def load_matplotlib() -> tuple[ModuleType, ModuleType]:
    """Matplotlib, and its module of figures.

    Raises
    ------
    InputError
        if it is not there, naming the extra that brings it.
    """
    try:
        return import_module("matplotlib"), import_module("matplotlib.figure")
    except ImportError as error:
        raise InputError("report", f"the extra demo: {how_to_install('demo')}", "no matplotlib") from error


def _svg(draw: Callable[[Any], None], name: str) -> str:
    matplotlib, figures = load_matplotlib()
    # text stays text, for readers of the screen; a salt a plot, as several stand on one page
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure = figures.Figure(figsize=(5.4, 3.5), layout="constrained")
        axes = figure.add_subplot()
        draw(axes)
        axes.tick_params(colors=INK)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color=PALE, linewidth=0.5)
        axes.set_axisbelow(True)
        written = io.StringIO()
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = written.getvalue()
    return svg[svg.index("<svg") :]


def _occurrence(axes: Any, occurrences: dict[str, I64]) -> None:
    marks = {"raw": (RAW, "-"), "corrected": (CORRECTED, "--")}
    for name, occurrence in occurrences.items():
        colour, style = marks[name]
        never = np.count_nonzero(occurrence == 0)
        label = f"{name}: up to {occurrence.max():,}, {never:,} never"
        places = np.arange(1, len(occurrence) + 1)
        axes.plot(places, np.sort(occurrence)[::-1], color=colour, linestyle=style, linewidth=2, label=label)
    axes.axhline(np.mean(occurrences["raw"]), color="#767676", linestyle=":", label="if all were found alike")
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=1, linscale=0.5)
    axes.set_ylim(bottom=-0.1)
    axes.set_xlabel("targets, the most found first")
    axes.set_ylabel("times among the first 10")
    axes.legend(frameon=False)


def _histogram(axes: Any, offsets: F32) -> None:
    axes.hist(offsets, bins=BINS, color=CORRECTED)
    axes.axvline(0, color=INK, linewidth=1)
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("offset h, in units of similarity: hubs are on the right")
    axes.set_ylabel("targets")


def _recalls(axes: Any, comparison: Comparison) -> None:
    rows = comparison.rows[::-1]
    values = [100 * row.quality["recall_at_1"] for row in rows]
    bounds = [row.intervals["recall_at_1"] for row in rows]
    low = [max(0.0, value - 100 * bound.low) for value, bound in zip(values, bounds, strict=True)]
    high = [max(0.0, 100 * bound.high - value) for value, bound in zip(values, bounds, strict=True)]
    for place, row in enumerate(rows):
        colour = RAW if row.name == "none" else CORRECTED
        spread = [[low[place]], [high[place]]]
        axes.errorbar(values[place], place, xerr=spread, fmt="o", color=colour, capsize=4, linewidth=2)
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlabel("R@1 in %, with 95 % intervals")


def _curves(
    curves: dict[str, list[CurvePoint]], raw: CurvePoint, label: str, mark: float | None, *, recall: bool
) -> Callable[[Any], None]:
    def value(point: CurvePoint) -> float:
        return 100 * point.recall if recall and point.recall is not None else point.skewness

    def draw(axes: Any) -> None:
        for (name, points), (colour, marker, style) in zip(curves.items(), MARKS, strict=True):
            settings, values = [point.setting for point in points], [value(point) for point in points]
            axes.plot(settings, values, color=colour, marker=marker, linestyle=style, linewidth=2, label=name)
        axes.axhline(value(raw), color=RAW, linestyle=":", linewidth=2, label="raw")
        if mark is not None:
            axes.axvline(mark, color="#767676", linewidth=1, label="chosen by auto")
        axes.set_xscale("log")
        axes.set_xlabel(label)
        axes.set_ylabel("R@1 in %" if recall else "skewness of N_10")
        axes.legend(frameon=False)

    return draw
