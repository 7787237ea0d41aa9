"""How good a collection's ranking is, raw and corrected, on queries whose relevant targets are known."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless import measures
from hubless.arrays import F32, F64, I64, check_between, check_dim
from hubless.errors import InputError, StorageError
from hubless.progress import progress_bars
from hubless.records import one_line
from hubless.search import MOST_STRENGTH, Collection
from hubless.sources import UnitVectors, VectorSource, as_source
from hubless.vectors import open_items

K_OCCURRENCE = 10
_SCORES_HELD = 2**24
"""So many scores of queries against all targets are held at once."""

Relevant = Sequence[int] | Sequence[Sequence[int]] | NDArray[Any]


@dataclass(frozen=True)
class Quality:
    """Measures of one ranking; recalls from 0 to 1, ranks from 1."""

    recall_at_1: float
    recall_at_5: float
    recall_at_10: float
    median_rank: float
    mean_rank: float
    skewness: float


@dataclass(frozen=True)
class Evaluation:
    """Raw and corrected quality over the queries that have a relevant target; `left_out` counts the others."""

    collection: str
    version: str
    targets: int
    queries: int
    left_out: int
    raw: Quality
    corrected: Quality

    def as_json(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        return asdict(self)


def read_relevant(path: str | Path) -> Relevant:
    """Row numbers of the relevant targets, a number or a list a query: from a `.npy` or a `.json`.

    Raises
    ------
    StorageError
        if there is no such file.
    InputError
        if it holds anything else.
    """
    path = Path(path)
    name = f"relevant ({path.name})"
    if not path.is_file():
        raise StorageError(path, "relevant: there is no such file")
    try:
        match path.suffix:
            case ".npy":
                return np.asarray(np.load(path, allow_pickle=False))
            case ".json":
                read: Relevant = json.loads(path.read_text("utf-8"))
                return read
    except (OSError, ValueError, EOFError) as error:
        raise InputError(name, f"a readable {path.suffix} file", one_line(error)) from error
    raise InputError(name, "a file ending in .npy or .json", path.suffix or "no ending")


def as_relevant(relevant: Relevant, queries: int, targets: int) -> list[I64]:
    """One array of target rows a query.

    Raises
    ------
    InputError
        if there is not one entry a query, or a row is no target.
    """
    if isinstance(relevant, np.ndarray) and (relevant.dtype.kind not in "iu" or relevant.ndim == 0):
        raise InputError("relevant", "row numbers of targets", f"an array of {relevant.dtype}, shape {relevant.shape}")
    if not isinstance(relevant, Sequence | np.ndarray):
        raise InputError("relevant", "a list of row numbers, or of lists of them", type(relevant).__name__)
    if len(relevant) != queries:
        raise InputError("relevant", f"{queries} entries, one a query", f"{len(relevant)}")
    rows = []
    for query, entry in enumerate(relevant):
        try:
            row = np.atleast_1d(np.asarray(entry))
        except ValueError:  # a list within a list of numbers
            row = np.empty(0, object)
        if row.ndim != 1 or row.dtype.kind not in ("iu" if row.size else "iuf"):
            raise InputError(f"relevant, entry {query}", "a row number, or a list of them", repr(entry))
        if (wrong := row[(row < 0) | (row >= targets)]).size:
            raise InputError(f"relevant, entry {query}", f"rows of targets, 0 to {targets - 1}", int(wrong[0]))
        rows.append(row.astype(np.int64))
    return rows


def evaluate(
    collection: Collection,
    queries: str | Path | NDArray[Any] | VectorSource,
    relevant: str | Path | Relevant,
    *,
    strength: float = 1.0,
    progress: bool | None = None,
) -> Evaluation:
    """Rank all targets for each query, exactly, raw and corrected, and measure both.

    Parameters
    ----------
    queries : (m, d): a file, an array, or a source
    relevant : for each query the row number of its relevant target, or a list of several, or an empty one
    strength : λ of the corrected ranking

    Raises
    ------
    InputError
        if queries and relevant targets do not fit the collection or each other, or no query has a relevant target.
    """
    check_between("strength", strength, 0, MOST_STRENGTH)
    source = (
        open_items(queries, "queries").vectors if isinstance(queries, str | Path) else as_source(queries, "queries")
    )
    check_dim(source.shape[1], collection.dim, source.name)
    if collection.metric == "cosine":
        source = UnitVectors(source)
    given = read_relevant(relevant) if isinstance(relevant, str | Path) else relevant
    right = as_relevant(given, source.shape[0], collection.count)
    asked = [rows for rows in right if len(rows)]
    if not asked:
        raise InputError("relevant", "a relevant target for at least one query", "none")
    raw, corrected = _Tally(collection.count), _Tally(collection.count)
    start = 0
    with progress_bars(progress) as steps:
        advance = steps.step("evaluating", source.shape[0])
        for block in source.blocks(max(1, _SCORES_HELD // collection.count)):
            entries = right[start : start + len(block)]
            answerable = [query for query, rows in enumerate(entries) if len(rows)]
            both = collection.scores(block[answerable], (0.0, strength))
            for tally, scores in zip((raw, corrected), both, strict=True):
                tally.add(scores, [entries[query] for query in answerable])
            start += len(block)
            advance(len(block))
    return Evaluation(
        collection=collection.name,
        version=collection.version,
        targets=collection.count,
        queries=len(asked),
        left_out=len(right) - len(asked),
        raw=raw.quality(),
        corrected=corrected.quality(),
    )


class _Tally:
    """Ranks and k-occurrence, gathered block by block."""

    def __init__(self, targets: int) -> None:
        self._ranks: list[F64] = []
        self._occurrence = np.zeros(targets, np.int64)

    def add(self, scores: F32, relevant: list[I64]) -> None:
        """Add the scores (m, n) of some queries."""
        if not len(scores):
            return
        self._ranks.append(measures.ranks(scores, relevant))
        found = _best_rows(scores, min(K_OCCURRENCE, scores.shape[1]))
        self._occurrence += measures.k_occurrence(found, scores.shape[1])

    def quality(self) -> Quality:
        """The measures over all that was added."""
        ranks = np.concatenate(self._ranks)
        return Quality(
            recall_at_1=measures.recall_at(ranks, 1),
            recall_at_5=measures.recall_at(ranks, 5),
            recall_at_10=measures.recall_at(ranks, 10),
            median_rank=measures.median_rank(ranks),
            mean_rank=measures.mean_rank(ranks),
            skewness=measures.skewness(self._occurrence),
        )


def _best_rows(scores: F32, k: int) -> I64:
    """Rows of the k highest of each line (m, k), in any order; of those tied at the end the lower rows, as `top_k`."""
    found = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    last = np.take_along_axis(scores, found, axis=1).min(axis=1, keepdims=True)
    tied = np.count_nonzero(scores >= last, axis=1) > k
    found[tied] = np.argsort(-scores[tied], axis=1, kind="stable")[:, :k]
    return found
