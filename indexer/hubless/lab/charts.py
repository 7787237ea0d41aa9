"""Charts as SVG, without a library for plots. Words stay words, for readers of the screen.

Positions are in the units of the data; sizes are in pixels of the page.
"""

import base64
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from hubless.errors import storage_errors
from hubless.vectors.arrays import F32, F64

ACCENT, RAW, INK, MIDDLE, PALE = "#0072B2", "#8A8A8A", "#222222", "#5C5C5C", "#DDDDDD"
SIZE = (500, 350)
"""Small, so that words stay readable on a phone."""
FONT = 14
WIDTH_OF_LETTER = 0.56
"""Of the size of the font, about."""
LINE = 19
"""Height of a line of text."""
DEEPEST_BLUE = (8, 48, 107)
MARKERS = {
    "o": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "s": "M-4-4h8v8h-8z",
    "^": "M0-5L5 4H-5z",
    "v": "M0 5L5-4H-5z",
    "D": "M0-5L5 0L0 5L-5 0z",
    "x": "M-4-4L4 4M-4 4L4-4",
}


def linear(values: F64) -> F64:
    """Return the values."""
    return values


def logarithm(values: F64) -> F64:
    """Return log₁₀ of the values."""
    return np.log10(values)


def bent(threshold: float, stretch: float) -> Callable[[F64], F64]:
    """Return a scale that is linear up to the threshold and logarithmic above, so that it can show 0.

    Parameters
    ----------
    stretch : length of the linear part from 0 to the threshold, in powers of ten
    """

    def scale(values: F64) -> F64:
        ratio = np.abs(values) / threshold
        return np.sign(values) * np.where(ratio <= 1, stretch * ratio, stretch + np.log10(np.maximum(ratio, 1)))

    return scale


@dataclass(frozen=True)
class Axis:
    """One axis of a chart.

    Parameters
    ----------
    low, high : its ends
    ticks : text by position
    """

    label: str
    low: float
    high: float
    ticks: Mapping[float, str] = field(default_factory=dict)
    scale: Callable[[F64], F64] = linear
    grid: bool = False

    def shares(self, values: ArrayLike) -> F64:
        """Return positions as shares of the axis: 0 at its low end, 1 at its high end."""
        low, high = self.scale(np.array([self.low, self.high], np.float64))
        shares: F64 = (self.scale(np.asarray(values, np.float64)) - low) / (high - low)
        return shares


def powers_of_ten(most: float) -> dict[float, str]:
    """Return ticks at 1, 10, 100 and so on, up to `most`."""
    return {10.0**power: f"{10**power:,}" for power in range(len(str(int(max(most, 1)))))}


def even_axis(label: str, values: ArrayLike, *, margin: float = 0.05, grid: bool = True) -> Axis:
    """Return a linear axis that shows all values, with three to eight round ticks.

    Parameters
    ----------
    margin : room on each side, as a share of the range
    """
    low, high = float(np.min(values)), float(np.max(values))
    # one value alone gets a range around it
    room = margin * (high - low) or max(abs(high), 1) * margin
    low, high = low - room, high + room
    power = 10.0 ** np.floor(np.log10((high - low) / 3))
    step = next(power * multiple for multiple in (5, 2, 1) if (high - low) / (power * multiple) >= 3)
    digits = max(0, -int(np.floor(np.log10(step))))
    numbers = range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)
    ticks = {number * step: f"{number * step:,.{digits}f}".replace("-", "−") for number in numbers}
    return Axis(label, low, high, ticks, grid=grid)


