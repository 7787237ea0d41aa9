"""The picture of the k-occurrence before and after: how often each function is among the first ten."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hubless.demo.measuring import K, Ranking
from hubless.errors import InputError, storage_errors
from hubless.vectors.arrays import I64

# Okabe and Ito's palette: colour-blind readers can tell them apart
_RAW, _CORRECTED, _INK, _PALE = "#D55E00", "#0072B2", "#333333", "#BBBBBB"
_FORMATS = (".png", ".svg", ".pdf")
_EVEN_STYLE = (0, (4, 3))


def check_picture(path: Path) -> Path:
    """The path itself.

    Raises
    ------
    InputError
        if its ending names no format of pictures.
    """
    if path.suffix not in _FORMATS:
        raise InputError("picture", f"a file ending in {', '.join(_FORMATS)}", path.name)
    return path


def draw(raw: Ranking, corrected: Ranking, path: Path) -> None:
    """Write the picture, in the format that the path's ending names.

    Functions are sorted by how often they are found. Both axes are logarithmic, as a few hubs are many times the mean.

    Raises
    ------
    StorageError
        if the disk refuses.
    """
    figure = Figure(figsize=(8, 4.4), dpi=130, layout="constrained")
    axes = figure.add_subplot()
    targets = len(raw.occurrence)
    queries = int(raw.occurrence.sum()) // K
    even = queries * K / targets
    axes.axhline(even, color=_PALE, linestyle=_EVEN_STYLE, linewidth=1.2, zorder=1)
    axes.text(1, even * 0.93, "if all were found equally often", color="#777777", va="top", fontsize=9)
    for ranking, colour, label in ((raw, _RAW, "raw"), (corrected, _CORRECTED, f"corrected ({corrected.name})")):
        _curve(axes, ranking.occurrence, colour, f"{label}: {_summary(ranking.occurrence)}")
    axes.set_xscale("log")
    # linear below 1, because 0 has no logarithm
    axes.set_yscale("symlog", linthresh=1, linscale=0.5)
    axes.set_xlim(0.9, targets * 1.1)
    axes.set_ylim(-0.08, raw.occurrence.max() * 1.6)
    axes.set_xticks(powers := _powers_of_ten(targets), [f"{power:,}" for power in powers])
    axes.set_yticks(counts := [0, *_powers_of_ten(int(raw.occurrence.max()))], [f"{count:,}" for count in counts])
    axes.set_yticks([], minor=True)
    axes.set_xlabel(f"{targets:,} functions, the most often found first", color=_INK)
    axes.set_ylabel(f"times among the first {K}", color=_INK)
    axes.set_title(f"How often {queries:,} questions find each function", loc="left", color=_INK, fontsize=13)
    axes.tick_params(colors=_INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper right", labelcolor="linecolor", fontsize=10)
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Software": None} if path.suffix == ".png" else None)


def _curve(axes: Axes, occurrence: I64, colour: str, label: str) -> None:
    places = np.arange(1, len(occurrence) + 1)
    axes.plot(places, np.sort(occurrence)[::-1], color=colour, linewidth=2.2, label=label, zorder=2)


def _summary(occurrence: I64) -> str:
    return f"up to {occurrence.max():,} times, {np.count_nonzero(occurrence == 0):,} never"


def _powers_of_ten(largest: int) -> list[int]:
    return [10**power for power in range(len(str(largest)))]
