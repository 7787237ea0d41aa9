"""The plots of results, for notebooks and reports. The accent colour is the correction's; all else is grey."""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from hubless.errors import InputError, how_to_install
from hubless.lab.columns import columns
from hubless.lab.measured import Measured
from hubless.vectors.arrays import I64

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ACCENT, RAW, INK, MIDDLE, PALE = "#0072B2", "#8A8A8A", "#222222", "#5C5C5C", "#DDDDDD"
SIZE = (5.0, 3.5)
"""Inches. Small, so that words stay readable on a phone."""
_LINE = 0.45
"""Inches of height for each row of a comparison."""
TEXT = {"font.family": "sans-serif", "font.size": 11}
_COLOURS = {"auto": ACCENT, "corrected": ACCENT, "none": RAW, "raw": RAW}
"""Of the rows of a comparison."""


def load_matplotlib(parameter: str) -> ModuleType:
    """Matplotlib.

    Parameters
    ----------
    parameter : what the error names: what needs matplotlib

    Raises
    ------
    InputError
        if it is not there, naming the extra that brings it.
    """
    try:
        return import_module("matplotlib")
    except ImportError as error:
        raise InputError(parameter, f"the extra demo: {how_to_install('demo')}", "no matplotlib") from error


def figure(draw: Callable[[Any], None], *, size: tuple[float, float] = SIZE, grid: str = "both") -> "Figure":
    """A figure of one plot, with its legend below.

    Parameters
    ----------
    draw : draws on the axes that it gets
    size : width and height in inches
    grid : "x", "y", "both" or "none"

    Raises
    ------
    InputError
        without matplotlib.
    """
    matplotlib = load_matplotlib("plot")
    with matplotlib.rc_context(TEXT):
        drawn: Figure = import_module("hubless.lab.figures").NotebookFigure(figsize=size, layout="constrained")
        axes: Any = drawn.add_subplot()
        draw(axes)
        axes.tick_params(colors=MIDDLE, labelcolor=INK)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(RAW)
        if grid != "none":
            axes.grid(axis=grid, color=PALE, linewidth=0.6)
            axes.set_axisbelow(True)
        handles, labels = axes.get_legend_handles_labels()
        if labels:
            drawn.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return drawn


def occurrence(curves: Mapping[str, I64]) -> "Figure":
    """A figure of N_10: how often each target is among the first 10, the most found first.

    Parameters
    ----------
    curves : N_10 (n,) by the name of the ranking; "raw" is among them

    Raises
    ------
    InputError
        without matplotlib.
    """
    return figure(lambda axes: draw_occurrence(axes, curves))


def draw_occurrence(axes: Any, curves: Mapping[str, I64]) -> None:
    """N_10 of each ranking, and what it would be if all were shown alike."""
    for name, counts in curves.items():
        places = np.arange(1, len(counts) + 1)
        colour = RAW if name == "raw" else ACCENT
        axes.plot(places, np.sort(counts)[::-1], color=colour, linewidth=2.4, label=name)
    axes.axhline(np.mean(curves["raw"]), color=INK, linestyle=":", label="if all were shown alike")
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=1, linscale=0.5)
    most = max(int(counts.max()) for counts in curves.values())
    axes.set_ylim(-0.1, 1.3 * max(most, 1))
    powers = 10 ** np.arange(int(np.log10(len(curves["raw"]))) + 1)
    axes.set_xticks(powers, [f"{power:,}" for power in powers])
    ticks = [0, *(10 ** np.arange(int(np.log10(max(most, 1))) + 1))]
    axes.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.set_yticks([], minor=True)
    axes.set_xlabel("items, the most shown first")
    axes.set_ylabel("times among the first 10")


def quality(comparison: Measured, measure: str = "recall_at_1") -> "Figure":
    """A figure of one measure of each correction, with its 95 % interval where there is one.

    Parameters
    ----------
    measure : as in `quality` of a row: "recall_at_5", "skewness"

    Raises
    ------
    InputError
        without matplotlib; or if the measure was not measured, or stands for several.
    """
    shown = columns(comparison, [measure])
    if measure not in shown:
        raise InputError("measure", f"a single one, such as {', '.join(shown)}", measure)
    height = _LINE * (len(comparison.rows) + 2)
    return figure(lambda axes: draw_quality(axes, comparison, measure), size=(SIZE[0], height), grid="x")


def draw_quality(axes: Any, comparison: Measured, measure: str = "recall_at_1") -> None:
    """A measure of each correction as a point, with its interval as a bar."""
    [column] = columns(comparison, [measure]).values()
    rows = comparison.rows[::-1]
    for place, row in enumerate(rows):
        value, bound = column.scale * row.quality[measure], row.intervals.get(measure)
        low, high = (value, value) if bound is None else (column.scale * bound.low, column.scale * bound.high)
        spread = [[max(0.0, value - low)], [max(0.0, high - value)]]
        colour, cap = _COLOURS.get(row.label, MIDDLE), 0 if bound is None else 4
        axes.errorbar(value, place, xerr=spread, fmt="o", color=colour, capsize=cap, linewidth=2)
        text = f"{value:.{column.digits}f}"
        axes.annotate(text, (value, place), (0, 6), textcoords="offset points", ha="center", fontsize=10)
    axes.set_yticks(range(len(rows)), ["raw" if row.label == "none" else row.label for row in rows])
    axes.set_ylim(-0.6, len(rows) - 0.3)
    axes.set_xlabel(f"{column.heading} in %" if column.scale == 100 else column.heading)
