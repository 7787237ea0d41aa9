"""Labelled pairs, and the trials that measure corrections on them without a leak.

A bank query's own target must not be in the searched gallery, or a correction gets credit for pushing down what is
known to be a distractor. So either the banks are given and have nothing to do with the pairs, or the pairs are split:
**the strict protocol**.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hubless.builder.banks.bank_checks import check_bank, refuse_targets_for_queries
from hubless.corrections import Correction, Details, QueryTime, corrected_scores
from hubless.corrections.prior import TakesPrior, TargetPrior, prior_offsets
from hubless.corrections.prior import fit as fit_correction
from hubless.corrections.query_time import CANDIDATES
from hubless.errors import InputError
from hubless.lab.experiments.relevance import Relevant, as_relevant, read_relevant
from hubless.lab.matrices import BETWEEN, QUERIES, OpenMatrices
from hubless.lab.vectorless import Vectorless
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

    Parameters
    ----------
    matrices : similarities, where there are no vectors. Queries and targets are then vectors made of these
    same_items : query i is target i, and is no answer to itself
    target_prior : how often each target should be found, for the corrections that take one
    """

    queries: F32
    targets: F32
    relevant: list[I64]
    matrices: OpenMatrices | None = None
    same_items: bool = False
    target_prior: TargetPrior | None = None

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
    asked, found = read_vectors(queries, "queries", metric), read_vectors(targets, "targets", metric)
    check_dim(asked.shape[1], found.shape[1], "queries", "targets")
    labels = read_relevant(relevant) if isinstance(relevant, str | Path) else relevant
    return _answerable(Pairs(asked, found, as_relevant(labels, len(asked), len(found))))


def pairs_of(matrices: OpenMatrices, relevant: str | Path | Relevant) -> Pairs:
    """Labelled pairs of which only similarities are known.

    Raises
    ------
    InputError
        if there are no similarities of queries, or they do not fit the labels: if they are transposed, it says so.
    """
    similarities = matrices.queries
    if similarities is None:
        raise InputError(QUERIES, "a matrix, queries × targets", "none")
    labels = read_relevant(relevant) if isinstance(relevant, str | Path) else relevant
    m, n = similarities.shape
    if hasattr(labels, "__len__") and len(labels) == n != m:
        expected = f"a row for each of the {n} queries of the labels; columns are targets"
        raise InputError(QUERIES, expected, f"shape {(m, n)}: it looks transposed")
    return _answerable(Pairs(similarities, matrices.target_vectors(), as_relevant(labels, m, n), matrices))


def without_self(pairs: Pairs) -> Pairs:
    """The same pairs with queries that are the targets: query i is target i, and no answer to itself.

    Raises
    ------
    InputError
        if there are not as many queries as targets, or no query has another relevant target.
    """
    m, n = len(pairs.queries), len(pairs.targets)
    if m != n:
        raise InputError("leave self out", "as many queries as targets, as query i is target i", f"{m} and {n}")
    others = [rows[rows != query] for query, rows in enumerate(pairs.relevant)]
    return _answerable(replace(pairs, relevant=others, same_items=True))


