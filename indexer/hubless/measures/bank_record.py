"""The measurements of a query bank before it is used."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, kw_only=True)
class BankRecord:
    """Measurements of the query bank before it was used, on samples of it and of the targets.

    Attributes
    ----------
    repeated : share of the queries that repeat others
    distinct : how many are different, or of another group; the correction was fitted on these. None in older versions
    queries : how many were asked, copies and all
    among_targets : share of the different queries that are targets
    apart_from_targets : how well bank and targets are told apart, as AUC, 0.5 for one cloud; None for too few
    related_to_targets : how much nearer than strangers the queries are to targets, as AUC; None where that says nothing
    relative_length : median length of bank queries over that of targets, unless the metric is "cosine"
    coverage : share of the targets that the queries cover (see `hubless.measures.coverage`); None for too few of
        either
    held_back : ids of targets whose offset stood alone with this bank, and is held back; at most 100
    """

    queries: int
    repeated: float
    distinct: int | None = None
    among_targets: float
    apart_from_targets: float | None
    related_to_targets: float | None
    relative_length: float | None
    coverage: float | None = None
    held_back: tuple[int | str, ...] = ()
    __pydantic_config__: ClassVar = {"extra": "forbid"}
