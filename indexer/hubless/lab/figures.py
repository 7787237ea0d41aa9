"""The figure that a notebook shows. Matplotlib is an extra: only `drawing.figure` imports this module."""

import io
from typing import Any

from matplotlib.figure import Figure

_SHARP = 2
"""Pixels of the picture for each pixel on the page."""


class NotebookFigure(Figure):
    """A figure of matplotlib that a notebook shows once, whether pyplot is in use or not."""

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
        """The picture, and its size on the page."""
        written = io.BytesIO()
        self.savefig(written, format="png", dpi=_SHARP * self.dpi)
        width, height = self.get_size_inches() * self.dpi
        return written.getvalue(), {"width": round(width), "height": round(height)}
