"""The measures that tables show, and how each is headed and written."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hubless.errors import InputError
from hubless.lab.experiments.measured import Measured

SKEWNESS = "skewness N10"
"""Heading of the measure of hubness that matters most."""
_AT = re.compile(r"(?P<name>.+)_at_(?P<k>\d+)")


@dataclass(frozen=True)
class Column:
    """A measure in a table: how it is headed and written, and whether the highest is the best."""

    heading: str
    scale: float = 1.0
    digits: int = 2
    high_is_best: bool = False


_AT_K = {
    "recall": Column("R@", 100, 1, True),
    "precision": Column("P@", 100, 1, True),
    "mean_average_precision": Column("mAP@", 100, 1, True),
    "ndcg": Column("nDCG@", 100, 1, True),
}
_OF_RANKS = {
    "geometric_mean_recall": Column("geo. mean", 100, 1, True),
    "median_rank": Column("MdR", digits=1),
    "mean_rank": Column("MnR", digits=1),
    "mean_reciprocal_rank": Column("MRR", digits=3, high_is_best=True),
}
_OF_OCCURRENCE = {
    "skewness": Column("skewness"),
    "truncated_skewness": Column("truncated skewness"),
    "kurtosis": Column("kurtosis"),
    "mean_deviation": Column("MAE"),
    "most": Column("max", digits=0),
    "robin_hood": Column("Robin Hood", 100, 1),
    "gini": Column("Gini", digits=3),
    "atkinson": Column("Atkinson", digits=3),
    "antihubs": Column("antihubs", 100, 1),
    "hubs": Column("hubs", 100, 1),
    "groupie_ratio": Column("groupie ratio", 100, 1),
}
MEASURES = (*_AT_K, *_OF_RANKS, *_OF_OCCURRENCE)
"""Names that stand for the measure at every k that was measured."""


def columns(comparison: Measured, measures: Sequence[str] | None = None) -> dict[str, Column]:
    """The columns of a table by the names of their measures.

    Parameters
    ----------
    measures : names as in `quality` of a row, or those of `MEASURES`; None for the usual ones

    Raises
    ------
    InputError
        for a name that was not measured, naming what was.
    """
    known = {name: _column(name, comparison.depths) for name in comparison.rows[0].quality}
    if measures is None:
        chosen = [name for name in known if _base(name) in _usual(comparison)]
        order = _usual(comparison)
        found = {name: known[name] for name in sorted(chosen, key=lambda name: order.index(_base(name)))}
        return found if len(comparison.depths) > 1 else _plain(found)
    shown: dict[str, Column] = {}
    for measure in measures:
        named = [name for name in known if measure in (name, _base(name))]
        if not named:
            raise InputError("measure", f"one of {', '.join(MEASURES)}, or one of them at a k: recall_at_1", measure)
        shown |= {name: known[name] for name in named}
    return shown


def _usual(comparison: Measured) -> list[str]:
    several = ["mean_average_precision", "ndcg"] if comparison.several_relevant else []
    return ["recall", "median_rank", "mean_rank", *several, "skewness", "robin_hood", "antihubs"]


def _plain(found: dict[str, Column]) -> dict[str, Column]:
    """With a single depth, `skewness` says which, and the other headings are shorter."""
    return {
        name: replace(column, heading=_OF_OCCURRENCE[name].heading)
        if name in _OF_OCCURRENCE and name != "skewness"
        else column
        for name, column in found.items()
    }


def _column(name: str, depths: list[int]) -> Column:
    if name in _OF_RANKS:
        return _OF_RANKS[name]
    at = _AT.fullmatch(name)
    if at is not None and at["name"] in _AT_K:
        column = _AT_K[at["name"]]
        return replace(column, heading=f"{column.heading}{at['k']}")
    column = _OF_OCCURRENCE[_base(name)]
    return replace(column, heading=f"{column.heading} N{at['k'] if at is not None else depths[0]}")


def _base(name: str) -> str:
    at = _AT.fullmatch(name)
    return name if at is None else at["name"]
