"""Say what a log of lists shows: hubs beside chance, what is never found, repeats, and what a correction brings."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hubless.errors import InputError
from hubless.measures.chance import Chance
from hubless.measures.occurrence import skewness
from hubless.measures.significance import PairedDifference, paired_difference
from hubless.search.scores.fitted_lists import HUBS, NO_HUBS, first_overdispersion
from hubless.search.scores.logged_lists import ScoreLists
from hubless.search.scores.score_correction import ScoreCorrection
from hubless.vectors.arrays import F64, I64

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
        repeated = 1 - self.distinct / self.lists
        said = [f"{self.lists:,} lists of {self.hits:.0f} hits, {self.items:,} items; {repeated:.0%} repeat another"]
        if self.overdispersion < NO_HUBS:
            said.append("No hubs: items come first about as evenly as chance would have it. Nothing is corrected")
        else:
            sure = "Hubs" if self.overdispersion >= HUBS else "A few hubs"
            top = self.most[0]
            said.append(
                f"{sure}: {top.id!r} is among the first ten of {top.raw:,} lists, {self.chance.most:,} by chance, and "
                f"of {top.corrected:,} when corrected. {self.changed:.0%} of the first hits change"
            )
        if self.never is not None:
            said.append(f"{self.never:,} known items are in no list")
        if self.gain is None:
            said.append("Nobody knows what it gains: the log has no labels (key relevant)")
        else:
            low, high = (100 * each for each in (self.gain.interval.low, self.gain.interval.high))
            said.append(
                f"R@1 of {self.labelled:,} labelled lists: {100 * (self.recall_raw or 0):.1f} %, corrected "
                f"{100 * self.gain.value:+.1f} points ({low:+.1f} to {high:+.1f})"
            )
        return said

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"verdict": self.verdict}


def diagnose_log(
    lists: ScoreLists,
    relevant: Sequence[Any] | None = None,
    ids: Sequence[Any] | None = None,
    *,
    distance: bool = False,
    seed: int = 0,
) -> LogDiagnosis:
    """Return what a log shows. `relevant`: right ids of each list given, None where unknown; `ids`: all known items.

    Lists that are copies of one another stay in one half. Raises `InputError` for fewer than 40 different lists.
    """
    firsts, copies = lists.distinct()
    if len(firsts) < FEWEST_HALVES:
        raise InputError("log", f"at least {FEWEST_HALVES} different lists to diagnose", len(firsts))
    once = lists.taken(firsts)
    half = np.zeros(once.count, np.bool_)
    half[np.random.default_rng(seed).permutation(once.count)[: once.count // 2]] = True
    tops = [np.empty(0, np.int64)] * once.count
    for part in (half, ~half):
        fitted = ScoreCorrection.of(once.taken(np.flatnonzero(~part)), distance=distance)
        for row in np.flatnonzero(part).tolist():
            tops[row] = _corrected(once, row, fitted.values)
    raw = [once.columns[start : start + FIRST] for start in once.starts[:-1].tolist()]
    raw = [each[: int(length)] for each, length in zip(raw, np.diff(once.starts), strict=True)]
    found = [_counted([line[:FIRST] for line in each], len(lists.ids)) for each in (raw, tops)]
    known = lists.ids.to_pylist()
    there = set(known)
    absent = None if ids is None else [each for each in ids if each not in there]
    labels = [] if relevant is None else [relevant[row] for row in once.given.tolist()]
    rows = [row for row, label in enumerate(labels) if label is not None]
    right = np.array([[_is_right(known, each[row], labels[row]) for each in (raw, tops)] for row in rows], np.bool_)
    hubs = np.argsort(-found[0], kind="stable")[:MOST_SHOWN]
    depth = float(np.mean([min(len(each), FIRST) for each in raw]))
    return LogDiagnosis(
        lists=int(copies.sum()),
        distinct=once.count,
        hits=float(np.diff(lists.starts).mean()),
        items=len(known) if ids is None else len(known) + len(absent or ()),
        overdispersion=first_overdispersion(once.heights()),
        skewness_raw=skewness(found[0]),
        skewness_corrected=skewness(found[1]),
        chance=Chance.of(once.count, len(known), max(1, round(depth))),
        most=[FoundItem(known[row], int(found[0][row]), int(found[1][row])) for row in hubs.tolist()],
        never=None if absent is None else len(absent),
        never_ids=(absent or [])[:MOST_SHOWN],
        changed=float(np.mean([one[0] != other[0] for one, other in zip(raw, tops, strict=True)])),
        labelled=len(rows),
        recall_raw=float(right[:, 0].mean()) if rows else None,
        gain=paired_difference(right[:, 0], right[:, 1]) if rows else None,
    )


def _corrected(lists: ScoreLists, row: int, offsets: F64) -> I64:
    """Return the items of a list by its corrected scores. Offsets of items that the other half lacks are smallest."""
    hits = slice(int(lists.starts[row]), int(lists.starts[row + 1]))
    columns = lists.columns[hits].astype(np.int64)
    order: I64 = columns[np.argsort(offsets[columns] - lists.scores[hits], kind="stable")]
    return order


def _counted(tops: list[Any], count: int) -> I64:
    return np.bincount(np.concatenate(tops), minlength=count).astype(np.int64)


def _is_right(known: list[Any], top: Any, label: Any) -> bool:
    return known[int(top[0])] in (label if isinstance(label, list) else [label])
