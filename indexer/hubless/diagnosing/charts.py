"""Charts as SVG, without a library for plots. Positions are in units of the data, sizes in pixels."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np
from numpy.typing import ArrayLike

from hubless.errors import storage_errors
from hubless.vectors.arrays import F64, I64

ACCENT, RAW, INK, MIDDLE, PALE = "#0072B2", "#8A8A8A", "#222222", "#5C5C5C", "#DDDDDD"
CHART_SIZE = (500, 350)
"""Small, so that words stay readable on a phone."""
FONT = 14
WIDTH_OF_LETTER = 0.56
LINE = 19
MARGIN = 0.05
"""Room beside the outermost values, as a share of their range."""
_TOP = 12
MARKERS = {
    "o": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "s": "M-4-4h8v8h-8z",
    "^": "M0-5L5 4H-5z",
    "D": "M0-5L5 0L0 5L-5 0z",
}

logarithm: Callable[[F64], F64] = np.log10


def bent(threshold: float, stretch: float) -> Callable[[F64], F64]:
    """Return a scale that is linear up to the threshold, over `stretch` powers of ten, and logarithmic above."""

    def scale(values: F64) -> F64:
        ratio = np.abs(values) / threshold
        return np.sign(values) * np.where(ratio <= 1, stretch * ratio, stretch + np.log10(np.maximum(ratio, 1)))

    return scale


@dataclass(frozen=True)
class Axis:
    """One axis of a chart: its ends, and its ticks as text by position."""

    label: str
    low: float
    high: float
    ticks: Mapping[float, str] = field(default_factory=dict)
    scale: Callable[[F64], F64] = np.positive
    grid: bool = False

    def shares(self, values: ArrayLike) -> F64:
        low, high = self.scale(np.array([self.low, self.high], np.float64))
        shares: F64 = (self.scale(np.asarray(values, np.float64)) - low) / (high - low)
        return shares


def powers_of_ten(most: float) -> dict[float, str]:
    """Return ticks at 1, 10, 100 and so on, up to `most`."""
    return {10.0**power: f"{10**power:,}" for power in range(len(str(int(max(most, 1)))))}


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


class Chart:
    """One plot with two axes, and its legend below. A notebook shows it; `save` writes it as SVG.

    `lines` are positions (x, y) by name, `points` are (x, y, low, high) in the order drawn.
    """

    def __init__(self, x: Axis, y: Axis, size: tuple[int, int] = CHART_SIZE) -> None:
        self.x, self.y = x, y
        self.lines: dict[str, tuple[F64, F64]] = {}
        self.points: list[tuple[float, float, float, float]] = []
        self._size = size
        self._plot = Element("g")
        self._legend: list[tuple[str, Element]] = []
        longest = max((len(line) for tick in y.ticks.values() for line in tick.split("\n")), default=0)
        self._left = 12 + (LINE if y.label else 0) + longest * FONT * WIDTH_OF_LETTER
        self._width = size[0] - self._left - 18
        self._height = size[1] - 2 * _TOP - LINE * bool(x.ticks) - LINE * bool(x.label)
        self._draw_frame()

    def __repr__(self) -> str:
        return f"<Chart of {self.y.label or 'rows'} by {self.x.label}>"

    def line(
        self, x: ArrayLike, y: ArrayLike, colour: str, name: str = "", *, width: float = 2.4, dash: str = ""
    ) -> None:
        """Draw a line through points x, y (m,). With a name it stands in the legend."""
        look = {"fill": "none", "stroke": colour, "stroke-width": width, "stroke-linejoin": "round"}
        look |= {"stroke-dasharray": dash} if dash else {}
        _add(self._plot, "path", d=_path(*self._pixels(x, y)), **look)
        if name:
            self.lines[name] = (np.asarray(x), np.asarray(y))
            _add(self._sample(name), "path", d="M0 0h26", **look)

    def rule(
        self, colour: str, name: str = "", *, x: float | None = None, y: float | None = None, dash: str = ""
    ) -> None:
        """Draw a line across the plot, upright at x or level at y."""
        across = [self.x.low, self.x.high] if x is None else [x, x]
        up = [self.y.low, self.y.high] if y is None else [y, y]
        self.line(across, up, colour, name, width=1.5, dash=dash)

    def point(
        self, x: float, y: float, colour: str, marker: str = "o", *, name: str = "", low: float = 0, high: float = 0
    ) -> None:
        """Draw a marker at a position, and a bar from `low` to `high` along x."""
        [left, right, across], [up, *_] = self._pixels([low, high, x], [y, y, y])
        if high > low:
            ends = f"M{left:.1f} {up:.1f}H{right:.1f}M{left:.1f} {up - 5:.1f}v10M{right:.1f} {up - 5:.1f}v10"
            _add(self._plot, "path", d=ends, stroke=colour, **{"stroke-width": 2})
        self.points.append((x, y, low, high))
        _add(self._plot, "path", d=MARKERS[marker], transform=f"translate({across:.1f} {up:.1f})", fill=colour)
        if name:
            _add(self._sample(name), "path", d=MARKERS[marker], transform="translate(13.0 0.0)", fill=colour)

    def scatter(self, x: ArrayLike, y: ArrayLike, colour: str, name: str) -> None:
        """Draw dots at x, y (m,)."""
        across, up = self._pixels(x, y)
        dots = "".join(f"M{left:.1f} {top:.1f}h0" for left, top in zip(across, up, strict=True))
        look = {"stroke": colour, "stroke-width": 4, "stroke-linecap": "round", "opacity": 0.6}
        self.lines[name] = (np.asarray(x), np.asarray(y))
        _add(self._plot, "path", d=dots, **look)
        _add(self._sample(name), "path", d="M13 0h0", **look)

    def text(self, x: float, y: float, words: str, colour: str = INK, *, up: float = 0) -> None:
        """Write words at a position, `up` pixels above it, on a white ground."""
        [across], [height] = self._pixels([x], [y])
        ground: dict[str, Any] = {"stroke": "#fff", "stroke-width": 3, "paint-order": "stroke"}
        _write(self._plot, words, across, height - up, "middle", fill=colour, **ground)

    def svg(self, ground: str = "") -> str:
        """Return the chart as SVG, the legend in rows below; on a ground of a colour, or on none."""
        places = []
        across = self._left
        row = 0
        for name, _ in self._legend:
            wide = 50 + len(name) * FONT * WIDTH_OF_LETTER
            if across > self._left and across + wide > self._size[0]:
                across, row = self._left, row + 1
            places.append((across, self._size[1] + 4 + row * LINE))
            across += wide
        width = self._size[0]
        height = self._size[1] + LINE * (row + 1 if places else 0)
        root = Element("svg", xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {width} {height:g}", fill=INK)
        root.attrib |= {"width": str(width), "height": f"{height:g}"}
        root.attrib |= {"font-family": "system-ui,sans-serif", "font-size": str(FONT)}
        if ground:
            _add(root, "rect", width="100%", height="100%", fill=ground)
        root.append(self._plot)
        for (name, sample), (left, up) in zip(self._legend, places, strict=True):
            sample.set("transform", f"translate({left:.1f} {up:.1f})")
            root.append(sample)
            _write(root, name, left + 33, up + FONT / 3)
        return tostring(root, "unicode")

    def save(self, path: str | Path) -> None:
        """Write the chart as SVG on a white ground, with the folders above it. Raises `StorageError`."""
        path = Path(path)
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{self._repr_svg_()}\n", "utf-8")

    def _repr_svg_(self) -> str:
        # pages may be dark
        return self.svg("#fff")

    def _pixels(self, x: ArrayLike, y: ArrayLike) -> tuple[F64, F64]:
        return self._left + self._width * self.x.shares(x), _TOP + self._height * (1 - self.y.shares(y))

    def _sample(self, name: str) -> Element:
        sample = Element("g")
        self._legend.append((name, sample))
        return sample

    def _draw_frame(self) -> None:
        left, top, right, bottom = self._left, _TOP, self._left + self._width, _TOP + self._height
        across, _ = self._pixels(list(self.x.ticks), np.full(len(self.x.ticks), self.y.low))
        _, up = self._pixels(np.full(len(self.y.ticks), self.x.low), list(self.y.ticks))
        lines = [f"M{place:.1f} {top:.1f}V{bottom:.1f}" for place in across if self.x.grid]
        lines += [f"M{left:.1f} {place:.1f}H{right:.1f}" for place in up if self.y.grid]
        _add(self._plot, "path", d="".join(lines), stroke=PALE)
        _add(self._plot, "path", d=f"M{left:.1f} {top:.1f}V{bottom:.1f}H{right:.1f}", fill="none", stroke=RAW)
        for place, words in zip(across, self.x.ticks.values(), strict=True):
            _write(self._plot, words, place, bottom + LINE - 2, "middle")
        for place, words in zip(up, self.y.ticks.values(), strict=True):
            _write(self._plot, words, left - 6, place + FONT / 3, "end")
        below = bottom + LINE * (1 + bool(self.x.ticks))
        _write(self._plot, self.x.label, (left + right) / 2, below, "middle")
        middle = (top + bottom) / 2
        _write(self._plot, self.y.label, FONT, middle, "middle", transform=f"rotate(-90 {FONT} {middle:.1f})")


def occurrence_chart(curves: Mapping[str, I64]) -> Chart:
    """Draw N_10 (n,) of rankings by name, "raw" among them: how often targets are found, the most found first."""
    raw = curves["raw"]
    most = max(int(counts.max()) for counts in curves.values())
    x = Axis("items, the most shown first", 0.9, 1.1 * len(raw), powers_of_ten(len(raw)), logarithm, grid=True)
    # 0 has no logarithm
    ticks = {0: "0"} | powers_of_ten(most)
    chart = Chart(x, Axis("times among the first 10", -0.1, 1.3 * max(most, 1), ticks, bent(1, 0.5), grid=True))
    for name, counts in curves.items():
        places = np.arange(1, len(counts) + 1)
        chart.line(places, np.sort(counts)[::-1], RAW if name == "raw" else ACCENT, name)
    chart.rule(INK, "if all were shown alike", y=float(np.mean(raw)), dash="2 3")
    return chart


def _add(parent: Element, tag: str, **attributes: Any) -> Element:
    return SubElement(parent, tag, {name: str(value) for name, value in attributes.items()})


def _write(parent: Element, words: str, across: float, up: float, anchor: str = "start", **look: Any) -> None:
    lines = words.split("\n") if words else []
    for number, line in enumerate(lines):
        height = up + LINE * (number - (len(lines) - 1) / 2)
        place = {"x": f"{across:.1f}", "y": f"{height:.1f}", "text-anchor": anchor}
        _add(parent, "text", **place, **look).text = line


def _path(across: Iterable[float], up: Iterable[float]) -> str:
    places = np.round(np.column_stack([list(across), list(up)]), 1)
    heights = places[:, 1]
    inner = np.zeros(len(places), bool)
    inner[1:-1] = (heights[1:-1] == heights[:-2]) & (heights[1:-1] == heights[2:])
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in places[~inner])