def _answerable(pairs: Pairs) -> Pairs:
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
    own_rows : (m,) the row of the gallery that each query is itself, −1 for none; None where queries are no targets
    matrices : similarities, where there are no vectors
    between : (g, n) similarities of target bank and all targets, for the methods that need these
    target_prior : how often each target of the gallery should be found, for the corrections that take one
    """

    rows: I64
    queries: F32
    relevant: list[I64]
    target_rows: I64
    targets: F32
    query_bank: F32
    target_bank: F32 | None
    own_rows: I64 | None = None
    matrices: OpenMatrices | None = None
    between: F32 | None = None
    target_prior: TargetPrior | None = None

    def fit(self, correction: Correction) -> Scorer:
        """Fit a correction on the banks, and get the offsets of the targets.

        Raises
        ------
        InputError
            if the banks are not what the correction needs.
        """
        targets = ArrayVectors(self.targets, "targets")
        extra = None if self.target_bank is None else ArrayVectors(self.target_bank, "target bank")
        method = correction if self.matrices is None else Vectorless(correction, self.between)
        prior = self.target_prior if isinstance(correction, TakesPrior) else None
        fitted = fit_correction(method, ArrayVectors(self.query_bank, "query bank"), targets, extra, prior)
        offsets = fitted.offsets(targets)
        if prior is not None:
            offsets = (offsets + prior_offsets(fitted, prior.values)).astype(np.float32)
        return Scorer(offsets, fitted.query_time(targets), fitted.details)

    def similarities(self, block: slice) -> F32:
        """Similarities of some test queries with all targets."""
        if self.matrices is None:
            return self.queries[block] @ self.targets.T
        return np.ascontiguousarray(self.queries[block][:, self.target_rows])

    def rankings(
        self, scorers: Sequence[Scorer], strength: float = 1.0, candidates: int | None = CANDIDATES
    ) -> Iterator[tuple[int, slice, NDArray[np.floating]]]:
        """Scores of all targets by each scorer: (its number, which test queries, scores), block by block.

        The similarities of a block of queries are computed once, for all scorers. What a query is itself scores −∞.

        Parameters
        ----------
        candidates : how many targets a rescorer looks at; None for all
        """
        planned = [number for number, scorer in enumerate(scorers) if scorer.plan is not None]
        step = len(self.queries) if planned else max(1, SCORES_HELD // len(self.targets))
        for start in range(0, len(self.queries), step):
            block = slice(start, min(start + step, len(self.queries)))
            similarities = self.similarities(block)
            own = self._own(block)
            # what is least like a query is no candidate and opens no gate
            similarities[own] = np.float32(similarities.min() - 1)
            for number, scorer in enumerate(scorers):
                if scorer.plan is not None:
                    scores = scorer.plan(similarities)
                else:
                    given = (self._vectors(block), similarities, strength, scorer.offsets, scorer.query_time)
                    scores = corrected_scores(*given, self.targets.__getitem__, candidates)
                scores[own] = -np.inf
                yield number, block, scores

    def _own(self, block: slice) -> tuple[I64, I64]:
        """Places in a block of scores where a query meets itself."""
        if self.own_rows is None:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        own = self.own_rows[block]
        queries = np.flatnonzero(own >= 0)
        return queries, own[queries]

    def _vectors(self, block: slice) -> F32:
        missing = self.targets.shape[1] - self.queries.shape[1]
        return np.pad(self.queries[block], ((0, 0), (0, missing))) if missing else self.queries[block]


def refuse_targets(query_bank: F32, pairs: Pairs) -> None:
    """Raise `InputError` for a query bank of targets: of those of the pairs, or of others like them.

    Similarities do not tell.
    """
    if pairs.matrices is not None:
        return
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
        # a slice leaves similarities in their file
        pairs.queries if len(rows) == len(pairs.queries) else pairs.queries[rows],
        [pairs.relevant[row] for row in rows],
        np.arange(len(pairs.targets)),
        pairs.targets,
        query_bank,
        target_bank,
        rows if pairs.same_items else None,
        pairs.matrices,
        None if pairs.matrices is None else pairs.matrices.between,
        pairs.target_prior,
    )


def strict_trial(pairs: Pairs, seed: int) -> Trial:
    """Split the targets in half at random: one half is the gallery, the other the target bank.

    Queries with a relevant target in the gallery test; queries without one there are the query bank. Where queries are
    the targets, those of the gallery are no bank either.

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
    if pairs.same_items:
        bank = bank[place[bank] < 0]
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
        place[tests] if pairs.same_items else None,
        pairs.matrices,
        _between_halves(pairs.matrices, other),
        None if pairs.target_prior is None else pairs.target_prior.taken(gallery),
    )


def _between_halves(matrices: OpenMatrices | None, other: I64) -> F32 | None:
    """Similarities of one half of the targets with all of them."""
    if matrices is None or matrices.between is None:
        return None
    rows, columns = matrices.between.shape
    if rows != columns:
        raise InputError(BETWEEN, f"a row for each of the {columns} targets, to be split", f"{rows} rows")
    return matrices.between[other]
