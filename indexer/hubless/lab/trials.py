"""Labelled pairs, and the trials that measure corrections on them without a leak.

A bank query's own target must not be in the searched gallery, or a correction gets credit for pushing down what is
known to be a distractor. So either the banks are given and have nothing to do with the pairs, or the pairs are split:
**the strict protocol**.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hubless.builder.bank_checks import check_bank, refuse_targets_for_queries
from hubless.corrections import Correction, Details, QueryTime, corrected_scores
from hubless.errors import InputError
from hubless.lab.relevance import Relevant, as_relevant, read_relevant
from hubless.vectors.arrays import F32, I64, check_dim
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.sources import ArrayVectors, in_memory, under_metric

SCORES_HELD = 2**22
"""So many similarities of test queries with targets are held at once."""

Plan = Callable[[F32], NDArray[np.floating]]
"""All similarities (m, n) to scores (m, n)."""


@dataclass(frozen=True)
class Pairs:
    """Queries (m, d) and targets (n, d) as they are compared, and the targets that are right for each query.

    `left_out` holds the rows of the queries with no relevant target: nothing can be measured with them.
    """

    queries: F32
    targets: F32
    relevant: list[I64]

    @property
    def answerable(self) -> I64:
        """Rows of the queries with a relevant target."""
        return np.flatnonzero([len(rows) > 0 for rows in self.relevant])

    @property
    def left_out(self) -> I64:
        return np.flatnonzero([len(rows) == 0 for rows in self.relevant])


def open_pairs(
    queries: Vectors, targets: Vectors, relevant: str | Path | Relevant, metric: Literal["cosine", "dot"] = "cosine"
) -> Pairs:
    """Read labelled pairs into memory.

    Parameters
    ----------
    queries : (m, d)
    targets : (n, d)
    relevant : for each query the row number of its relevant target, or a list of several, or an empty one

    Raises
    ------
    InputError
        if they do not fit each other, or no query has a relevant target.
    """
    given = {"queries": read_vectors(queries, "queries", metric), "targets": read_vectors(targets, "targets", metric)}
    check_dim(given["queries"].shape[1], given["targets"].shape[1], "queries", "targets")
    labels = read_relevant(relevant) if isinstance(relevant, str | Path) else relevant
    pairs = Pairs(**given, relevant=as_relevant(labels, *(len(vectors) for vectors in given.values())))
    if not len(pairs.answerable):
        raise InputError("relevant", "a relevant target for at least one query", "none")
    return pairs


def read_vectors(vectors: Vectors, parameter: str, metric: Literal["cosine", "dot"] = "cosine") -> F32:
    """All rows of a file, an array or a source, of length 1 under metric "cosine"."""
    source = as_items(vectors, parameter).vectors
    if metric not in ("cosine", "dot"):
        raise InputError("metric", "cosine or dot", metric)
    return in_memory(under_metric(source, metric))


@dataclass(frozen=True)
class Scorer:
    """A correction, fitted and applied to the targets of a trial; or a plan, that needs all test queries at once."""

    offsets: F32
    query_time: QueryTime | None
    details: Details
    plan: Plan | None = None

    @classmethod
    def of_plan(cls, plan: Plan, targets: int) -> "Scorer":
        """A scorer without a correction."""
        return cls(np.zeros(targets, np.float32), None, {}, plan)


@dataclass(frozen=True)
class Trial:
    """One gallery of targets, the queries that test it, and banks without a leak.

    Parameters
    ----------
    rows : (m,) which queries of the pairs test
    queries : (m, d)
    relevant : for each query the rows of its relevant targets within the gallery
    target_rows : (n,) which targets of the pairs are the gallery
    targets : (n, d)
    query_bank : (b, d)
    target_bank : (g, d)
    """

    rows: I64
    queries: F32
    relevant: list[I64]
    target_rows: I64
    targets: F32
    query_bank: F32
    target_bank: F32 | None

    def fit(self, correction: Correction) -> Scorer:
        """Fit a correction on the banks, and get the offsets of the targets.

        Raises
        ------
        InputError
            if the banks are not what the correction needs.
        """
        targets = ArrayVectors(self.targets, "targets")
        extra = None if self.target_bank is None else ArrayVectors(self.target_bank, "target bank")
        fitted = correction.fit(ArrayVectors(self.query_bank, "query bank"), targets, extra)
        return Scorer(fitted.offsets(targets), fitted.query_time(targets), fitted.details)

    def rankings(
        self, scorers: Sequence[Scorer], strength: float = 1.0
    ) -> Iterator[tuple[int, slice, NDArray[np.floating]]]:
        """Scores of all targets by each scorer: (its number, which test queries, scores), block by block.

        The similarities of a block of queries are computed once, for all scorers.
        """
        planned = [number for number, scorer in enumerate(scorers) if scorer.plan is not None]
        step = len(self.queries) if planned else max(1, SCORES_HELD // len(self.targets))
        for start in range(0, len(self.queries), step):
            block = slice(start, min(start + step, len(self.queries)))
            similarities = self.queries[block] @ self.targets.T
            for number, scorer in enumerate(scorers):
                if scorer.plan is not None:
                    yield number, block, scorer.plan(similarities)
                else:
                    given = (self.queries[block], similarities, strength, scorer.offsets, scorer.query_time)
                    yield number, block, corrected_scores(*given, self.targets.__getitem__)


def refuse_targets(query_bank: F32, pairs: Pairs) -> None:
    """Raise `InputError` for a query bank of targets: of those of the pairs, or of others like them."""
    bank, targets = ArrayVectors(query_bank, "query bank"), ArrayVectors(pairs.targets, "targets")
    check_bank(bank, targets, "cosine")
    refuse_targets_for_queries(query_bank, pairs.targets, pairs.queries)


def banked_trial(pairs: Pairs, query_bank: F32, target_bank: F32 | None = None) -> Trial:
    """All pairs test, with banks from elsewhere."""
    for bank, name in ((query_bank, "query bank"), (target_bank, "target bank")):
        if bank is not None:
            check_dim(bank.shape[1], pairs.targets.shape[1], name, "targets")
    rows = pairs.answerable
    return Trial(
        rows,
        pairs.queries[rows],
        [pairs.relevant[row] for row in rows],
        np.arange(len(pairs.targets)),
        pairs.targets,
        query_bank,
        target_bank,
    )


def strict_trial(pairs: Pairs, seed: int) -> Trial:
    """Split the targets in half at random: one half is the gallery, the other the target bank.

    Queries with a relevant target in the gallery test; queries without one there are the query bank.

    Raises
    ------
    InputError
        if either has no query.
    """
    count = len(pairs.targets)
    order = np.random.default_rng(seed).permutation(count)
    gallery, other = np.sort(order[: count // 2]), np.sort(order[count // 2 :])
    place = np.full(count, -1)
    place[gallery] = np.arange(len(gallery))
    inside = [place[rows] for rows in pairs.relevant]
    inside = [rows[rows >= 0] for rows in inside]
    tests = np.array([row for row in pairs.answerable if len(inside[row])], np.int64)
    bank = np.array([row for row in pairs.answerable if not len(inside[row])], np.int64)
    if not len(tests) or not len(bank):
        expected = "queries with their targets in either half of the targets, for the strict protocol"
        raise InputError("relevant", expected, f"{len(tests)} in one and {len(bank)} in the other (seed {seed})")
    return Trial(
        tests,
        pairs.queries[tests],
        [inside[row] for row in tests],
        gallery,
        pairs.targets[gallery],
        pairs.queries[bank],
        pairs.targets[other],
    )
