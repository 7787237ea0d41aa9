"""Right targets of each query, and groups of targets: read and checked."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.errors import InputError
from hubless.lab.pickles import read_pickle
from hubless.measures.confidence.labels import read_labels
from hubless.vectors.arrays import I64

NAMED_ROWS = 10

Relevant = Sequence[int] | Sequence[Sequence[int]] | NDArray[Any]


def read_groups(path: Path) -> Sequence[Any]:
    """Return the group of each target: from a `.npy`, a `.json` list, or a `.txt` with one a line."""
    groups = read_labels(path, "groups", {".txt": lambda path: path.read_text("utf-8").splitlines()})
    if isinstance(groups, np.ndarray):
        groups = groups.tolist()
    if not isinstance(groups, list):
        raise InputError(f"groups ({path.name})", "a list, one group a target", type(groups).__name__)
    return groups


def read_relevant(relevant: str | Path | Relevant | None) -> Relevant | None:
    """Return row numbers as they are, or read from a `.npy`, a `.json` or a pickled array."""
    if not isinstance(relevant, str | Path):
        return relevant
    read: Relevant = read_labels(Path(relevant), "relevant", {".pkl": read_pickle})
    return read


def as_relevant(relevant: str | Path | Relevant | None, queries: int, targets: int) -> list[I64]:
    """Return one array of target rows a query, each row once; an empty one for a query with no relevant target.

    A mask (n, c) of booleans, as in QB-Norm's code, says which captions are there: query i·c + j belongs to target i.
    """
    relevant = read_relevant(relevant)
    if (
        isinstance(relevant, np.ndarray)
        and relevant.dtype == np.bool_
        and relevant.shape == (targets, queries // targets)
    ):
        relevant = [[row // relevant.shape[1]] if there else [] for row, there in enumerate(relevant.ravel().tolist())]
    if relevant is None:
        raise InputError("relevant", "row numbers of right targets", "none")
    if isinstance(relevant, np.ndarray) and (relevant.dtype.kind not in "iu" or relevant.ndim == 0):
        raise InputError("relevant", "row numbers of targets", f"an array of {relevant.dtype}, shape {relevant.shape}")
    if not isinstance(relevant, Sequence | np.ndarray):
        raise InputError("relevant", "a list of row numbers, or of lists of them", type(relevant).__name__)
    if len(relevant) != queries:
        raise InputError("relevant", f"{queries} entries, one a query", f"{len(relevant)}")
    rows = []
    for query, entry in enumerate(relevant):
        row = _row_numbers(entry, query)
        if (wrong := row[(row < 0) | (row >= targets)]).size:
            raise InputError(f"relevant, entry {query}", f"rows of targets, 0 to {targets - 1}", int(wrong[0]))
        rows.append(np.unique(row).astype(np.int64))
    if not any(map(len, rows)):
        raise InputError("relevant", "a relevant target for at least one query", "none")
    return rows


def left_out_note(rows: Sequence[int], queries: int) -> list[str]:
    """Return a note on the queries without a relevant target, if there are any."""
    if not len(rows):
        return []
    named = ", ".join(map(str, rows[:NAMED_ROWS])) + (", …" if len(rows) > NAMED_ROWS else "")
    return [f"{len(rows)} of {queries} queries have no relevant target and are left out: rows {named}"]


def _row_numbers(entry: Any, query: int) -> NDArray[Any]:
    try:
        row = np.atleast_1d(np.asarray(entry))
    except ValueError:  # a list within a list of numbers
        row = np.empty(0, object)
    if row.ndim != 1 or row.dtype.kind not in ("iu" if row.size else "iuf"):
        raise InputError(f"relevant, entry {query}", "a row number, or a list of them", repr(entry))
    return row
