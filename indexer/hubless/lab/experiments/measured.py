"""What a comparison holds: the rows of its corrections, and what they were measured on."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from hubless.corrections import Details
from hubless.lab.experiments.distances import Distances
from hubless.lab.experiments.leaks import LEAK
from hubless.lab.experiments.tally import Quality
from hubless.measures import Interval, McNemar, PairedDifference


@dataclass(frozen=True)
class Row:
    """The quality of one correction.

    `quality` is the mean over the splits, if there are several, and `spread` their standard deviation. Intervals are
    over the queries. Of each group of an attribute, `group_spread` is the standard deviation of its share over the
    queries, and `group_histogram` how many queries show 0, 1, … of it. `change` is that of R@1 against the baseline;
    McNemar's test needs that each query is tested once.
    """

    label: str
    name: str
    parameters: dict[str, Any]
    details: Details
    quality: Quality
    spread: Quality | None
    intervals: dict[str, Interval]
    change: PairedDifference | None
    mcnemar: McNemar | None
    group_shares: dict[str, float]
    group_spread: dict[str, float]
    group_histogram: dict[str, list[int]]


@dataclass(frozen=True)
class Measured:
    """What was measured of corrections on the same queries: all that tables and plots show.

    Sizes are those of the first split; `draws` is how often its bank was drawn. `depths` are the k of N_k: measures of
    hubness are of the first, and of the others with a name that ends in `_at_k`.
    """

    protocol: Literal["strict", "query bank", "collection"]
    queries: int
    targets: int
    query_bank: int | None
    target_bank: int | None
    several_relevant: bool
    seeds: list[int]
    draws: int
    depths: list[int]
    baseline: str
    left_out: list[int]
    notes: list[str]
    group_shares: dict[str, float]
    distances: Distances | None
    rows: list[Row]

    @property
    def leaks(self) -> list[str]:
        """Those of the notes that say why the changes look too good."""
        return [note for note in self.notes if LEAK in note]

    def as_json(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        return asdict(self)

    def row(self, label: str) -> Row:
        """The row of this label."""
        return next(row for row in self.rows if row.label == label)
