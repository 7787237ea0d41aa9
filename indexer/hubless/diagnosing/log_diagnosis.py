"""Say what a log of lists shows: hubs beside chance, what is never found, repeats, and what a correction brings."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.errors import InputError
from hubless.measures.chance import Chance
from hubless.measures.occurrence import most_found, skewness
from hubless.measures.plain_ids import hit_like, plain_ids
from hubless.measures.significance import PairedDifference, paired_difference
from hubless.scores.fitted_lists import HUBS, NO_HUBS, first_overdispersion
from hubless.scores.logged_lists import ScoreLists
from hubless.scores.score_correction import ScoreCorrection
from hubless.search.pages import render
from hubless.vectors.arrays import I64

FIRST = 10
"""Hits of a list that count: what people see."""
MOST_SHOWN = 5
FEWEST_HALVES = 40
"""Fewer different lists are not split."""


@dataclass(frozen=True)
class FoundItem:
    """An item, and how many lists have it among the first ten, as they are and corrected."""

    id: Any
    raw: int
    corrected: int


@dataclass(frozen=True)
class LogDiagnosis:
    """Figures of a log. Corrected lists are those of one half, by the offsets of the other half, both ways.

    `overdispersion` tells hubs, `chance` is for lists of random items, `never` counts known items that no list has.
    `changed` is the share of lists with another first hit. With labels `gain` is that of R@1, in shares.
    """

    lists: int
    distinct: int
    hits: float
    items: int
    overdispersion: float
    skewness_raw: float
    skewness_corrected: float
    chance: Chance
    most: list[FoundItem]
    never: int | None
    never_ids: list[Any]
    changed: float
    labelled: int
    recall_raw: float | None
    gain: PairedDifference | None

    @property
    def verdict(self) -> list[str]:
        """Sum up the figures."""
        return render("log.txt", found=self, HUBS=HUBS, NO_HUBS=NO_HUBS).splitlines()

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"verdict": self.verdict}


def diagnose_log(
    lists: ScoreLists,
    relevant: Sequence[Any] | None = None,
    ids: Sequence[Any] | None = None,
    *,
    distance: bool = False,
) -> LogDiagnosis:
    """Return what a log shows. `relevant`: right ids of each list given, None where unknown; `ids`: all known items.

    Lists that are copies of one another stay in one half. Raises `InputError` for fewer than 40 different lists, and
    for labels and ids of another type than those of the log; a text may stand for a number in `ids` only.
    """
    firsts, copies = lists.distinct()
    if len(firsts) < FEWEST_HALVES:
        raise InputError("log", f"at least {FEWEST_HALVES} different lists to diagnose", len(firsts))
    once = lists.taken(firsts)
    tops = _tops(once, distance)
    known = lists.ids.to_pylist()
    raw, corrected = (np.bincount(np.concatenate(each), minlength=len(known)).astype(np.int64) for each in tops)
    listed = set(known)
    named = () if ids is None else plain_ids(ids, *hit_like(known[0]), "ids", as_text=True)
    absent = [each for each in named if each not in listed]
    right = _right(known, tops, relevant or (), [] if relevant is None else once.given.tolist())
    return LogDiagnosis(
        lists=int(copies.sum()),
        distinct=once.count,
        hits=float(np.diff(lists.starts).mean()),
        items=len(known) + len(absent),
        overdispersion=first_overdispersion(once.heights()),
        skewness_raw=skewness(raw),
        skewness_corrected=skewness(corrected),
        chance=Chance.of(once.count, len(known), max(1, round(float(np.mean([*map(len, tops[0])]))))),
        most=[
            FoundItem(known[row], int(raw[row]), int(corrected[row])) for row in most_found(raw, MOST_SHOWN).tolist()
        ],
        never=None if ids is None else len(absent),
        never_ids=absent[:MOST_SHOWN],
        changed=float(np.mean([one[0] != other[0] for one, other in zip(*tops, strict=True)])),
        labelled=len(right),
        recall_raw=float(right[:, 0].mean()) if len(right) else None,
        gain=paired_difference(right[:, 0], right[:, 1]) if len(right) else None,
    )


def _tops(lists: ScoreLists, distance: bool) -> tuple[list[I64], list[I64]]:
    """Return the first ten items of each list, as they are, and by the offsets of the half that it is not in."""
    raw = [line[:FIRST].astype(np.int64) for line in np.split(lists.columns, lists.starts[1:-1])]
    corrected = list(raw)
    half = np.zeros(lists.count, np.bool_)
    half[np.random.default_rng(0).permutation(lists.count)[: lists.count // 2]] = True
    for part in (half, ~half):
        fitted = ScoreCorrection.of(lists.taken(np.flatnonzero(~part)), distance=distance)
        for row in np.flatnonzero(part).tolist():
            corrected[row] = lists.ordered(row, fitted.values)[:FIRST]
    return raw, corrected


def _right(
    known: list[Any], tops: tuple[list[I64], list[I64]], relevant: Sequence[Any], lists: list[int]
) -> NDArray[np.bool_]:
    """Return whether the first item of each labelled list is right, raw and corrected: (m, 2)."""
    right = []
    for row, place in enumerate(lists):
        if relevant[place] is not None:
            labels = plain_ids(relevant[place], *hit_like(known[0]), f"relevant[{place}]")
            right.append([known[int(each[row][0])] in labels for each in tops])
    return np.array(right, np.bool_).reshape(-1, 2)
