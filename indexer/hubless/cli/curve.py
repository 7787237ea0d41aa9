"""Bars of the recall and latency that were measured for an index."""

from rich.table import Table

from hubless.cli.printing import table_of
from hubless.store.bundle import IndexRecord, SettingRecord

WIDTH = 8
ROWS = 10
"""Of the curve so many settings are shown; `--json` has all."""
_EIGHTHS = " ▏▎▍▌▋▊▉"


def curve_table(index: IndexRecord) -> Table:
    """Return a table of the measured settings. The one that queries use is marked."""
    headings = ["", "search parameters", "recall@10", "", "ms a query", ""]
    table = table_of(*headings, title="measured on one thread")
    for column in (2, 4):
        table.columns[column].justify = "right"
    shown = _shown(index)
    slowest = max(setting.latency_ms for setting in shown)
    for setting in shown:
        table.add_row(
            "→" if setting.parameters == index.parameters else "",
            named(setting),
            f"{setting.recall_at_10:.4f}",
            bar(setting.recall_at_10),
            f"{setting.latency_ms:.3g}",
            bar(setting.latency_ms / slowest),
        )
    return table


def _shown(index: IndexRecord) -> list[SettingRecord]:
    """At most ten settings, evenly chosen, the one that queries use among them."""
    if len(index.curve) <= ROWS:
        return index.curve
    used = next((place for place, one in enumerate(index.curve) if one.parameters == index.parameters), 0)
    places = [round(step * (len(index.curve) - 1) / (ROWS - 1)) for step in range(ROWS)]
    nearest = min(range(ROWS), key=lambda place: abs(places[place] - used))
    places[nearest] = used
    return [index.curve[place] for place in places]


def named(setting: SettingRecord) -> str:
    """Return search parameters in words."""
    return ", ".join(f"{name} {value}" for name, value in setting.parameters.items())


def bar(share: float) -> str:
    """Return a bar for a share from 0 to 1 of the full width."""
    whole, eighths = divmod(round(share * WIDTH * 8), 8)
    return ("█" * whole + _EIGHTHS[eighths]).rstrip()
