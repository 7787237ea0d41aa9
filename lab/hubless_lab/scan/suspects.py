"""The list of a scan: suspects, and the evidence against each in numbers and words."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from hubless.diagnosing.gallery import NamedTarget
from hubless.search.pages import render
from hubless.store.kept_scan import KeptFinding, KeptScan
from hubless_lab.scan.sightings import SCAN_DEPTHS

CENTRAL = 4.0
"""Deviations above the median from which a target is nearer to the centroid of all than targets are by nature."""


EVERYWHERE = 0.5
"""Overall score from which a target answers all queries alike, as a text does that fits every image."""
Kind = Literal["everywhere", "topic", "central", "none"]
"""Found by all queries alike, by those of a topic, or only at the centre of the targets. A caption that fits all images
(Deguchi et al., "One Single Hub Text Breaks CLIP", ACL 2026) is found everywhere, with images as queries."""


@dataclass(frozen=True)
class Topic:
    """The cluster of queries in which a target is seen most: by which share of them, among the first k."""

    queries: int
    k: int
    rate: float
    example: int
    """The row of one of these queries, the nearest to their centre."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Measures of a target.

    `score` is 0 at chance, and 1 if it is first for every query, or for every one of a topic. `centrality` counts
    deviations of the cosine with the centroid above the median. `stability` is the share of the queries that keep it
    with noise on them.
    """

    score: float
    overall: float
    counts: dict[int, int]
    topic: Topic | None
    centrality: float
    stability: float | None
    offset: float
    offset_percentile: float
    near_duplicates: list[int]


@dataclass(frozen=True)
class Suspect:
    """A target on the list, and why. `above` is of new items only: the share of targets with a lower score."""

    place: int
    target: NamedTarget
    why: str
    measured: Evidence
    above: float | None = None

    @property
    def kind(self) -> Kind:
        """The shape of what was planted, if it was: see `Kind`."""
        found = self.measured
        if found.overall >= EVERYWHERE:
            return "everywhere"
        if found.topic is not None and found.score > found.overall:
            return "topic"
        return "central" if found.centrality >= CENTRAL else "none"

    def as_json(self) -> dict[str, Any]:
        values = asdict(self)
        measured: dict[str, Any] = values.pop("measured")
        counts = {str(k): count for k, count in self.measured.counts.items()}
        return values | measured | {"kind": self.kind, "counts": counts}


@dataclass(frozen=True, kw_only=True)
class Scan:
    """The list, of at most so many as were asked for, and what it was made from."""

    targets: int
    queries: int
    topics: list[int]
    correction: str
    admitted: int | None
    threshold: float | None
    alerts: int
    """Number of targets, on the list or not, that reach the threshold."""
    expected: dict[str, float]
    """N_k that chance would give, by k."""
    findings: list[Suspect]
    notes: list[str]

    def kept(self, version: str) -> KeptScan:
        """Return the part that a service shows, for the version whose targets were scanned."""
        kept = [
            KeptFinding(
                place=suspect.place,
                id=suspect.target.id,
                score=suspect.measured.score,
                why=suspect.why,
                occurrence=suspect.measured.counts[10],
                stability=suspect.measured.stability,
                copies=len(suspect.measured.near_duplicates),
            )
            for suspect in self.findings
        ]
        return KeptScan(
            version=version,
            made=datetime.now(UTC).isoformat(timespec="seconds"),
            queries=self.queries,
            threshold=self.threshold,
            alerts=self.alerts,
            notes=self.notes,
            findings=kept,
        )

    def as_json(self) -> dict[str, Any]:
        return vars(self) | {"findings": [suspect.as_json() for suspect in self.findings]}


def why(measured: Evidence, expected: dict[int, float]) -> str:
    """Return why a target stands on the list, beside N_k by chance."""
    k = max(SCAN_DEPTHS, key=lambda depth: measured.counts[depth] / max(expected[depth], 1e-9))
    said = render("why.txt", "hubless_lab", measured=measured, expected=expected, k=k, central=CENTRAL)
    return "; ".join(said.splitlines()) or "nothing stands out"