class Chart:
    """One plot with two axes, and its legend below. A notebook shows it; `save` writes it as SVG.

    Attributes
    ----------
    lines : positions (x, y) of each line with a name
    points : (x, y, low, high) of each point with a spread, in the order drawn
    """

    def __init__(self, x: Axis, y: Axis, size: tuple[int, int] = SIZE, title: str = "") -> None:
        self.x, self.y = x, y
        self.lines: dict[str, tuple[F64, F64]] = {}
        self.points: list[tuple[float, float, float, float]] = []
        self._size = size
        self._title = title
        self._drawn: list[str] = []
        self._legend: list[tuple[str, str]] = []
        longest = max((len(line) for tick in y.ticks.values() for line in tick.split("\n")), default=0)
        self._left = 12 + (LINE if y.label else 0) + longest * FONT * WIDTH_OF_LETTER
        self._top = 12 + (1.5 * LINE if title else 0)
        self._width = size[0] - self._left - 18
        self._height = size[1] - self._top - 12 - LINE * bool(x.ticks) - LINE * bool(x.label)

    def __repr__(self) -> str:
        return f"<Chart of {self.y.label or 'rows'} by {self.x.label}>"

    def line(
        self,
        x: ArrayLike,
        y: ArrayLike,
        colour: str,
        name: str = "",
        *,
        width: float = 2.4,
        dash: str = "",
        marker: str = "",
    ) -> None:
        """Draw a line through points."""
        across, up = self._pixels(x, y)
        if name:
            self.lines[name] = (np.asarray(x), np.asarray(y))
        style = f'fill="none" stroke="{colour}" stroke-width="{width}"' + (f' stroke-dasharray="{dash}"' * bool(dash))
        self._drawn.append(f'<path d="{_path(across, up)}" {style} stroke-linejoin="round"/>')
        for place in zip(across, up, strict=True) if marker else ():
            self._drawn.append(_marker(marker, colour, *place))
        self._name(name, f'<path d="M0 0h26" {style}/>' + (_marker(marker, colour, 13, 0) if marker else ""))

    def rule(
        self, colour: str, name: str = "", *, x: float | None = None, y: float | None = None, dash: str = ""
    ) -> None:
        """Draw a line across the whole plot, at one position of an axis."""
        across = [self.x.low, self.x.high] if x is None else [x, x]
        up = [self.y.low, self.y.high] if y is None else [y, y]
        self.line(across, up, colour, name, width=1.5, dash=dash)

    def point(
        self, x: float, y: float, colour: str, marker: str = "o", *, name: str = "", low: float = 0, high: float = 0
    ) -> None:
        """Draw a point, with a bar from `low` to `high` where they differ."""
        if high > low:
            ends, up = self._pixels([low, high], [y, y])
            self._drawn.append(
                f'<path d="M{ends[0]:.1f} {up[0]:.1f}H{ends[1]:.1f}" stroke="{colour}" stroke-width="2"/>'
                + "".join(
                    f'<path d="M{end:.1f} {up[0] - 5:.1f}v10" stroke="{colour}" stroke-width="2"/>' for end in ends
                )
            )
        [across], [up] = self._pixels([x], [y])
        self.points.append((x, y, low, high))
        self._drawn.append(_marker(marker, colour, across, up))
        self._name(name, _marker(marker, colour, 13, 0))

    def text(self, x: float, y: float, words: str, colour: str = INK, *, up: float = 0, anchor: str = "middle") -> None:
        """Write words at a position, `up` pixels above it, on a white ground."""
        [across], [height] = self._pixels([x], [y])
        style = f'fill="{colour}" stroke="#fff" stroke-width="3" paint-order="stroke"'
        self._drawn.append(_words(words, across, height - up, f'text-anchor="{anchor}" {style}'))

    def bars(self, edges: ArrayLike, counts: ArrayLike, colour: str) -> None:
        """Draw a histogram: a bar from each edge to the next."""
        across, up = self._pixels(edges, np.append(counts, 0))
        steps = zip(across[:-1], across[1:], up[:-1], strict=True)
        area = "".join(f"M{left:.1f} {up[-1]:.1f}V{top:.1f}H{right:.1f}V{up[-1]:.1f}z" for left, right, top in steps)
        self._drawn.append(f'<path d="{area}" fill="{colour}"/>')

    def dots(self, places: F32, radius: float, colour: str, opacity: float = 1.0) -> None:
        """Draw many round points (n, 2) of one size."""
        across, up = self._pixels(*places.T)
        # a line of length zero with round ends is a dot: ten bytes each
        dots = "".join(f"M{left:.1f} {top:.1f}h0" for left, top in zip(across, up, strict=True))
        style = f'stroke="{colour}" stroke-width="{2 * radius:.1f}" stroke-linecap="round" stroke-opacity="{opacity}"'
        self._drawn.append(f'<path d="{dots}" {style}/>')

    def cells(self, values: F32, low: float, high: float) -> None:
        """Fill the plot with cells (rows, columns), white at `low` and dark blue at `high`."""
        share = np.clip((values - low) / ((high - low) or 1.0), 0, 1)[:, :, np.newaxis]
        colours = 255 - share * (255 - np.array(DEEPEST_BLUE))
        place = f'x="{self._left:.1f}" y="{self._top:.1f}" width="{self._width:.1f}" height="{self._height:.1f}"'
        picture = base64.b64encode(_png(colours.round().astype(np.uint8))).decode()
        self._drawn.append(
            f'<image {place} preserveAspectRatio="none" style="image-rendering:pixelated" '
            f'href="data:image/png;base64,{picture}"/>'
        )

    def svg(self) -> str:
        """Return the chart as an element `svg`."""
        legend, below = self._placed_legend()
        width, height = self._size[0], self._size[1] + below
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:g}" width="{width}" '
            f'height="{height:g}" font-family="system-ui,sans-serif" font-size="{FONT}" fill="{INK}">'
            f"{self._frame()}{''.join(self._drawn)}{legend}</svg>"
        )

    def save(self, path: str | Path) -> None:
        """Write the chart as SVG on a white ground, with the folders above it.

        Raises
        ------
        StorageError
            if the disk refuses.
        """
        path = Path(path)
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{self._repr_svg_()}\n", "utf-8")

    def _repr_svg_(self) -> str:
        # pages may be dark
        return self.svg().replace(">", '><rect width="100%" height="100%" fill="#fff"/>', 1)

    def _pixels(self, x: ArrayLike, y: ArrayLike) -> tuple[F64, F64]:
        return (
            self._left + self._width * self.x.shares(x),
            self._top + self._height * (1 - self.y.shares(y)),
        )

    def _name(self, name: str, sample: str) -> None:
        if name:
            self._legend.append((name, sample))

    def _frame(self) -> str:
        left, top, right, bottom = self._left, self._top, self._left + self._width, self._top + self._height
        across, _ = self._pixels(list(self.x.ticks), np.full(len(self.x.ticks), self.y.low))
        _, up = self._pixels(np.full(len(self.y.ticks), self.x.low), list(self.y.ticks))
        parts = [
            *(f'<path d="M{place:.1f} {top:.1f}V{bottom:.1f}" stroke="{PALE}"/>' for place in across if self.x.grid),
            *(f'<path d="M{left:.1f} {place:.1f}H{right:.1f}" stroke="{PALE}"/>' for place in up if self.y.grid),
            f'<path d="M{left:.1f} {top:.1f}V{bottom:.1f}H{right:.1f}" fill="none" stroke="{RAW}"/>',
        ]
        for place, words in zip(across, self.x.ticks.values(), strict=True):
            parts.append(_words(words, place, bottom + LINE - 2, 'text-anchor="middle"'))
        for place, words in zip(up, self.y.ticks.values(), strict=True):
            parts.append(_words(words, left - 6, place + FONT / 3, 'text-anchor="end"'))
        below = bottom + LINE * (1 + bool(self.x.ticks))
        parts.append(_words(self.x.label, (left + right) / 2, below, 'text-anchor="middle"'))
        turned = f'text-anchor="middle" transform="rotate(-90 {FONT} {(top + bottom) / 2:.1f})"'
        parts.append(_words(self.y.label, FONT, (top + bottom) / 2, turned))
        parts.append(_words(self._title, 8, LINE, f'font-size="{FONT + 3}" font-weight="600"'))
        return "".join(parts)

    def _placed_legend(self) -> tuple[str, float]:
        """Return the legend, and the height that it adds."""
        parts, across, row = [], self._left, 0
        for name, sample in self._legend:
            wide = 50 + len(name) * FONT * WIDTH_OF_LETTER
            if across > self._left and across + wide > self._size[0]:
                across, row = self._left, row + 1
            up = self._size[1] + 4 + row * LINE
            parts.append(f'<g transform="translate({across:.1f} {up:.1f})">{sample}</g>')
            parts.append(_words(name, across + 33, up + FONT / 3, ""))
            across += wide
        return "".join(parts), (row + 1) * LINE if parts else 0


