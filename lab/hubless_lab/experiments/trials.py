"""Labelled pairs, and the trials that measure corrections on them without a leak.

A bank query's own target must not be in the searched gallery: else the correction pushes down a known distractor. So
the banks come from elsewhere, or the pairs are split: **the strict protocol**.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.corrections import Correction, Details, QueryTime, corrected_scores, under
from hubless.corrections.banks.bank_checks import check_bank, refuse_targets_for_queries
from hubless.corrections.banks.far_away import check_near
from hubless.corrections.fits import TAKES_PRIOR, TakesPrior, fit_each
from hubless.corrections.query_time import CANDIDATES
from hubless.corrections.roles import OWN_OFFSETS, PRIOR, NumbersLike
from hubless.corrections.target_columns import NO_COLUMNS, TargetColumn, TargetColumns, offsets_each
from hubless.diagnosing.gallery import Examined, Gallery, as_gallery
from hubless.errors import InputError, refuse_given
from hubless.kernels.forks import cached_property
from hubless.measures.labels import KnownItems, Labels, is_mask, known_queries, open_labels
from hubless.measures.repeats import without_copies
from hubless.search.collection import Collection
from hubless.vectors.arrays import F32, F64, I64
from hubless.vectors.comparing import (
    COSINE,
    Metric,
    comparison,
)
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.ids import Ids
from hubless.vectors.readers.columns import as_ids
from hubless.vectors.sources import ArrayVectors, VectorSource, in_memory
from hubless_lab.experiments.demand import Demand, checked, towards_hubs
from hubless_lab.experiments.drawn_banks import Draws
from hubless_lab.experiments.measured_rows import left_out_note, measured_rows
from hubless_lab.experiments.own_items import apart, own_cells
from hubless_lab.matrices import QUERIES, OpenMatrices, SimilarityMatrices, vectorless
from hubless_lab.measures import k_occurrence_of_scores

DRAWN = 2000
"""Queries of a log, and as many that test it."""
SCORES_HELD = 2**22
LEAK = "a leak, that makes corrections look better than they are"
_LOOKED_AT, _CONSTANT = 64, 1e-6

_Plan = Callable[[F32], NDArray[np.floating]]
"""All similarities (m, n) to scores (m, n)."""


@dataclass(frozen=True)
class Pairs:
    """Queries (m, d), targets (n, d), and the right targets of each query. With `same_items` query i is target i."""

    queries: F32
    targets: F32
    relevant: list[I64]
    matrices: OpenMatrices | None = None
    same_items: bool = False
    metric: str = COSINE
    columns: TargetColumns = NO_COLUMNS
    target_ids: pa.Array | None = None

    @property
    def answerable(self) -> I64:
        return np.flatnonzero([len(rows) > 0 for rows in self.relevant])

    @property
    def left_out(self) -> I64:
        """Rows of the queries without one: nothing can be measured with them."""
        return np.flatnonzero([len(rows) == 0 for rows in self.relevant])


@dataclass(frozen=True)
class Labelled:
    """Labelled pairs, and banks from elsewhere; without these the strict protocol makes its own."""

    pairs: Pairs
    query_bank: F32 | None
    target_bank: F32 | None
    keep_copies: bool = False

    def trials(self, draws: Draws) -> Iterator["Trial"]:
        """Yield strict splits with seeds 0, 1, …, or logs, or one trial with the banks; each with smaller banks.

        Raises `InputError` for sizes above those of the banks.
        """
        for seed in range(draws.seeds if self.query_bank is None else 1):
            bank = self.query_bank
            if bank is not None:
                whole = banked_trial(self.pairs, bank, self.target_bank)
            elif draws.demand is not None:
                whole = demand_trial(self.pairs, draws.demand, seed)
            else:
                whole = strict_trial(self.pairs, seed)
            for draw in range(draws.draws):
                yield replace(
                    whole,
                    query_bank=draws.of_queries(whole.query_bank, whole.targets, draw),
                    target_bank=draws.of_targets(whole.target_bank, draw),
                    keep_copies=self.keep_copies,
                )

    def notes(self) -> list[str]:
        """Return what there is to know of pairs and banks: what is left out, repeats, or tells too much."""
        pairs = self.pairs
        bank = self.query_bank
        extra = self.target_bank
        notes = left_out_note(pairs.left_out.tolist(), len(pairs.queries))
        if pairs.matrices is not None:
            bank, extra = pairs.matrices.bank, None
            if own := pairs.matrices.own:
                notes.append(f"{own} items are in the query bank, and none in its own: {LEAK}")
        notes += _repeats(bank, "query bank", "more than once" if self.keep_copies else "once")
        notes += _repeats(extra, "target bank", "more than once")
        if pairs.matrices is None:
            plain = comparison(pairs.metric).plain
            why = "it has to hold queries, or it corrects for the wrong ones"
            notes += _overlap(bank, pairs.targets, f"targets are in the query bank: {why}", plain)
        notes += _overlap(bank, pairs.queries, f"test queries are in the query bank: {LEAK}")
        notes += _overlap(extra, pairs.targets, f"searched targets are in the target bank: {LEAK}")
        if pairs.columns.of(PRIOR) is not None:
            notes.append(f"{', '.join(TAKES_PRIOR)} are fitted with the target prior; other corrections take none")
        some = pairs.queries[:_LOOKED_AT]
        if np.ptp(some if pairs.matrices is not None else some @ pairs.targets.T, axis=1).max() < _CONSTANT:
            notes.append("every query is equally similar to all targets: there is nothing to rank by")
        return notes


@dataclass(frozen=True)
class Scorer:
    """A correction, fitted and applied to the targets of a trial; or a plan, that needs all test queries at once."""

    offsets: F32
    query_time: QueryTime | None
    details: Details
    plan: _Plan | None = None
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One gallery of targets, the queries that test it, and banks without a leak. `rows` are those of the pairs."""

    pairs: Pairs
    rows: I64
    target_rows: I64
    query_bank: F32
    target_bank: F32 | None = None
    keep_copies: bool = False

    @cached_property
    def queries(self) -> F32:
        return _taken(self.pairs.queries, self.rows)

    @cached_property
    def targets(self) -> F32:
        return _taken(self.pairs.targets, self.target_rows)

    @cached_property
    def fitted_on(self) -> VectorSource:
        """Return the query bank as corrections take it: each query once, unless copies are kept."""
        bank = ArrayVectors(self.query_bank, "query bank")
        return bank if self.keep_copies else without_copies(bank, metric=self.pairs.metric)

    @cached_property
    def relevant(self) -> list[I64]:
        inside = [self._places[self.pairs.relevant[row]] for row in self.rows]
        return [places[places >= 0] for places in inside]

    @cached_property
    def _places(self) -> I64:
        places = np.full(len(self.pairs.targets), -1)
        places[self.target_rows] = np.arange(len(self.target_rows))
        return places

    def fit(self, correction: Correction) -> Scorer:
        """Fit a correction on the query bank, and on the target bank if there is one, and return the offsets (n,)."""
        targets = ArrayVectors(self.targets, "targets")
        extra = None if self.target_bank is None else ArrayVectors(self.target_bank, "target bank")
        known = under(correction, self.pairs.metric)
        method = known if self.pairs.matrices is None else vectorless(known)
        columns = self.pairs.columns[self.target_rows] if isinstance(correction, TakesPrior) else NO_COLUMNS
        (fitted,) = fit_each(method, [self.fitted_on], targets, extra, columns)
        (offsets,) = offsets_each([fitted], targets, columns)
        return Scorer(offsets, fitted.query_time(targets), fitted.details)

    def with_offsets(self, path: str) -> Scorer:
        """Return a scorer by offsets in a file, one a target: by their ids, or in the order of all."""
        given = OWN_OFFSETS.given(path, len(self.pairs.targets), self.pairs.target_ids)[self.target_rows]
        return Scorer((given - given.mean()).astype(np.float32), None, {})

    def similarities(self, block: slice) -> F32:
        """Return the similarities (m, n) of a block of the test queries to the searched targets."""
        if self.pairs.matrices is None:
            return self.queries[block] @ self.targets.T
        return np.ascontiguousarray(self.queries[block][:, self.target_rows])

    def rankings(
        self, scorers: Sequence[Scorer], strength: float = 1.0, candidates: int | None = CANDIDATES
    ) -> Iterator[tuple[int, slice, NDArray[np.floating]]]:
        """Yield scores of all targets by each scorer: (its number, which test queries, scores), block by block."""
        planned = any(scorer.plan is not None for scorer in scorers)
        step = len(self.queries) if planned else max(1, SCORES_HELD // len(self.targets))
        missing = self.targets.shape[1] - self.queries.shape[1]
        for start in range(0, len(self.queries), step):
            block = slice(start, min(start + step, len(self.queries)))
            similarities = self.similarities(block)
            own = (np.empty(0, np.int64),) * 2
            if self.pairs.same_items:
                places = self._places[self.rows[block]]
                own = np.flatnonzero(places >= 0), places[places >= 0]
            # what is least like a query is no candidate and opens no gate
            similarities[own] = np.float32(similarities.min() - 1)
            vectors = np.pad(self.queries[block], ((0, 0), (0, missing))) if missing else self.queries[block]
            for number, scorer in enumerate(scorers):
                if scorer.plan is not None:
                    scores = scorer.plan(similarities)
                else:
                    given = (vectors, similarities, strength, scorer.offsets, scorer.query_time)
                    scores = corrected_scores(*given, self.targets.__getitem__, candidates)
                scores[own] = -np.inf
                yield number, block, scores


def pairs_in(gallery: Gallery, queries: Vectors, relevant: Labels | None, metric: Metric) -> Pairs:
    """Read labelled queries (m, d) of targets that are compared already. Raises `InputError` and its kinds."""
    asked = as_items(queries, "queries")
    vectors, targets = in_memory(gallery.queries(asked.vectors, "queries")), in_memory(gallery.targets)
    check_near(ArrayVectors(targets, "targets"), metric)
    right = measured_rows(relevant, gallery.known, known_queries(asked))
    ids = gallery.known.given
    return Pairs(vectors, targets, right, metric=metric, target_ids=ids if isinstance(ids, pa.Array) else None)


def pairs_of(matrices: OpenMatrices, targets: F32, relevant: Labels | None, ids: Ids | None = None) -> Pairs:
    """Return labelled pairs of which only similarities are known.

    Raises `InputError` for labels or ids of other sizes.
    """
    labels, (m, n) = open_labels(relevant), matrices.queries.shape
    sized = hasattr(labels.values, "__len__") and not isinstance(labels.values, Mapping)
    if sized and len(labels.values) == n != m and not is_mask(labels.values, m, n):
        expected = f"a row for each of the {n} queries of the labels; columns are targets"
        raise InputError(QUERIES, expected, f"shape {(m, n)}: it looks transposed")
    known = None if ids is None else as_ids(ids)
    if known is not None and len(known) != n:
        raise InputError("ids", f"{n}, one a target", len(known))
    named = KnownItems(n, known)
    return Pairs(
        matrices.queries, targets, measured_rows(labels, named, KnownItems(m, noun="query")), matrices, target_ids=known
    )


def without_self(pairs: Pairs) -> Pairs:
    """Return pairs in which query i is target i, and no answer to itself.

    Raises `InputError` without as many of both.
    """
    m = len(pairs.queries)
    n = len(pairs.targets)
    if m != n:
        raise InputError("leave self out", "as many queries as targets, as query i is target i", f"{m} and {n}")
    others = [rows[rows != query] for query, rows in enumerate(pairs.relevant)]
    if not any(map(len, others)):
        raise InputError("relevant", "a right target for at least one query", "none")
    return replace(pairs, relevant=others, same_items=True)


def _apart(pairs: Pairs, bank: F32, target_bank: F32 | None) -> tuple[Pairs, F32, F32 | None]:
    """Return pairs and banks, as similarities if the bank holds items: then none is in its own bank."""
    known = pairs.matrices
    if known is None:
        plain = comparison(pairs.metric).plain
        cells = own_cells(*(plain(rows) for rows in (bank, pairs.queries, pairs.targets)))
    else:
        cells = own_cells(bank if known.bank is None else known.bank, pairs.queries)
    if not len(cells):
        return pairs, bank, target_bank
    if known is None:
        of_bank = None if target_bank is None else bank @ target_bank.T
        known = OpenMatrices(pairs.queries @ pairs.targets.T, bank @ pairs.targets.T, of_bank)
    matrices = apart(known, cells)
    of_targets, changed, extra = matrices.vectors()
    metric = comparison(pairs.metric).of_similarities
    found = replace(pairs, queries=matrices.queries, targets=of_targets, matrices=matrices, metric=metric)
    return found, bank if changed is None else changed, extra


class LabelledInputs(TypedDict, total=False):
    """Inputs of an experiment beside queries, targets and labels.

    Attributes
    ----------
    metric : "cosine", "dot" or "euclidean"; it has to be given with vectors
    ids : (n,) of the targets, by which labels name them; by default those in their file, or else row numbers
    query_bank : (b, d), whose own targets are not among the targets
    target_bank : (g, d), only with a query bank
    bank_of_targets : take a query bank that holds targets
    target_prior : (n,) how often each target should be found, for the corrections that take one
    """

    metric: Metric | None
    ids: Ids | None
    query_bank: Vectors | None
    target_bank: Vectors | None
    bank_of_targets: bool
    target_prior: NumbersLike | None


class LabelledItems(TypedDict, total=False):
    """Settings for queries that are targets, and for copies.

    Attributes
    ----------
    leave_self_out : query i is target i, no answer to itself, and no bank query of itself
    keep_copies : count copies in the query bank as often as they come, as the papers do, and not once
    """

    leave_self_out: bool
    keep_copies: bool


def open_labelled(
    queries: Vectors | SimilarityMatrices | Labelled,
    targets: Examined | None,
    relevant: Labels | None,
    *,
    ids: Ids | None = None,
    query_bank: Vectors | None = None,
    target_bank: Vectors | None = None,
    metric: Metric | None = None,
    bank_of_targets: bool = False,
    leave_self_out: bool = False,
    target_prior: NumbersLike | None = None,
    keep_copies: bool = False,
) -> Labelled:
    """Read labelled pairs and banks, unless that was done already; parameters and errors as for `compare`."""
    if isinstance(queries, Labelled):
        return queries
    if isinstance(queries, SimilarityMatrices):
        beside = {"targets": targets, "query bank": query_bank, "target bank": target_bank, "metric": metric}
        refuse_given(beside, "none beside similarities, which stand for all vectors")
        matrices = queries.open()
        of_targets, bank, extra = matrices.vectors()
        pairs = pairs_of(matrices, of_targets, relevant, ids)
    else:
        if targets is None:
            raise InputError("targets", "vectors, unless the queries are similarities", "none")
        gallery = as_gallery(targets, metric, ids)
        # what a gallery has is as it is compared, of length 1 for a cosine over all dimensions
        compared = isinstance(targets, Collection | Gallery)
        pairs = pairs_in(gallery, queries, relevant, gallery.space.of_compared.metric if compared else gallery.metric)
        bank = None if query_bank is None else in_memory(gallery.queries(query_bank, "query bank"))
        extra = None if target_bank is None else in_memory(gallery.items(target_bank, "target bank"))
    if bank is None and extra is not None:
        raise InputError("target bank", "none without a query bank, as the strict protocol makes its own", "one")
    if bank is not None and pairs.matrices is None and not bank_of_targets:
        check_bank(ArrayVectors(bank, "query bank"), ArrayVectors(pairs.targets, "targets"), pairs.metric)
        plain = comparison(pairs.metric).plain
        refuse_targets_for_queries(plain(bank), plain(pairs.targets), plain(pairs.queries))
    if leave_self_out:
        pairs = without_self(pairs)
        if bank is not None:
            pairs, bank, extra = _apart(pairs, bank, extra)
    if target_prior is not None:
        values = PRIOR.given(target_prior, len(pairs.targets), pairs.target_ids)
        pairs = replace(pairs, columns=NO_COLUMNS.beside(PRIOR, TargetColumn(values)))
    return Labelled(pairs, bank, extra, keep_copies)


def banked_trial(pairs: Pairs, query_bank: F32, target_bank: F32 | None = None) -> Trial:
    """Return a trial in which all pairs test, with banks (b, d) and (g, d) from elsewhere."""
    return Trial(
        pairs=pairs,
        rows=pairs.answerable,
        target_rows=np.arange(len(pairs.targets)),
        query_bank=query_bank,
        target_bank=target_bank,
    )


def strict_trial(pairs: Pairs, seed: int) -> Trial:
    """Split the targets at random: one half is searched, the other is the target bank, its queries the query bank.

    Raises `InputError` if a half has no queries.
    """
    count = len(pairs.targets)
    order = np.random.default_rng(seed).permutation(count)
    gallery = np.sort(order[: count // 2])
    other = np.sort(order[count // 2 :])
    searched = np.zeros(count, bool)
    searched[gallery] = True
    tested = np.array([searched[rows].any() for rows in pairs.relevant])
    tests = np.flatnonzero(tested)
    bank = np.setdiff1d(pairs.answerable, np.flatnonzero(tested))
    if pairs.same_items:
        bank = bank[~searched[bank]]
    if not len(tests) or not len(bank):
        expected = "queries with their targets in either half of the targets, for the strict protocol"
        raise InputError("relevant", expected, f"{len(tests)} in one and {len(bank)} in the other (seed {seed})")
    return Trial(
        pairs=pairs,
        rows=tests,
        target_rows=gallery,
        query_bank=pairs.queries[bank],
        target_bank=pairs.targets[other],
    )


def demand_trial(pairs: Pairs, demand: Demand, seed: int) -> Trial:
    """Draw a log, which is the query bank, and the tests from one Zipf law over the queries; all targets are searched.

    Query number r in a random order is asked r^−s times as often as the first. R@k is by demand: of tests as drawn.
    With `hubs` the order is correlated so with the raw N_10, over all queries, of the query's right target, of several
    the one found most. Raises `InputError` for an exponent below 0, or hubs outside 0 to 1.
    """
    exponent, hubs = checked(demand)
    rng = np.random.default_rng(seed)
    order = rng.permutation(pairs.answerable)
    if hubs:
        found = _raw_occurrence(pairs)
        order = towards_hubs(order, np.array([found[pairs.relevant[row]].max() for row in order]), hubs)
    shares = np.arange(1, len(order) + 1) ** -exponent
    log, tests = (order[rng.choice(len(order), DRAWN, p=shares / shares.sum())] for _ in range(2))
    return Trial(pairs=pairs, rows=tests, target_rows=np.arange(len(pairs.targets)), query_bank=pairs.queries[log])


def _raw_occurrence(pairs: Pairs) -> F64:
    """Return N_10 (n,) of the targets over all queries that have an answer."""
    count = len(pairs.targets)
    every = Trial(pairs=pairs, rows=pairs.answerable, target_rows=np.arange(count), query_bank=pairs.queries)
    raw = Scorer(np.zeros(count, np.float32), None, {})
    return sum((k_occurrence_of_scores(scores, 10) for *_, scores in every.rankings([raw])), start=np.zeros(count))


def _taken(vectors: F32, rows: I64) -> F32:
    return vectors if np.array_equal(rows, np.arange(len(vectors))) else vectors[rows]


def _repeats(rows: F32 | None, name: str, counted: str) -> list[str]:
    """Return a note on the rows of a bank that repeat others, if there are any."""
    if rows is None or (repeated := len(rows) - len(_distinct(rows))) == 0:
        return []
    return [f"{repeated} of {len(rows)} rows of the {name} repeat others, and so count {counted}"]


def _overlap(bank: F32 | None, rows: F32, said: str, plain: Callable[[F32], F32] = np.asarray) -> list[str]:
    """Return a note on the rows that a bank has, too, if there are any."""
    shared = 0 if bank is None else len(_distinct(plain(bank)) & _distinct(plain(rows)))
    return [f"{shared} {said}"] if shared else []


def _distinct(vectors: F32) -> set[bytes]:
    return {row.tobytes() for row in vectors}
