"""Checkpoints of a build: what was computed is kept, so that a killed build goes on from there.

Fits and passes over the targets are kept; an index is trained anew. Each checkpoint is a file of arrays that appears as
a whole. A step that finds its file reads it instead of working. So that both ways give the same bytes, the work is
divided the same way each time, and a fit always goes through its stored state.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hubless.corrections import FittedCorrection, FittedNeighbours, FittedSoftmax
from hubless.corrections.by_group import restored
from hubless.errors import storage_errors
from hubless.kernels.threads import slices
from hubless.progress import Advance, no_progress
from hubless.store.bundle import read_arrays
from hubless.store.durable import replaced
from hubless.vectors.npy import write_arrays
from hubless.vectors.sources import VectorSource, rows_of

Arrays = Mapping[str, NDArray[Any]]

KEPT_ROWS = 65_536
"""Targets that are worked on between two checkpoints, at least."""
MOST_SHARDS = 256
"""Of more targets, more are between two, so that an executor has enough to do at once."""
_JSON = "json"


class OnRows(Protocol):
    """Work on some rows of the targets. The result for a row does not depend on the others."""

    def __call__(self, rows: VectorSource, here: slice, advance: Advance, /) -> Arrays:
        """Return the result for the rows, whose numbers are `here`."""


class Checkpoints:
    """The results of the steps of a build, kept in a folder, so that a killed build goes on. None keeps none."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder

    def arrays(self, name: str, work: Callable[[], Arrays]) -> Arrays:
        if self.folder is None:
            return work()
        path = self.folder / f"{name}.npz"
        if not path.exists():
            arrays = work()
            with storage_errors(path), replaced(path) as new:
                write_arrays(new, arrays)
        return read_arrays(path)

    def fits(
        self, correction: str, banks: Sequence[VectorSource], work: Callable[[], list[FittedCorrection]]
    ) -> list[FittedCorrection]:
        """Return the fits on some banks as they were kept, or those that `work` makes now, which are kept then."""
        if self.folder is None:
            return work()

        def states() -> Arrays:
            fits = work()
            details = json.dumps([fitted.details for fitted in fits])
            stored = {_JSON: np.frombuffer(details.encode(), np.uint8)}
            for number, fitted in enumerate(fits):
                stored |= {f"{number}.{name}": each for name, each in fitted.state().items()}
            return stored

        arrays = self.arrays("fits", states)
        fits = []
        for number, (bank, details) in enumerate(zip(banks, json.loads(arrays[_JSON].tobytes()), strict=True)):
            prefix = f"{number}."
            state = {name.removeprefix(prefix): each for name, each in arrays.items() if name.startswith(prefix)}
            fitted = restored(correction, state, details)
            # the bank itself, which other fits may share, in place of a copy
            fits.append(replace(fitted, bank=bank) if isinstance(fitted, FittedSoftmax | FittedNeighbours) else fitted)
        return fits

    def pieces(self, name: str, targets: VectorSource, work: OnRows, advance: Advance) -> Iterator[Arrays]:
        count = targets.shape[0]
        if self.folder is None:
            yield work(targets, slice(0, count), advance)
            return
        for number, here in enumerate(slices(count, max(KEPT_ROWS, -(-count // MOST_SHARDS)))):
            rows = rows_of(targets, here.start, here.stop)
            yield self.arrays(f"{name}-{number}", partial(work, rows, here, no_progress))
            advance(rows.shape[0])
