"""A comparison of methods, and its tables."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from hubless.diagnosing.table import TextTable
from hubless.errors import InputError
from hubless.measures.chance import antihubs_by_chance
from hubless.search.pages import render
from hubless_lab.charts import ACCENT, CHART_SIZE, MIDDLE, RAW, Axis, Chart
from hubless_lab.experiments.tally import Quality, Row
from hubless_lab.experiments.trials import LEAK
from hubless_lab.marked_charts import MarkedChart, even_axis

_CHANGE = "ΔR@1 [95 %]"
_FIRST = ("correction", "R@1", _CHANGE, "p", "skewness N10")
"""The usual columns that matter most."""
_PLACE = re.compile("_at_|_to_")
_ROW_HEIGHT = 45
_COLOURS = {"auto": ACCENT, "corrected": ACCENT, "none": RAW, "raw": RAW}

INTERVAL = "interval"
Measures: TypeAlias = Sequence[str] | None
"""Names as in `quality` of a row, or those of `MEASURES`; None for the usual ones. `interval` adds ± to the others."""


@dataclass(frozen=True)
class MeasureColumn:
    """A measure in a table: its heading, with the place of its k, its format, and whether the highest is the best."""

    heading: str
    scale: float = 1.0
    digits: int = 2
    high_is_best: bool = False

    def written(self, value: float) -> str:
        return "–" if np.isnan(value) else f"{self.scale * value:.{self.digits}f}"


MEASURES = {
    "recall": MeasureColumn("R@{k}", 100, 1, True),
    "precision": MeasureColumn("P@{k}", 100, 1, True),
    "mean_average_precision": MeasureColumn("mAP@{k}", 100, 1, True),
    "ndcg": MeasureColumn("nDCG@{k}", 100, 1, True),
    "geometric_mean_recall": MeasureColumn("geo. mean", 100, 1, True),
    "median_rank": MeasureColumn("MdR", digits=1),
    "mean_rank": MeasureColumn("MnR", digits=1),
    "mean_reciprocal_rank": MeasureColumn("MRR", digits=3, high_is_best=True),
    "skewness": MeasureColumn("skewness N{k}"),
    "truncated_skewness": MeasureColumn("truncated skewness N{k}"),
    "kurtosis": MeasureColumn("kurtosis N{k}"),
    "mean_deviation": MeasureColumn("MAE N{k}"),
    "most": MeasureColumn("max N{k}", digits=0),
    "robin_hood": MeasureColumn("Robin Hood N{k}", 100, 1),
    "gini": MeasureColumn("Gini N{k}", digits=3),
    "atkinson": MeasureColumn("Atkinson N{k}", digits=3),
    "antihubs": MeasureColumn("antihubs N{k}", 100, 1),
    "hubs": MeasureColumn("hubs N{k}", 100, 1),
    "groupie_ratio": MeasureColumn("groupie ratio N{k}", 100, 1),
    "sparsity": MeasureColumn("sparsity", digits=5),
    "bias": MeasureColumn("bias", digits=3),
    "ks": MeasureColumn("KS N{k}", digits=3),
    "ks_p": MeasureColumn("KS p", digits=3, high_is_best=True),
    "seconds": MeasureColumn("fit s", digits=3),
    "distance": MeasureColumn("EMD to {k}", digits=3),
}
"""Names that stand for the measure at every k that was measured."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Methods side by side on the same queries. A notebook shows it as a table.

    Sizes are those of the first split. Measures of hubness are of the first of `depths`; others end in `_at_k`.
    """

    protocol: Literal["strict", "query bank", "demand", "collection"]
    queries: int
    targets: int
    query_bank: int | None = None
    target_bank: int | None = None
    several_relevant: bool
    seeds: list[int] = field(default_factory=list)
    draws: int = 1
    depths: list[int]
    baseline: str
    left_out: list[int]
    notes: list[str]
    group_shares: dict[str, float]
    rows: list[Row]

    @property
    def leaks(self) -> list[str]:
        """Notes that say why the changes look too good."""
        return [note for note in self.notes if LEAK in note]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def records(self) -> list[dict[str, Any]]:
        """Return all measures of each row, with intervals, spread and tests beside them."""
        return [_flat(row) for row in self.rows]

    def row(self, label: str) -> Row:
        return next(row for row in self.rows if row.label == label)

    @property
    def raw(self) -> Quality:
        """The measures of the raw ranking of a collection."""
        return self.row("raw").quality

    @property
    def corrected(self) -> Quality:
        """The measures of a collection as it is served."""
        return self.row("corrected").quality

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(row.label for row in self.rows)} on {self.queries:,} queries>"

    def _repr_html_(self) -> str:
        return comparison_table(self).html()

    def plot(self, measure: str = "recall_at_1") -> Chart:
        """Draw one measure of each method, such as `recall_at_5`, as a point with its 95 % interval.

        Raises `InputError` for an unknown measure.
        """
        shown = columns(self, [measure])
        if measure not in shown:
            raise InputError("measure", f"a single one, such as {', '.join(shown)}", measure)
        if measure == "bias":
            return self._bias()
        column = shown[measure]
        rows = self.rows[::-1]
        points = np.array([[value_of(row, measure)] * 3 for row in rows]) * column.scale
        for point, row in zip(points, rows, strict=True):
            if measure in row.intervals:
                point[1:] = column.scale * row.intervals[measure].low, column.scale * row.intervals[measure].high
        names = {float(place): "raw" if row.label == "none" else row.label for place, row in enumerate(rows)}
        x = even_axis(f"{column.heading} in %" if column.scale == 100 else column.heading, points)
        size = (CHART_SIZE[0], _ROW_HEIGHT * (len(rows) + 2))
        chart = MarkedChart(x, Axis("", -0.6, len(rows) - 0.3, names), size)
        for place, (row, (value, low, high)) in enumerate(zip(rows, points.tolist(), strict=True)):
            colour = _COLOURS.get(row.label, MIDDLE)
            chart.point(value, place, colour, low=low, high=high)
            chart.text(value, place, f"{value:.{column.digits}f}", colour, up=9)
        return chart

    def _bias(self) -> Chart:
        first, second = self.group_shares
        counts = {row.label: np.array(row.group_histogram[first]) for row in self.rows}
        top = len(next(iter(counts.values()))) - 1
        across = (2 * np.arange(top + 1) - top) / top
        y = even_axis("queries", [0, *(line.max() for line in counts.values())])
        chart = Chart(even_axis(f"bias: (#{first} − #{second})/{top}", across), y)
        for label, line in counts.items():
            chart.line(across, line, _COLOURS.get(label, MIDDLE), label)
        return chart


def columns(comparison: Comparison, measures: Measures = None) -> dict[str, MeasureColumn]:
    """Return the columns of a table by the names of their measures. Raises `InputError` for unknown measures."""
    known = _measured(comparison)
    several = ["mean_average_precision", "ndcg"] if comparison.several_relevant else []
    moved = ["distance"] if "distance_to_targets" in known else []
    usual = ["recall", "median_rank", "mean_rank", *several, "skewness", "robin_hood", "antihubs", *moved]
    shown: dict[str, MeasureColumn] = {}
    for measure in usual if measures is None else measures:
        named = {name: known[name] for name in known if measure in (name, _PLACE.split(name)[0])}
        if not named and measure != INTERVAL:
            raise InputError("measure", f"one of {', '.join(MEASURES)}, or one of them at a k: recall_at_1", measure)
        shown |= named
    if measures is None and len(comparison.depths) == 1:
        # `skewness` says which depth, and the other headings are shorter
        for name in ("robin_hood", "antihubs"):
            shown[name] = replace(shown[name], heading=shown[name].heading.partition(" N")[0])
    return shown


def _measured(comparison: Comparison) -> dict[str, MeasureColumn]:
    """Return a column for each measure that was made, by its name, its k in the heading."""
    known = {}
    for name in (*dict.fromkeys(name for row in comparison.rows for name in row.quality), "seconds"):
        base, *place = _PLACE.split(name)
        heading = MEASURES[base].heading.format(k=" ".join(place).replace("_", " ") or comparison.depths[0])
        known[name] = replace(MEASURES[base], heading=heading)
    return known


def comparison_table(comparison: Comparison, measures: Measures = None) -> TextTable:
    """Return the table that all formats show. The change of R@1 stands beside R@1 only."""
    shown = columns(comparison, measures)
    rows = comparison.rows
    found = {column.heading: _cells(rows, name, column, measures) for name, column in shown.items()}
    best = {
        (row, place)
        for place, (name, column) in enumerate(shown.items(), start=1)
        for row in _best_rows(rows, name, column)
    }
    if "recall_at_1" in shown:
        found[_CHANGE] = [_change(row) for row in rows]
        if any(row.p_value is not None for row in rows):
            found["p"] = [_p_value(row) for row in rows]
    for group, share in comparison.group_shares.items():
        found[f"{group} ({100 * share:.1f})"] = [f"{100 * row.group_shares[group]:.1f}" for row in rows]
    lines = list(zip([row.label for row in rows], *found.values(), strict=True))
    first = _FIRST if measures is None else ()
    return TextTable(["correction", *found], lines, caption(comparison), best, first)


def value_of(row: Row, name: str) -> float:
    """Return a measure of a row, the time of its fit among them; NaN where it has none."""
    return row.seconds if name == "seconds" else row.quality.get(name, np.nan)


def caption(comparison: Comparison) -> str:
    """Return what was compared, and what there is to know of it."""
    chance = antihubs_by_chance(comparison.queries, comparison.targets, comparison.depths[0])
    return render("caption.txt", "hubless_lab", made=comparison, chance=chance)


def _cells(rows: Sequence[Row], name: str, column: MeasureColumn, measures: Measures) -> list[str]:
    """Return a measure of each row as it is written: with its spread if it was asked for, R@1 with its interval."""
    halves = measures is not None and INTERVAL in measures
    if name == "recall_at_1" and not halves:
        return [_recall(row, column) for row in rows]
    if measures is None:
        return [column.written(value_of(row, name)) for row in rows]
    return [_with_spread(row, name, column, halves) for row in rows]


def _best_rows(rows: Sequence[Row], name: str, column: MeasureColumn) -> list[int]:
    """Return the numbers of the rows that are written as the best one is; none if all are alike."""
    values = [value_of(row, name) for row in rows]
    if np.isnan(values).all():
        return []
    written = [column.written(value) for value in values]
    best = written[int(np.nanargmax(values) if column.high_is_best else np.nanargmin(values))]
    return [] if len(set(written)) == 1 else [row for row, text in enumerate(written) if text == best]


def _with_spread(row: Row, name: str, column: MeasureColumn, halves: bool = False) -> str:
    """Return a measure ± its spread over splits or draws, or half its 95 % interval over the queries."""
    text = column.written(value_of(row, name))
    spread = (row.spread or {}).get(name)
    if halves and name in row.intervals:
        spread = (row.intervals[name].high - row.intervals[name].low) / 2
    return text if spread is None else f"{text} ± {column.written(spread)}"


def _recall(row: Row, column: MeasureColumn) -> str:
    text = _with_spread(row, "recall_at_1", column)
    if row.spread is not None or "recall_at_1" not in row.intervals:
        return text
    interval = row.intervals["recall_at_1"]
    return f"{text} [{column.written(interval.low)}, {column.written(interval.high)}]"


def _change(row: Row) -> str:
    if row.change is None:
        return "–"
    interval = row.change.interval
    return f"{100 * row.change.value:+.1f} [{100 * interval.low:+.1f}, {100 * interval.high:+.1f}]"


def _p_value(row: Row) -> str:
    if row.p_value is None:
        return "–"
    return "<0.001" if row.p_value < 0.001 else f"{row.p_value:.3f}"


def _flat(row: Row) -> dict[str, Any]:
    flat: dict[str, Any] = {"correction": row.label} | row.quality | {"seconds": row.seconds}
    for name, interval in row.intervals.items():
        flat |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
    flat |= {f"{name}_spread": value for name, value in (row.spread or {}).items()}
    if row.change is not None:
        interval = row.change.interval
        flat |= {"change": row.change.value, "change_error": row.change.error}
        flat |= {"change_low": interval.low, "change_high": interval.high}
        flat["p_value"] = row.p_value
    return flat | {f"share_{group}": share for group, share in row.group_shares.items()}
