"""The results of a search: hits with their scores and, on demand, explanations."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.errors import InputError, UnknownField, names_of
from hubless.kernels.forks import cached_property
from hubless.measures.confidence.assessment import Assessment
from hubless.vectors.arrays import F32, I64, Flags
from hubless.vectors.free_payload import is_free
from hubless.vectors.payload import PayloadRows

RAW_DEPTH = 1000
"""A rank without the correction is searched for down to this one."""
SHOWN_QUERIES, SHOWN_HITS = 5, 20
"""The most that a notebook shows."""
_NUMBERS = "id", "score", "similarity", "offset", "share"
WithPayload = bool | Sequence[str]
"""True for all columns, False for none of it, or the names of some."""
Rows = Sequence[int] | NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Explanation:
    """Why a hit stands where it does, from rank 1.

    `raw_rank` is its rank by similarity alone, None below the first `RAW_DEPTH`. `occurrence` and `raw_occurrence` are
    N_10 of the target when the version was built, at strength 1 and 0; None if that is not stored. `strength` was
    applied.
    """

    rank: int
    raw_rank: int | None
    occurrence: int | None
    raw_occurrence: int | None
    strength: float


@dataclass(frozen=True)
class Hit:
    """A target that was found: score = similarity − strength·offset. `payload` is None unless you ask for it.

    `share` is its part of the confidence, 0 to 1, the confidence itself for the first hit; None without a model.
    """

    id: str | int
    row: int
    score: float
    similarity: float
    offset: float
    explanation: Explanation | None = None
    payload: dict[str, Any] | None = None
    share: float | None = None


@dataclass(eq=False)
class Results:
    """The hits of m queries, best first, k = min(limit, n) for each. `results[i]` is a list of hits.

    `rows` (m, k) are numbers of targets, −1 at the end of a line that has fewer groups than others. `scores` (m, k) are
    `similarities` q·t less strength · `offsets` h. `corrected` (m,) says if a gate was switched on for each query; None
    without a gate. `rescoring` is how many seconds a rescorer took.
    `explanations` and `payload` are m lists of k, if they were asked for. `assessed` says how sure answers are; None
    without a model. A query that a threshold cut has fewer hits and ids, or none; all else has its line as it was.
    """

    rows: I64
    scores: F32
    similarities: F32
    offsets: F32
    corrected: Flags | None
    rescoring: float
    ids: list[list[str | int]]
    strength: float
    explanations: list[list[Explanation]] | None = None
    payload: list[list[dict[str, Any] | None]] | None = None
    assessed: Assessment | None = None
    kept: Flags | None = None

    @property
    def confidence(self) -> F32 | None:
        """The probability that the first hit is right, (m,); None if the version has no model of confidence."""
        return self.assessed and self.assessed.confidence

    @property
    def presence(self) -> F32 | None:
        """The probability that a right target was among those searched, (m,); None without a model."""
        return self.assessed and self.assessed.presence

    @property
    def shares(self) -> F32 | None:
        """The part of the confidence of each hit, (m, k), that of the first hit is all of it; None without a model."""
        return self.assessed and self.assessed.shares

    @cached_property
    def certainty(self) -> list[list[float]] | None:
        """Of each query a list of confidence, presence and the share of each hit; None without a model."""
        return self.assessed and self.assessed.numbers.tolist()

    @property
    def calibrated(self) -> bool:
        """True if confidence and presence are probabilities, as labelled pairs made them. False: they order answers."""
        return self.assessed is not None and self.assessed.calibrated

    @property
    def answered(self) -> Flags:
        """A mask (m,) of the queries that kept their hits."""
        return np.ones(len(self), np.bool_) if self.kept is None else self.kept

    def cut(self, min_confidence: float, min_presence: float, least_share: float) -> "Results":
        """The same without the hits of queries that are below a threshold, and without hits of a smaller share.

        The first hit has share enough. Results without a model stay as they are.
        """
        if self.assessed is None:
            return self
        sure = self.assessed.confidence
        kept = (sure >= min_confidence) & (self.assessed.presence >= min_presence)
        counts = kept * np.count_nonzero(np.minimum(sure, np.float32(least_share)) <= self.assessed.shares.T, axis=0)
        ids = [line[:count] for line, count in zip(self.ids, counts.tolist(), strict=True)]
        return replace(self, ids=ids, kept=kept)

    @cached_property
    def numbers(self) -> tuple[list[list[float]], list[list[float]], list[list[float]]]:
        """Scores, similarities and offsets as lists: for several queries converted at once."""
        return self.scores.tolist(), self.similarities.tolist(), self.offsets.tolist()

    def to_arrow(self) -> pa.Table:
        """Return a table of all hits: query, rank from 1, id and numbers, and payload as columns `payload.NAME`."""
        rows = [
            {"query": query, "rank": rank}
            | {name: getattr(hit, name) for name in _NUMBERS}
            | {f"payload.{name}": value for name, value in (hit.payload or {}).items()}
            for query, hits in enumerate(self)
            for rank, hit in enumerate(hits, 1)
        ]
        names = dict.fromkeys(chain(("query", "rank", *_NUMBERS), *rows))
        return pa.table({name: [row.get(name) for row in rows] for name in names})

    def to_pandas(self) -> Any:
        """Return `to_arrow` as a data frame of pandas."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return `to_arrow` as a data frame of polars."""
        import polars

        return polars.from_arrow(self.to_arrow())

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<Results of {len(self)} queries, {self.rows.shape[1]} hits each>"

    def _repr_html_(self) -> str:
        from hubless.search.pages import render  # only notebooks need it

        return render("results.html", results=self, shown=[*islice(self, SHOWN_QUERIES)], most=SHOWN_HITS)

    def __getitem__(self, query: int) -> list[Hit]:
        count = len(self.ids[query])
        columns = (column[query, :count] for column in (self.rows, self.scores, self.similarities, self.offsets))
        nothing = [None] * count
        why = self.explanations[query][:count] if self.explanations else nothing
        payload = self.payload[query][:count] if self.payload else nothing
        shares = nothing if self.assessed is None else self.assessed.shares[query, :count].tolist()
        numbers = (column.tolist() for column in columns)
        return [Hit(*hit) for hit in zip(self.ids[query], *numbers, why, payload, shares, strict=True)]

    def __iter__(self) -> Iterator[list[Hit]]:
        return (self[query] for query in range(len(self)))


