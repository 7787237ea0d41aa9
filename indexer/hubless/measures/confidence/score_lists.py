"""Lists of scores from any system: the best of one query, first hit first. They are checked, and distances turned."""

from collections.abc import Iterable, Sequence
from math import isfinite
from numbers import Real
from typing import Any

from hubless.errors import InputError
from hubless.measures.labelled_answers import DEPTH

FEWEST_LISTS = 20
LISTS = "lists of scores, the best hit first"


def score_list(scores: Any, distance: bool, name: str = "scores") -> list[float]:
    """Return the first 11 scores of a query as numbers, higher is better. Raises `InputError` with name and place."""
    if isinstance(scores, str | bytes) or not isinstance(scores, Iterable):
        raise InputError(name, "a list of scores, the best hit first", repr(scores))
    read = []
    for place, score in zip(range(DEPTH), scores, strict=False):
        if not isinstance(score, Real) or isinstance(score, bool) or not isfinite(score):
            raise InputError(f"{name}[{place}]", "a finite number", repr(score))
        read.append(-float(score) if distance else float(score))
    return read


def score_lists(lists: Any, distance: bool) -> list[list[float]]:
    """Return the lists of many queries; in most of them the first hit is the best.

    Raises `InputError` naming the list.
    """
    if isinstance(lists, str | bytes) or not isinstance(lists, Iterable):
        raise InputError("lists", LISTS, repr(lists))
    read = [score_list(scores, distance, f"lists[{row}]") for row, scores in enumerate(lists)]
    rising = sum(scores[-1] > scores[0] for scores in read if scores)
    if rising > len(read) / 2:
        expected = "scores that fall from hit to hit; distances, which rise, need distance=True"
        raise InputError("lists", expected if not distance else "distances, which rise from hit to hit", "others")
    return read


def check_enough(lists: Sequence[Sequence[float]]) -> None:
    """Raise `InputError` for fewer than 20 lists with two scores or more."""
    if (several := sum(len(scores) > 1 for scores in lists)) < FEWEST_LISTS:
        raise InputError("lists", f"at least {FEWEST_LISTS} with two scores or more, better 200", several)