def _words(words: str, across: float, up: float, style: str) -> str:
    """Return a text, its lines centred on the height where one line would be."""
    lines = words.split("\n") if words else []
    first = up - LINE * (len(lines) - 1) / 2
    return "".join(
        f'<text x="{across:.1f}" y="{first + LINE * number:.1f}" {style}>{escape(line)}</text>'
        for number, line in enumerate(lines)
    )


def _path(across: Sequence[float] | F64, up: Sequence[float] | F64) -> str:
    """Return a line through points, without those that lie between two others at the same height."""
    places = np.round(np.column_stack([across, up]), 1)
    heights = places[:, 1]
    inner = np.zeros(len(places), bool)
    inner[1:-1] = (heights[1:-1] == heights[:-2]) & (heights[1:-1] == heights[2:])
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in places[~inner])


def _marker(marker: str, colour: str, across: float, up: float) -> str:
    look = f'fill="none" stroke="{colour}" stroke-width="2"' if marker == "x" else f'fill="{colour}"'
    return f'<path d="{MARKERS[marker]}" transform="translate({across:.1f} {up:.1f})" {look}/>'


def _png(pixels: np.ndarray) -> bytes:
    """Return 8-bit colours (rows, columns, 3) as PNG."""
    rows, columns, _ = pixels.shape
    # each row starts with the number of its filter: none
    raw = np.concatenate([np.zeros((rows, 1), np.uint8), pixels.reshape(rows, -1)], axis=1).tobytes()
    chunks = [
        (b"IHDR", struct.pack(">2I5B", columns, rows, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(raw, 9)),
        (b"IEND", b""),
    ]
    written = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(written)
