"""Labelled pairs: which targets are right for a query, by their ids."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubless.errors import InputError, PointNotFound, one_line
from hubless.vectors.arrays import F32, I64
from hubless.vectors.fetched import fetched_file
from hubless.vectors.npy import read_npy
from hubless.vectors.sources import SelectedVectors, VectorSource

FEWEST_PAIRS, MOST_PAIRS = 20, 1000
HELD_OUT = 0.2
SMALL_BANK = 100
"""A bank below this serves for both: the fit would miss the queries more than the calibration would gain."""

RelevantIds = str | Path | Sequence[Any] | NDArray[Any]
"""For each query the id of its right target or a list of them, empty or None where nobody knows; or a file of these."""
RowOf = Callable[[Any], int]
"""Gives the row of an id, or raises `PointNotFound`."""


class LabelledPairs(NamedTuple):
    """Queries (p, d) as they are compared, and the rows of the right targets of each."""

    queries: F32
    relevant: list[I64]


def relevant_rows(given: RelevantIds, queries: int, row_of: RowOf) -> list[I64]:
    """Return the rows of the right targets of each query, of which at least 20 need to have some."""
    entries = read_labels(Path(given), "relevant") if isinstance(given, str | Path) else given
    if isinstance(entries, np.ndarray):
        entries = entries.tolist()
    if not isinstance(entries, Sequence) or len(entries) != queries:
        received = len(entries) if isinstance(entries, Sequence) else type(entries).__name__
        raise InputError("relevant", f"{queries} entries, one for each query", received)
    rows = [_rows(entry, number, row_of) for number, entry in enumerate(entries)]
    if (labelled := sum(map(bool, map(len, rows)))) < FEWEST_PAIRS:
        expected = f"right targets for at least {FEWEST_PAIRS} queries, better 100 and more"
        raise InputError("relevant", expected, f"for {labelled}")
    return rows


def _rows(entry: Any, number: int, row_of: RowOf) -> I64:
    wanted = [] if entry is None else entry if isinstance(entry, list | tuple | np.ndarray) else [entry]
    try:
        return np.unique(np.array([row_of(each) for each in wanted], np.int64))
    except PointNotFound as error:
        raise InputError(f"relevant, entry {number}", "ids of targets", one_line(error)) from error


def read_labels(path: Path, name: str, more: Mapping[str, Callable[[Path], Any]] = MappingProxyType({})) -> Any:
    """Return what is in a `.npy` or `.json`, or in a file of another ending that a reader is given for."""
    file = f"{name} ({path.name})"
    fetched_file(path, name)
    readers = {".npy": read_npy, ".json": lambda path: json.loads(path.read_text("utf-8")), **more}
    if path.suffix not in readers:
        *some, last = readers
        raise InputError(file, f"a file ending in {', '.join(some)} or {last}", path.suffix or "no ending")
    try:
        return readers[path.suffix](path)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(file, f"a readable {path.suffix} file", one_line(error)) from error


def hold_out_pairs(
    bank: VectorSource, relevant: Sequence[I64], fitted: bool, seed: int
) -> tuple[VectorSource, LabelledPairs]:
    """Split a bank whose queries have labels into queries to fit on, and labelled pairs to calibrate by.

    A fifth of the labelled queries is held out: a correction lowers the scores of the right targets of the queries that
    it was fitted on. All serve for both where nothing is fitted, or the bank is small.
    """
    labelled = np.flatnonzero([len(rows) for rows in relevant])
    both = not fitted or bank.shape[0] < SMALL_BANK
    count = len(labelled) if both else max(FEWEST_PAIRS, round(HELD_OUT * len(labelled)))
    chosen = np.sort(np.random.default_rng([seed, 2]).choice(labelled, min(count, MOST_PAIRS), replace=False))
    pairs = LabelledPairs(bank.take(chosen), [relevant[row] for row in chosen])
    if both:
        return bank, pairs
    return SelectedVectors(bank, np.setdiff1d(np.arange(bank.shape[0]), chosen), bank.name), pairs