@dataclass(frozen=True)
class SideBySide:
    """The answers of the same m queries, raw and corrected. Corrected hits are explained."""

    raw: Results
    corrected: Results

    def __len__(self) -> int:
        return len(self.raw)

    def _repr_html_(self) -> str:
        return f"<div>{self.raw._repr_html_()}{self.corrected._repr_html_()}</div>"


@dataclass(frozen=True)
class Point:
    """A stored target."""

    id: str | int
    row: int
    offset: float
    payload: dict[str, Any] | None
    vector: F32 | None


def taken(payload: PayloadRows | None, rows: Rows, columns: Sequence[str] | None = None) -> list[dict[str, Any] | None]:
    """Payload of some rows; None for each row if there is no payload."""
    return [None] * len(rows) if payload is None else [*payload.take(rows, columns)]


def taking(payload: PayloadRows | None, wanted: WithPayload) -> Callable[[Rows], list[dict[str, Any] | None]] | None:
    """A function that gives the payload of some rows; None if it is not wanted."""
    if isinstance(wanted, bool):
        return partial(taken, payload) if wanted else None
    listed = isinstance(wanted, Iterable) and not isinstance(wanted, str)
    if not listed or not all(isinstance(name, str) for name in wanted):
        raise InputError("with_payload", "True, False, or a list of columns", repr(wanted))
    names = [] if payload is None else payload.schema.names
    free = payload is not None and is_free(payload.schema)
    for name in (name for name in wanted if not free and name not in names):
        known = f"columns of the payload, {names_of(names)}" if names else "none, as there is no payload"
        raise UnknownField("with_payload", known, name)
    return partial(taken, payload, columns=list(wanted))
