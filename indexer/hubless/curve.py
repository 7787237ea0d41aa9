"""The measured recall and latency of an index's search parameters, drawn as bars on a terminal."""

from rich.table import Table

from hubless.bundle import IndexRecord, SettingRecord

WIDTH = 20
_EIGHTHS = " ▏▎▍▌▋▊▉"


def curve_table(index: IndexRecord) -> Table:
    """A line for each setting that was measured; the one that queries use is marked."""
    table = Table("", "search parameters", "recall@10", "", "ms a query", "", title="measured on one thread")
    for column in (2, 4):
        table.columns[column].justify = "right"
    slowest = max(setting.latency_ms for setting in index.curve)
    for setting in index.curve:
        table.add_row(
            "→" if setting.parameters == index.parameters else "",
            named(setting),
            f"{setting.recall_at_10:.4f}",
            bar(setting.recall_at_10),
            f"{setting.latency_ms:.3g}",
            bar(setting.latency_ms / slowest),
        )
    return table


def named(setting: SettingRecord) -> str:
    """Search parameters in words."""
    return ", ".join(f"{name} {value}" for name, value in setting.parameters.items())


def bar(share: float) -> str:
    """A bar of a share, from 0 to 1, of the full width."""
    whole, eighths = divmod(round(share * WIDTH * 8), 8)
    return ("█" * whole + _EIGHTHS[eighths]).rstrip()
