"""What a scan finds, and the words for it."""

from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from hubless.lab.gallery import Named
from hubless.lab.scan.sightings import DEPTHS
from hubless.store.kept_scan import KeptFinding, KeptScan

CENTRAL = 4.0
"""So many deviations above the median, a target is nearer to the centroid of all than targets are."""


@dataclass(frozen=True)
class Topic:
    """The cluster of queries in which a target is seen most: by which share of them, among the first k."""

    queries: int
    k: int
    rate: float
    example: int
    """The row of one of these queries, the nearest to their centre."""


@dataclass(frozen=True)
class Evidence:
    """What is known of a target.

    Parameters
    ----------
    score : 0 is no more often than by chance, 1 is first for every query, or for every query of a topic
    overall : the same over all queries alone
    counts : N_k by k
    log10_tail : log10 of the probability of as high counts by chance
    topic : where it is seen most; None if no topic is large enough
    entropy : bits, of the topics of the queries that see it; low is a hub for one topic
    centrality : deviations above the median of the cosine with the centroid of the targets
    stability : share of the queries with it among their first 10 that keep it with noise on the query; None if there
        are none
    offset_percentile : share of the targets whose offset is lower
    near_duplicates : rows of the targets that are almost the same; they are counted as one
    exposure : mean of 1/log2(1 + rank) over the queries, raw and corrected
    """

    score: float
    overall: float
    counts: dict[int, int]
    log10_tail: float
    topic: Topic | None
    entropy: float
    centrality: float
    stability: float | None
    offset: float
    offset_percentile: float
    near_duplicates: list[int]
    exposure: dict[str, float]


@dataclass(frozen=True)
class Finding:
    """A target on the list, its place counted from 1, and why it stands there.

    `above` is of new items only: the share of the targets already there whose score is lower. `modality` is the value
    of the payload column by which targets were looked at apart.
    """

    place: int
    target: Named
    why: str
    measured: Evidence
    above: float | None = None
    modality: str | None = None

    def kept(self) -> KeptFinding:
        """What a service shows of it."""
        return KeptFinding(
            place=self.place,
            id=self.target.id,
            score=self.measured.score,
            why=self.why,
            occurrence=self.measured.counts[10],
            stability=self.measured.stability,
            copies=len(self.measured.near_duplicates),
        )

    def as_json(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        measured = asdict(self.measured)
        measured["counts"] = {str(k): count for k, count in self.measured.counts.items()}
        return {
            "place": self.place,
            "target": asdict(self.target),
            "why": self.why,
            "above": self.above,
            "modality": self.modality,
        } | measured


@dataclass(frozen=True)
class Scan:
    """The list, of at most so many as were asked for, and what it was made from."""

    targets: int
    queries: int
    topics: list[int]
    correction: str
    admitted: int | None
    modalities: dict[str, int]
    """How many targets each modality has, where they were looked at apart."""
    threshold: float | None
    alerts: int
    """How many targets, on the list or not, reach the threshold."""
    expected: dict[str, float]
    """N_k that chance would give, by k."""
    findings: list[Finding]
    notes: list[str]

    def kept(self, version: str) -> KeptScan:
        """What a service shows of it.

        Parameters
        ----------
        version : whose targets were scanned
        """
        return KeptScan(
            version=version,
            made=datetime.now(UTC).isoformat(timespec="seconds"),
            queries=self.queries,
            threshold=self.threshold,
            alerts=self.alerts,
            notes=self.notes,
            findings=[finding.kept() for finding in self.findings],
        )

    def as_json(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        return asdict(replace(self, findings=[])) | {"findings": [finding.as_json() for finding in self.findings]}


def why(measured: Evidence, expected: dict[int, float]) -> str:
    """Why it stands on the list.

    Parameters
    ----------
    expected : N_k by chance, by k
    """
    topic = measured.topic
    said = []
    if topic is not None and measured.score > measured.overall:
        said.append(f"among the first {topic.k} of {topic.rate:.0%} of the {topic.queries} queries of a topic")
    k = max(DEPTHS, key=lambda depth: measured.counts[depth] / max(expected[depth], 1e-9))
    if measured.counts[k] > 2 * expected[k]:
        said.append(f"among the first {k} of {measured.counts[k]:,} queries, {expected[k]:.3g} by chance")
        if measured.stability is not None:
            said.append(f"{measured.stability:.0%} of these queries keep it with noise on them")
    if measured.centrality >= CENTRAL:
        said.append("at the centre of the targets, as none is by nature")
    if measured.near_duplicates:
        said.append(f"{len(measured.near_duplicates)} near-duplicates")
    return "; ".join(said) or "nothing stands out"
