"""Checkpoints of a build: what was computed is kept, so that a killed build goes on from there.

Each is a file of arrays that appears as a whole. A step that finds its file reads it instead of working. So that both
ways give the same bytes, the work is divided the same way each time, and a fit always goes through its stored state.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hubless.builder.indexing.index_choice import IndexResult
from hubless.builder.indexing.shards import index_paths, paths_of
from hubless.corrections import FITTED, FittedCorrection, FittedNeighbours, FittedSoftmax
from hubless.errors import storage_errors
from hubless.kernels.threads import slices
from hubless.knn import INDEXES, Setting, read_index
from hubless.progress import Advance, no_progress
from hubless.search.engines.sharded import embedded, shards_of
from hubless.store import bundle
from hubless.store.bundle import read_arrays
from hubless.store.durable import link, replaced
from hubless.vectors.sources import VectorSource, rows_of

Arrays = Mapping[str, NDArray[Any]]

SHARD_ROWS = 65_536
"""Targets that are worked on between two checkpoints, at least."""
MOST_SHARDS = 256
"""Of more targets, more are between two, so that an executor has enough to do at once."""
_JSON = "json"


class Checkpoints(Protocol):
    """Where the steps of a build keep what they computed."""

    def arrays(self, name: str, work: Callable[[], Arrays]) -> Arrays:
        """What the work gives, or gave before."""

    def fits(
        self, correction: str, banks: Sequence[VectorSource], work: Callable[[], list[FittedCorrection]]
    ) -> list[FittedCorrection]:
        """The fits of a correction on some banks."""

    def pieces(self, name: str, targets: VectorSource, work: "OnRows", advance: Advance) -> Iterator[Arrays]:
        """What the work gives for each piece of the targets, in order."""

    def indexed(self, path: Path | None, work: Callable[[Path | None], IndexResult]) -> IndexResult:
        """The index that the work builds at a path."""


class OnRows(Protocol):
    """Work on some rows of the targets. What it gives for a row does not depend on which others are with it."""

    def __call__(self, rows: VectorSource, here: slice, advance: Advance, /) -> Arrays:
        """What it gives for the rows, whose numbers are `here`."""


class NoCheckpoints:
    """Keeps nothing: every step works."""

    def arrays(self, name: str, work: Callable[[], Arrays]) -> Arrays:
        return work()

    def fits(
        self, correction: str, banks: Sequence[VectorSource], work: Callable[[], list[FittedCorrection]]
    ) -> list[FittedCorrection]:
        return work()

    def pieces(self, name: str, targets: VectorSource, work: OnRows, advance: Advance) -> Iterator[Arrays]:
        yield work(targets, slice(0, targets.shape[0]), advance)

    def indexed(self, path: Path | None, work: Callable[[Path | None], IndexResult]) -> IndexResult:
        return work(path)


class StoredCheckpoints:
    """Keeps them in a folder.

    Raises
    ------
    StorageError
        from every method, if the disk refuses.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def arrays(self, name: str, work: Callable[[], Arrays]) -> Arrays:
        path = self.folder / f"{name}.npz"
        if not path.exists():
            arrays = work()
            with storage_errors(path), replaced(path) as new, new.open("wb") as file:
                np.savez(file, allow_pickle=False, **arrays)
        return read_arrays(path)

    def fits(
        self, correction: str, banks: Sequence[VectorSource], work: Callable[[], list[FittedCorrection]]
    ) -> list[FittedCorrection]:
        def states() -> Arrays:
            fits = work()
            stored = {_JSON: _as_array([fitted.details for fitted in fits])}
            for number, fitted in enumerate(fits):
                stored |= {f"{number}.{name}": each for name, each in fitted.state().items()}
            return stored

        arrays = self.arrays("fits", states)
        fits = []
        for number, (bank, details) in enumerate(zip(banks, _from_array(arrays[_JSON]), strict=True)):
            prefix = f"{number}."
            state = {name.removeprefix(prefix): each for name, each in arrays.items() if name.startswith(prefix)}
            fits.append(_on(bank, FITTED[correction].from_state(state, details)))
        return fits

    def pieces(self, name: str, targets: VectorSource, work: OnRows, advance: Advance) -> Iterator[Arrays]:
        count = targets.shape[0]
        for number, here in enumerate(slices(count, max(SHARD_ROWS, -(-count // MOST_SHARDS)))):
            rows = rows_of(targets, here.start, here.stop)
            yield self.arrays(f"{name}-{number}", partial(work, rows, here, no_progress))
            advance(rows.shape[0])

    def indexed(self, path: Path | None, work: Callable[[Path | None], IndexResult]) -> IndexResult:
        """Build the index here, and link it to the path: a killed build finds it again, or the shards that it has."""
        own = self.folder / bundle.INDEX

        def record() -> Arrays:
            built = work(own)
            targets = built.targets
            told = {
                "kind": targets.kind.name,
                "dim": targets.dim,
                "shards": len(shards_of(targets)),
                "curve": [asdict(each) for each in built.curve],
                "setting": asdict(built.setting),
                "notes": built.notes,
            }
            pivot = {} if targets.pivot is None else {"pivot": targets.pivot}
            return {_JSON: _as_array(told), **pivot}

        arrays = self.arrays("index", record)
        told = _from_array(arrays[_JSON])
        setting, shards = Setting(**told["setting"]), told["shards"]
        if path is not None:
            for file, linked in zip(paths_of(own, shards), paths_of(path, shards), strict=True):
                link(file, linked)
        indexes = [read_index(file) for file in index_paths(path or own, shards)]
        targets = embedded(INDEXES[told["kind"]], indexes, told["dim"], setting.parameters, arrays.get("pivot"))
        return IndexResult(targets, [Setting(**each) for each in told["curve"]], setting, told["notes"])


def _on(bank: VectorSource, fitted: FittedCorrection) -> FittedCorrection:
    """The same with the bank that it was fitted on, which other fits may share, in place of a copy."""
    return replace(fitted, bank=bank) if isinstance(fitted, FittedSoftmax | FittedNeighbours) else fitted


def _as_array(value: Any) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def _from_array(array: NDArray[Any]) -> Any:
    return json.loads(array.tobytes())
