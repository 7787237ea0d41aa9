"""What a diagnosis holds, and how notebooks show it."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from hubless import measures
from hubless.corrections import Details
from hubless.lab.charts import Chart
from hubless.lab.expected import ExpectedGain
from hubless.lab.experiments import drawing
from hubless.lab.gallery import Named
from hubless.lab.markup import paragraphs, table
from hubless.measures.chance import Chance
from hubless.measures.evenness import ChosenStrength
from hubless.vectors.arrays import F32, I64

MAIN_DEPTH = 10


@dataclass(frozen=True)
class Shape:
    """How uneven the finds are: measures of N_k."""

    skewness: float
    most: int
    antihubs: float
    robin_hood: float
    curve: list[tuple[int, int]]
    """N_k, and how many targets have it, descending."""

    @classmethod
    def of(cls, occurrence: I64) -> "Shape":
        values, targets = np.unique(occurrence, return_counts=True)
        return cls(
            measures.skewness(occurrence),
            int(occurrence.max()),
            measures.antihub_occurrence(occurrence),
            measures.robin_hood(occurrence),
            list(zip(values[::-1].tolist(), targets[::-1].tolist(), strict=True)),
        )


@dataclass(frozen=True)
class Depth:
    """N_k raw, corrected by `auto`, and by chance."""

    k: int
    raw: Shape
    corrected: Shape
    chance: Chance


@dataclass(frozen=True)
class Hub:
    """A target that is found too often, and how often after the correction."""

    target: Named
    raw: int
    corrected: int
    offset: float


@dataclass(frozen=True)
class Effective:
    """Effective bank queries of a target, exp(entropy) of the softmax over the bank, at the temperature of `auto`."""

    temperature: float
    mean: float
    low: float
    """What 5 % of the targets stay below."""
    median: float


@dataclass(frozen=True)
class Bank:
    """Whether the query bank is large and close enough.

    Parameters
    ----------
    among_targets : share of the bank queries that are targets
    coverage : share of the targets that the queries cover (see `hubless.measures.coverage`); None for too few of either
    narrow : what to do if that is too little, or nothing
    unusable : whether its queries are no nearer to targets than random vectors, as those of another model are
    distance : earth mover's distance from bank to targets; None without the extra `lab`
    own_distance : the same between two halves of the bank: what is noise
    """

    queries: int
    repeated: int
    among_targets: float
    effective: Effective
    coverage: float | None
    narrow: list[str]
    unusable: bool
    distance: float | None
    own_distance: float | None


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong, whether the bank is good enough to measure it, and what a correction would bring."""

    targets: int
    dim: int
    metric: str
    held_out: int
    depths: list[Depth]
    hubs: list[Hub]
    never: list[Named]
    bank: Bank
    auto: Details
    expected: ExpectedGain | None
    """What gain to expect; None where the bank holds targets, which says nothing of queries."""
    strength: ChosenStrength | None
    """What live queries say of the offsets of `auto`; None without any."""
    level: str
    verdict: list[str]
    notes: list[str]
    occurrences: dict[str, I64] = field(repr=False)
    """N_10 (n,) raw and corrected."""
    offsets: F32 = field(repr=False)

    def depth(self, k: int) -> Depth:
        """The measures of N_k."""
        return next(depth for depth in self.depths if depth.k == k)

    @property
    def curves(self) -> dict[str, I64]:
        """N_10 (n,) by what a picture calls the ranking."""
        return {"raw": self.occurrences["raw"], "with auto": self.occurrences["corrected"]}

    def plot(self) -> Chart:
        """Draw N_10, raw and with `auto`: how often each target is found, the most found first."""
        return drawing.occurrence(self.curves)

    @property
    def main(self) -> Depth:
        """The measures of N_10, or of the deepest that there is for few targets."""
        return next((depth for depth in self.depths if depth.k == MAIN_DEPTH), self.depths[-1])

    def __repr__(self) -> str:
        return f"<Diagnosis of {self.targets:,} targets with {self.held_out:,} queries, hubness: {self.level}>"

    def _repr_html_(self) -> str:
        """The verdict, the measures of N_10 and the largest hubs: notebooks show them."""
        notes = [f"Note: {note}{'' if note.endswith(('.', '?')) else '.'}" for note in self.notes]
        return f"<div>{paragraphs(self.verdict)}{self._measures()}{self._hubs()}{paragraphs(notes)}</div>"

    def _measures(self) -> str:
        k, raw, corrected, chance = self.main.k, self.main.raw, self.main.corrected, self.main.chance
        lines = [
            [f"skewness of N_{k}", *(f"{shape.skewness:.2f}" for shape in (raw, corrected, chance))],
            ["most often found", *(f"{shape.most:,}" for shape in (raw, corrected, chance))],
            ["never found", *(f"{shape.antihubs:.1%}" for shape in (raw, corrected, chance))],
            ["Robin Hood index", *(f"{shape.robin_hood:.1%}" for shape in (raw, corrected)), "–"],
        ]
        caption = f"{self.held_out:,} held-out queries, {self.targets:,} targets, the first {k} answers"
        return table(["", "raw", "with auto", "by chance"], lines, caption)

    def _hubs(self) -> str:
        lines = [[str(hub.target.id), f"{hub.raw:,}", f"{hub.corrected:,}", f"{hub.offset:+.4f}"] for hub in self.hubs]
        return table(["id", "raw", "with auto", "offset"], lines, "How often the largest hubs are found")

    def as_json(self) -> dict[str, Any]:
        """All of it as plain JSON values, but for the arrays."""
        values = asdict(self)
        return {name: value for name, value in values.items() if name not in ("occurrences", "offsets")}
