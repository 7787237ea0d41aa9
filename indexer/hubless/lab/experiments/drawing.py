"""The charts of results, for notebooks and reports. The accent colour is the correction's; all else is grey."""

from collections.abc import Mapping

import numpy as np

from hubless.errors import InputError
from hubless.lab.charts import ACCENT, INK, MIDDLE, RAW, SIZE, Axis, Chart, bent, even_axis, logarithm, powers_of_ten
from hubless.lab.experiments.columns import columns
from hubless.lab.experiments.measured import Measured
from hubless.vectors.arrays import I64

_ROW = 45
"""Pixels of height for each row of a comparison."""
_COLOURS = {"auto": ACCENT, "corrected": ACCENT, "none": RAW, "raw": RAW}
"""Of the rows of a comparison."""


def occurrence_axes(targets: int, most: int, items: str, times: str) -> tuple[Axis, Axis]:
    """Return both axes of a chart of N_k: a target's place, and how often it is found.

    Parameters
    ----------
    most : the largest N_k
    items, times : labels
    """
    x = Axis(items, 0.9, 1.1 * targets, powers_of_ten(targets), logarithm, grid=True)
    # 0 has no logarithm
    return x, Axis(times, -0.1, 1.3 * max(most, 1), {0: "0"} | powers_of_ten(most), bent(1, 0.5), grid=True)


def occurrence(curves: Mapping[str, I64]) -> Chart:
    """Draw N_10: how often each target is among the first 10, the most found first.

    Parameters
    ----------
    curves : N_10 (n,) by the name of the ranking; "raw" is among them
    """
    raw = curves["raw"]
    most = max(int(counts.max()) for counts in curves.values())
    chart = Chart(*occurrence_axes(len(raw), most, "items, the most shown first", "times among the first 10"))
    for name, counts in curves.items():
        places = np.arange(1, len(counts) + 1)
        chart.line(places, np.sort(counts)[::-1], RAW if name == "raw" else ACCENT, name)
    chart.rule(INK, "if all were shown alike", y=float(np.mean(raw)), dash="2 3")
    return chart


def quality(comparison: Measured, measure: str = "recall_at_1") -> Chart:
    """Draw one measure of each correction as a point, with its 95 % interval as a bar where there is one.

    Parameters
    ----------
    measure : as in `quality` of a row: "recall_at_5", "skewness"

    Raises
    ------
    InputError
        if the measure was not measured, or stands for several.
    """
    shown = columns(comparison, [measure])
    if measure not in shown:
        raise InputError("measure", f"a single one, such as {', '.join(shown)}", measure)
    column, rows = shown[measure], comparison.rows[::-1]
    values = [column.scale * row.quality[measure] for row in rows]
    bounds = [row.intervals.get(measure) for row in rows]
    spreads = [
        (value, value) if bound is None else (column.scale * bound.low, column.scale * bound.high)
        for value, bound in zip(values, bounds, strict=True)
    ]
    names = {float(place): "raw" if row.label == "none" else row.label for place, row in enumerate(rows)}
    x = even_axis(f"{column.heading} in %" if column.scale == 100 else column.heading, [*values, *np.ravel(spreads)])
    chart = Chart(x, Axis("", -0.6, len(rows) - 0.3, names), (SIZE[0], _ROW * (len(rows) + 2)))
    for place, (row, value, (low, high)) in enumerate(zip(rows, values, spreads, strict=True)):
        colour = _COLOURS.get(row.label, MIDDLE)
        chart.point(value, place, colour, low=low, high=high)
        chart.text(value, place, f"{value:.{column.digits}f}", colour, up=9)
    return chart
