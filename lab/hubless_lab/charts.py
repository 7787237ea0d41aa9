"""Charts as SVG, without a library for plots. Positions are in units of the data, sizes in pixels."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np
from numpy.typing import ArrayLike

from hubless.errors import storage_errors
from hubless.vectors.arrays import F64

ACCENT, RAW, INK, MIDDLE, PALE = "#0072B2", "#8A8A8A", "#222222", "#5C5C5C", "#DDDDDD"
CHART_SIZE = (500, 350)
"""Small, so that words stay readable on a phone."""
FONT = 14
WIDTH_OF_LETTER = 0.56
LINE = 19
_TOP = 12

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


class Chart:
    """One plot with two axes, and its legend below. A notebook shows it; `save` writes it as SVG.

    `lines` are positions (x, y) by name, `points` (x, y, low, high) in the order drawn.
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
        add_element(self._plot, "path", d=_path(*self._pixels(x, y)), **look)
        if name:
            self.lines[name] = (np.asarray(x), np.asarray(y))
            add_element(self._sample(name), "path", d="M0 0h26", **look)

    def rule(self, colour: str, name: str, y: float) -> None:
        """Draw a dotted line across the plot, level at y."""
        self.line([self.x.low, self.x.high], [y, y], colour, name, width=1.5, dash="2 3")

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
            add_element(root, "rect", width="100%", height="100%", fill=ground)
        root.append(self._plot)
        for (name, sample), (left, up) in zip(self._legend, places, strict=True):
            sample.set("transform", f"translate({left:.1f} {up:.1f})")
            root.append(sample)
            add_words(root, name, left + 33, up + FONT / 3)
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
        add_element(self._plot, "path", d="".join(lines), stroke=PALE)
        add_element(self._plot, "path", d=f"M{left:.1f} {top:.1f}V{bottom:.1f}H{right:.1f}", fill="none", stroke=RAW)
        for place, words in zip(across, self.x.ticks.values(), strict=True):
            add_words(self._plot, words, place, bottom + LINE - 2, "middle")
        for place, words in zip(up, self.y.ticks.values(), strict=True):
            add_words(self._plot, words, left - 6, place + FONT / 3, "end")
        below = bottom + LINE * (1 + bool(self.x.ticks))
        add_words(self._plot, self.x.label, (left + right) / 2, below, "middle")
        middle = (top + bottom) / 2
        add_words(self._plot, self.y.label, FONT, middle, "middle", transform=f"rotate(-90 {FONT} {middle:.1f})")


def add_element(parent: Element, tag: str, **attributes: Any) -> Element:
    """Add an element of SVG to another one."""
    return SubElement(parent, tag, {name: str(value) for name, value in attributes.items()})


def add_words(parent: Element, words: str, across: float, up: float, anchor: str = "start", **look: Any) -> None:
    """Add words, in lines around a height, at a position in pixels."""
    lines = words.split("\n") if words else []
    for number, line in enumerate(lines):
        height = up + LINE * (number - (len(lines) - 1) / 2)
        place = {"x": f"{across:.1f}", "y": f"{height:.1f}", "text-anchor": anchor}
        add_element(parent, "text", **place, **look).text = line


def _path(across: Iterable[float], up: Iterable[float]) -> str:
    places = np.round(np.column_stack([list(across), list(up)]), 1)
    heights = places[:, 1]
    inner = np.zeros(len(places), bool)
    inner[1:-1] = (heights[1:-1] == heights[:-2]) & (heights[1:-1] == heights[2:])
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in places[~inner])
