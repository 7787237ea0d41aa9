"""Two piles of items, matched: which item of one is the same thing as which of the other. Or duplicates in one pile.

Each of two piles is the query bank of the other, so what lies near many is no match for all of these. A pair is two
items that find each other first by the corrected score s − h. Its lead says how far both are ahead of the next ones:

    x(a) + x(b),  x = −log Σ_{i=2..11} exp((s_i − s_1)/τ) over the corrected scores of an item

In one pile a pair is an item and another that is nearest to it by the lead s − ¼(m_a + m_b), m the mean similarity of
an item and its ten nearest others: there rank 2 may be a duplicate, too. It is half of CSLS (Conneau et al., ICLR
2018), so that copies stay first where many lie close together.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hubless.corrections import correction
from hubless.corrections.banks.far_away import check_near
from hubless.diagnosing.gallery import Gallery, open_gallery
from hubless.diagnosing.table import TextTable
from hubless.errors import InputError
from hubless.kernels.reductions import top_k
from hubless.measures.confidence.guarantee import SURE, check_chance, guaranteed_cut, labels_needed
from hubless.measures.confidence.level import Level
from hubless.measures.labelled_answers import DEPTH
from hubless.measures.labels import Labels, known_rows, open_labels
from hubless.measures.repeats import without_copies
from hubless.progress import Advance, Progressing, progress_bars
from hubless.search.pages import render
from hubless.vectors.arrays import F32, F64, I64, Flags, check_dim
from hubless.vectors.comparing import OF_QUERIES, Metric, check_metric
from hubless.vectors.files import Vectors
from hubless.vectors.readers.columns import Column, listed
from hubless.vectors.sources import HeldVectors, in_memory, sampled_rows

PRECISION = 0.95
_FEWEST = 3
"""Items of a pile: with fewer nothing is ahead of others."""
_TOGETHER = 8192
"""Items that search at once; 11 hits of each are kept."""
_LISTS = 4096
"""So many lists of hits tell the usual spread of scores."""
_SHOWN = 10


@dataclass(frozen=True)
class Match:
    """Two items by their ids, their similarity, and how far they are ahead of others."""

    a: str | int
    b: str | int
    similarity: float
    lead: float


@dataclass(frozen=True, kw_only=True)
class Matching:
    """Pairs, the surest first. Of the first `promised` the share `precision` is right, with a chance of `sure`.

    `labelled` pairs say so, and `threshold` is the lead from which on; without any nothing is promised. About `more`
    labels may bring the promise where these do not; 0 where no number of them would.
    """

    pairs: Sequence[Match]
    precision: float
    sure: float
    labelled: int = 0
    promised: int = 0
    threshold: float | None = None
    more: int = 0

    def __repr__(self) -> str:
        return f"<Matching: {len(self.pairs):,} pairs, {self.promised:,} promised>"

    def as_json(self) -> dict[str, Any]:
        """Return everything, as `hubless match --json` prints it."""
        return asdict(self)

    def records(self) -> list[dict[str, Any]]:
        """Return each pair, and whether the promise is about it."""
        return [asdict(pair) | {"promised": place < self.promised} for place, pair in enumerate(self.pairs)]

    def table(self) -> TextTable:
        """Return the first ten pairs, and what is promised."""
        lines = [
            [str(pair.a), str(pair.b), f"{pair.similarity:.3f}", f"{pair.lead:.3f}"] for pair in self.pairs[:_SHOWN]
        ]
        return TextTable(
            ["a", "b", "similarity", "lead"], lines, render("matches.txt", "hubless_matching", made=self).strip()
        )


class _Pairs(NamedTuple):
    """Rows of two items each, their similarities and leads, (p,) each."""

    first: I64
    second: I64
    similarity: F32
    lead: F64

    def taken(self, rows: I64) -> "_Pairs":
        return _Pairs(self.first[rows], self.second[rows], self.similarity[rows], self.lead[rows])


def match(
    a: Vectors,
    b: Vectors | None = None,
    relevant: Labels | None = None,
    *,
    metric: Metric | None = None,
    precision: float = PRECISION,
    sure: float = SURE,
    progress: Progressing = None,
) -> Matching:
    """Match two piles of items, or find the duplicates of one. `pairs` of the matches have the surest first.

    Of two piles an item is in one pair at most. Labels of pairs that were drawn at random promise a precision: see
    `hubless.guaranteed_cut`. Raises `InputError` for piles that do not fit each other, for labels of unknown items, and
    for fewer labels than the promise needs.

    Parameters
    ----------
    a, b : (n, d) and (m, d); files and tables have ids. Without b the duplicates of a
    relevant : for items of a the id of what is the same thing, or a list of ids: docs/cli.md, "Labels"; an empty list
        says that nothing is. A table with `id` needs no row for the other items
    metric : "cosine" compares directions, "dot" takes lengths into account, "euclidean" takes distances; to be given
    precision : the share of right pairs that is promised
    sure : the chance with which the promise is kept
    """
    check_chance("precision", precision)
    check_chance("sure", sure)
    known = check_metric(metric)
    piles = [_pile(pile, name, known) for name, pile in (("a", a), ("b", b)) if pile is not None]
    first, second = piles[0], piles[-1]
    check_dim(second.dim, first.dim, second.name, first.name)
    labels = None if relevant is None else _labels(relevant, first, second)
    with progress_bars(progress) as steps:
        advance = steps.step("matching", sum(pile.known.count for pile in piles))
        found = _of_one(first, advance) if b is None else _of_two(first, second, advance)
    found = found.taken(np.argsort(-found.lead, kind="stable"))
    names = (_ids(pile, rows) for pile, rows in ((first, found.first), (second, found.second)))
    pairs = [Match(*pair) for pair in zip(*names, found.similarity.tolist(), found.lead.tolist(), strict=True)]
    made = Matching(pairs=pairs, precision=precision, sure=sure)
    return made if labels is None else _promised(made, found, labels, both=b is None)


def _pile(given: Vectors, name: str, metric: Metric) -> Gallery:
    opened = open_gallery(given, metric=metric, parameter=name)
    if opened.known.count < _FEWEST:
        raise InputError(name, f"at least {_FEWEST} items", opened.known.count)
    check_near(opened.targets, metric)
    return replace(opened, known=replace(opened.known, noun=f"record of {name}"))


def _ids(pile: Gallery, rows: I64) -> list[str | int]:
    return rows.tolist() if pile.known.ids is None else pile.known.ids.ids(rows)


def _asking(pile: Gallery) -> HeldVectors:
    """Return the items of a pile as they are compared with targets."""
    return HeldVectors(pile.space.turned(in_memory(pile.targets), OF_QUERIES), pile.name)


def _search(asking: Gallery, asked: Gallery, depth: int, offsets: F32 | None, advance: Advance) -> tuple[F32, I64]:
    """Return scores and rows (n, k) of the best items of one pile for each of another, by s − h of offsets h (m,)."""
    queries = in_memory(_asking(asking))
    k = min(depth, asked.known.count)
    found = []
    for start in range(0, len(queries), _TOGETHER):
        block = queries[start : start + _TOGETHER]
        found.append(top_k(block, asked.targets, k, offsets))
        advance(len(block))
    scores, rows = (np.concatenate(each) for each in zip(*found, strict=True))
    return scores, rows


def _of_two(first: Gallery, second: Gallery, advance: Advance) -> _Pairs:
    """Return the pairs of items that find each other first."""

    def side(asking: Gallery, asked: Gallery) -> tuple[I64, F32, F64]:
        """Return what each item finds first, its similarity, and how far it is ahead."""
        bank = without_copies(_asking(asking), metric=asked.metric)
        offsets = correction("auto", metric=asked.metric).fit(bank, asked.targets).offsets(asked.targets)
        scores, rows = _search(asking, asked, DEPTH, offsets, advance)
        level = Level.of_lists(scores[sampled_rows(len(scores), _LISTS)].tolist())
        ahead, _ = level.numbers(np.empty((len(scores), 0), np.float32), scores)
        return rows[:, 0], scores[:, 0] + offsets[rows[:, 0]], ahead

    best, similarity, ahead = side(first, second)
    back, _, behind = side(second, first)
    rows = np.flatnonzero(back[best] == np.arange(len(best)))
    others = best[rows]
    return _Pairs(rows, others, similarity[rows], ahead[rows] + behind[others])


def _of_one(pile: Gallery, advance: Advance) -> _Pairs:
    """Return each item with the other of its ten nearest that has the largest lead, each pair once."""
    scores, rows = _search(pile, pile, DEPTH, None, advance)
    own = np.arange(len(rows))
    others = rows != own[:, np.newaxis]
    others[others.all(axis=1), -1] = False  # one of many copies does not find itself
    near, nearest = scores[others].reshape(len(rows), -1), rows[others].reshape(len(rows), -1)
    usual = near.mean(axis=1, dtype=np.float64) / 4
    leads = near - usual[:, np.newaxis] - usual[nearest]
    place = own, leads.argmax(axis=1)
    pairs = np.sort(np.stack([own, nearest[place]], axis=1), axis=1)
    _, once = np.unique(pairs, axis=0, return_index=True)
    return _Pairs(pairs[:, 0], pairs[:, 1], near[place], leads[place]).taken(once)


def _labels(relevant: Labels, first: Gallery, second: Gallery) -> list[I64 | None]:
    """Return the rows of what is the same thing as each item; None where nobody knows."""
    column = open_labels(relevant)
    if column.ids is not None:
        by_id: dict[Any, list[Any]] = {}
        for item, label in zip(column.ids.to_pylist(), listed(column, "a table"), strict=True):
            by_id.setdefault(item, []).extend(label if isinstance(label, list) else [label])
        column = Column(by_id, column.name, column.as_text)
    return known_rows(column, second.known, first.known)


def _promised(made: Matching, found: _Pairs, labels: list[I64 | None], *, both: bool) -> Matching:
    """Return matches with what labels of their pairs promise. In one pile, `both` items may have the label."""
    known, right = _judged(labels, found.first, found.second)
    if both:
        turned = _judged(labels, found.second, found.first)
        known, right = known | turned[0], right | turned[1]
    labelled = int(known.sum())
    if labelled < (needed := labels_needed(made.precision, made.sure)):
        expected = f"labels for at least {needed} of the pairs, to promise a precision of {made.precision:g}"
        raise InputError("relevant", expected, labelled)
    cut = guaranteed_cut(found.lead[known], right[known], made.precision, made.sure)
    promised = 0 if cut.threshold is None else int((found.lead >= cut.threshold).sum())
    return replace(made, labelled=labelled, promised=promised, threshold=cut.threshold, more=cut.more)


def _judged(labels: list[I64 | None], items: I64, others: I64) -> tuple[Flags, Flags]:
    """Return of which pairs (p,) of an item and another it is known whether they are right, and which are."""
    of_items = [labels[item] for item in items.tolist()]
    known = np.array([rows is not None for rows in of_items], np.bool_)
    right = [rows is not None and other in rows for rows, other in zip(of_items, others.tolist(), strict=True)]
    return known, np.array(right, np.bool_)
