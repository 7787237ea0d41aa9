"""Charts of points: markers with intervals, dots and words, which the lab draws beside the lines of a diagnosis."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hubless_lab.charts import INK, Axis, Chart, add_element, add_words

MARGIN = 0.05
"""Room beside the outermost values, as a share of their range."""
MARKERS = {
    "o": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "s": "M-4-4h8v8h-8z",
    "^": "M0-5L5 4H-5z",
    "D": "M0-5L5 0L0 5L-5 0z",
}


def even_axis(label: str, values: ArrayLike) -> Axis:
    """Return a linear axis that shows all values, with three to eight round ticks and some room on each side."""
    low, high = float(np.min(values)), float(np.max(values))
    # one value alone gets a range around it
    room = MARGIN * ((high - low) or max(abs(high), 1))
    low, high = low - room, high + room
    power = 10.0 ** np.floor(np.log10((high - low) / 3))
    step = next(power * multiple for multiple in (5, 2, 1) if (high - low) / (power * multiple) >= 3)
    digits = max(0, -int(np.floor(np.log10(step))))
    numbers = range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)
    ticks = {number * step: f"{number * step:,.{digits}f}".replace("-", "−") for number in numbers}
    return Axis(label, low, high, ticks, grid=True)


class MarkedChart(Chart):
    """A chart with points too."""

    def point(
        self, x: float, y: float, colour: str, marker: str = "o", *, name: str = "", low: float = 0, high: float = 0
    ) -> None:
        """Draw a marker at a position, and a bar from `low` to `high` along x."""
        [left, right, across], [up, *_] = self._pixels([low, high, x], [y, y, y])
        if high > low:
            ends = f"M{left:.1f} {up:.1f}H{right:.1f}M{left:.1f} {up - 5:.1f}v10M{right:.1f} {up - 5:.1f}v10"
            add_element(self._plot, "path", d=ends, stroke=colour, **{"stroke-width": 2})
        self.points.append((x, y, low, high))
        add_element(self._plot, "path", d=MARKERS[marker], transform=f"translate({across:.1f} {up:.1f})", fill=colour)
        if name:
            add_element(self._sample(name), "path", d=MARKERS[marker], transform="translate(13.0 0.0)", fill=colour)

    def scatter(self, x: ArrayLike, y: ArrayLike, colour: str, name: str) -> None:
        """Draw dots at x, y (m,)."""
        across, up = self._pixels(x, y)
        dots = "".join(f"M{left:.1f} {top:.1f}h0" for left, top in zip(across, up, strict=True))
        look = {"stroke": colour, "stroke-width": 4, "stroke-linecap": "round", "opacity": 0.6}
        self.lines[name] = (np.asarray(x), np.asarray(y))
        add_element(self._plot, "path", d=dots, **look)
        add_element(self._sample(name), "path", d="M13 0h0", **look)

    def text(self, x: float, y: float, words: str, colour: str = INK, *, up: float = 0) -> None:
        """Write words at a position, `up` pixels above it, on a white ground."""
        [across], [height] = self._pixels([x], [y])
        ground: dict[str, Any] = {"stroke": "#fff", "stroke-width": 3, "paint-order": "stroke"}
        add_words(self._plot, words, across, height - up, "middle", fill=colour, **ground)
