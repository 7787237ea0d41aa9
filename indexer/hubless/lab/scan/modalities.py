"""Parts of a gallery that are looked at apart: a hub among images is hidden where texts fill the first places."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hubless.errors import InputError
from hubless.lab.gallery import Gallery, Named
from hubless.measures import as_groups
from hubless.vectors.arrays import I64
from hubless.vectors.sources import SelectedVectors

FEWEST_TARGETS = 20
"""Of fewer, every one is among the first 20 of each query."""


@dataclass(frozen=True)
class Part:
    """Some targets of a gallery as a gallery of their own, which still names them by their rows in the whole."""

    name: str | None
    rows: I64
    gallery: Gallery


def whole(gallery: Gallery) -> Part:
    """All of it."""
    return Part(None, np.arange(gallery.targets.shape[0]), gallery)


def apart(gallery: Gallery, column: str) -> tuple[list[Part], list[str]]:
    """A part for each value of a payload column, and a note on each that is too small to tell anything.

    Raises
    ------
    InputError
        if there is no such column, if it is not categorical, and if no part is large enough.
    """
    named = gallery.describe(range(gallery.targets.shape[0]))
    columns = list(named[0].payload or {}) if named else []
    if column not in columns:
        raise InputError("modality", f"one of the payload columns {columns}" if columns else "a payload", column)
    groups = as_groups([None if one.payload is None else one.payload[column] for one in named], column)
    parts, notes = [], []
    for code, name in enumerate(groups.names):
        rows = np.flatnonzero(groups.codes == code)
        if len(rows) < FEWEST_TARGETS:
            notes.append(f"{column} {name}: {len(rows)} targets are too few to look at")
        else:
            parts.append(Part(name, rows, _selected(gallery, rows)))
    if not parts:
        raise InputError("modality", f"a value with at least {FEWEST_TARGETS} targets", column)
    return parts, notes


def _selected(gallery: Gallery, rows: I64) -> Gallery:
    def describe(wanted: Sequence[int]) -> list[Named]:
        return gallery.describe(rows[np.asarray(wanted, np.int64)].tolist())

    targets = SelectedVectors(gallery.targets, rows, gallery.targets.name)
    return replace(gallery, targets=targets, describe=describe)
