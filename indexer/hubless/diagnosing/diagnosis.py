"""The result of a diagnosis: its measures, and its tables for notebooks."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar

import hubless
from hubless import measures
from hubless.corrections import Details
from hubless.diagnosing.gallery import NamedTarget
from hubless.diagnosing.held_out import Outlook
from hubless.diagnosing.labelled_gain import LabelledGain
from hubless.diagnosing.symptoms import Symptom
from hubless.diagnosing.table import TextTable
from hubless.measures.bank_record import BankRecord
from hubless.measures.chance import Chance
from hubless.measures.evenness import ChosenStrength
from hubless.search.pages import render
from hubless.vectors.arrays import F32, I64

DEPTHS = (1, 10, 20)
MAIN = slice(2)
"""The last of these depths is shown first: N_10, or the deepest that there is for few targets."""
CLEAR, SEVERE = 1.4, 4.0
"""Levels of skewness beyond that of chance."""
HIDDEN = 0.1
"""Share of the targets never found, beyond that of chance, from which on there is hubness."""


@dataclass(frozen=True)
class Shape:
    """Measures of N_k: how uneven the finds are."""

    skewness: float
    most: int
    antihubs: float
    robin_hood: float

    @classmethod
    def of(cls, occurrence: I64) -> "Shape":
        """Measure N_k (n,)."""
        return cls(
            measures.skewness(occurrence),
            int(occurrence.max()),
            measures.antihub_occurrence(occurrence),
            measures.robin_hood(occurrence),
        )


def level_of(raw: Shape, chance: Chance) -> str:
    """Return how much hubness there is beyond chance: none, mild, clear or severe."""
    beyond = raw.skewness - chance.skewness
    even = raw.most <= 2 * chance.most
    if (beyond < CLEAR / 2 or even) and raw.antihubs - chance.antihubs <= HIDDEN:
        return "none"
    return "mild" if beyond < CLEAR else "clear" if beyond < SEVERE else "severe"


def lines_of_depth(k: int, *shapes: Shape | Chance) -> list[list[str]]:
    """Return a line a measure of N_k, with a cell for each of some shapes; chance has no Robin Hood index."""
    robin_hood = [f"{100 * shape.robin_hood:.1f} %" if isinstance(shape, Shape) else "–" for shape in shapes]
    return [
        [f"skewness of N_{k}", *(f"{shape.skewness:.2f}" for shape in shapes)],
        [f"most found, N_{k}", *(f"{shape.most:,}" for shape in shapes)],
        [f"never found, N_{k}", *(f"{100 * shape.antihubs:.1f} %" for shape in shapes)],
        [f"Robin Hood, N_{k}", *robin_hood],
    ]


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

    target: NamedTarget
    raw: int
    corrected: int
    offset: float


class Uneven:
    """Measures of N_k: the `depths`, whose fields are k and the shapes of some `sides` and of chance."""

    depths: Sequence[Any]
    sides: ClassVar[tuple[str, ...]]

    @property
    def caption(self) -> str:
        """Who asks, and how many."""
        raise NotImplementedError

    @property
    def main(self) -> Any:
        """The measures of N_10, or of the deepest that there is for few targets."""
        return self.depths[MAIN][-1]

    def plot(self: Any) -> Any:
        """Draw N_10: how often each target is found, the most found first.

        The lab draws it as a `Chart`. Raises `HublessError` if hubless-lab is not installed.
        """
        return hubless.plot_occurrence(self)

    def as_json(self: Any) -> dict[str, Any]:
        """Return all fields but arrays."""
        values = asdict(self)
        return {each.name: values[each.name] for each in fields(self) if each.repr}

    def uneven(self, *, whole: bool = True) -> TextTable:
        """Return the measures of each depth, or of the main one."""
        shown = self.depths if whole else [self.main]
        lines = [line for depth in shown for line in lines_of_depth(*vars(depth).values())]
        return TextTable(["", *self.sides, "chance"], lines, self.caption)


@dataclass(frozen=True, kw_only=True)
class Diagnosis(Uneven):
    """A measure of hubness, of the bank that it was measured with, and of what there is to gain."""

    sides = "raw", "auto"
    targets: int
    dim: int
    metric: str
    held_out: int
    depths: list[Depth]
    hubs: list[Hub]
    never: list[NamedTarget]
    bank: BankRecord
    auto: Details
    outlook: Outlook
    """What `auto` may gain, without labels: nothing, some, much, or unknown."""
    changed: float
    """Share of the held-out queries whose first answer `auto` changes."""
    given_up: float
    """Mean similarity that their first answers give up, in standard deviations of ranks 2 to 11."""
    gain: LabelledGain | None
    """What labels say; None without 50."""
    strength: ChosenStrength | None
    """The strength that live queries choose for the offsets of `auto`; None without any."""
    level: str
    reciprocity: tuple[float, float]
    """Share of the held-out queries that are the nearest query of their first target, raw and corrected."""
    symptoms: list[Symptom]
    """What speaks for broken vectors, which no correction mends."""
    verdict: list[str]
    notes: list[str]
    occurrences: dict[str, I64] = field(repr=False)
    """N_10 (n,) raw and corrected."""
    offsets: F32 = field(repr=False)

    def depth(self, k: int) -> Depth:
        return next(depth for depth in self.depths if depth.k == k)

    @property
    def caption(self) -> str:
        return f"{self.held_out:,} held-out queries, {self.targets:,} targets"

    def __repr__(self) -> str:
        return f"<Diagnosis of {self.targets:,} targets with {self.held_out:,} queries, hubness: {self.level}>"

    def _repr_html_(self) -> str:
        lines = [[str(hub.target.id), f"{hub.raw:,}", f"{hub.corrected:,}", f"{hub.offset:+.4f}"] for hub in self.hubs]
        hubs = TextTable(["id", "raw", "auto", "offset"], lines, "How often the largest hubs are found")
        notes = [f"Note: {note}{'' if note.endswith(('.', '?')) else '.'}" for note in self.notes]
        tables = [self.uneven(whole=False), hubs]
        return render("notebook.html", sentences=self.verdict, tables=tables, notes=notes)
