"""The picture of the k-occurrence before and after: how often each function is among the first ten."""

from pathlib import Path

import numpy as np

from hubless.demo.measuring import K, Ranking
from hubless.lab.charts import ACCENT, RAW, Chart, occurrence_axes
from hubless.vectors.arrays import I64

_HUBS = "#D55E00"
# of the same size on a page as the text of a README
_SIZE = (800, 420)


def draw(raw: Ranking, corrected: Ranking, path: Path) -> None:
    """Write the picture.

    Functions are sorted by how often they are found. Both axes are logarithmic, as a few hubs are many times the mean.

    Raises
    ------
    StorageError
        if the disk refuses.
    """
    targets = len(raw.occurrence)
    queries = int(raw.occurrence.sum()) // K
    labels = (f"{targets:,} functions, the most often found first", f"times among the first {K}")
    axes = occurrence_axes(targets, int(raw.occurrence.max()), *labels)
    chart = Chart(*axes, _SIZE, f"How often {queries:,} questions find each function")
    chart.rule(RAW, "if all were found equally often", y=queries * K / targets, dash="5 4")
    for ranking, colour, label in ((raw, _HUBS, "raw"), (corrected, ACCENT, f"corrected ({corrected.name})")):
        found = np.sort(ranking.occurrence)[::-1]
        chart.line(np.arange(1, targets + 1), found, colour, f"{label}: {_summary(ranking.occurrence)}")
    chart.save(path)


def _summary(occurrence: I64) -> str:
    return f"up to {occurrence.max():,} times, {np.count_nonzero(occurrence == 0):,} never"
