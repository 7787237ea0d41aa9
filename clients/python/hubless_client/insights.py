"""Occurrence of targets among bank queries, their projection, and the rights of a key."""

from array import array
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from hubless_client.call import Call, Content, Json, Timeout
from hubless_client.paths import ACCESS, in_collection, of_bank_query, text_of_id
from hubless_client.records import Record, read
from hubless_client.sending import ClientMethod


@dataclass(frozen=True, slots=True)
class AccessInfo(Record):
    """The rights of the client's key.

    Attributes
    ----------
    keys : whether the server has API keys
    role : "read", "write" or "admin"; "admin" if the server has no keys
    collections : to which collections the key is limited; None for no limit
    bank_queries : whether it may read stored bank queries
    """

    keys: bool
    role: str
    collections: tuple[str, ...] | None
    bank_queries: bool


@dataclass(frozen=True, slots=True)
class BankQuery(Record):
    """One of the bank queries that a version stores.

    Attributes
    ----------
    number, stored : it counts from 0, and so many are stored
    vector : float32, shape (d,); numpy reads it without copying
    """

    number: int
    stored: int
    vector: "array[float]"
    collection: str
    version: str
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class HubOccurrence:
    """A target that many bank queries find: its offset, and N_10 raw and corrected."""

    id: str | int
    offset: float
    raw: int
    corrected: int


@dataclass(frozen=True, slots=True)
class RankingOccurrence:
    """Counts of how often bank queries find the targets, in one ranking.

    Attributes
    ----------
    skewness : of N_10 over all targets; near 0 without hubs
    most : N_10 of the largest hub
    antihub_share : share of the targets that no query finds
    histogram : the number of targets by N_10
    hubs : the targets that are found most often
    """

    skewness: float
    most: int
    antihub_share: float
    histogram: dict[int, int]
    hubs: tuple[HubOccurrence, ...]

    @classmethod
    def from_json(cls, body: Json, _request_id: str | None = None) -> Self:
        """Read it: the histogram comes as a list."""
        return read(cls, {**body, "histogram": {each["occurrence"]: each["targets"] for each in body["histogram"]}})


@dataclass(frozen=True, slots=True)
class OccurrenceByChance:
    """Skewness, largest N_10 and share of targets never found if as many queries found random targets."""

    skewness: float
    most: int
    antihub_share: float


@dataclass(frozen=True, slots=True)
class NeverFound:
    """The number of targets that no query finds: raw, corrected, in both rankings; and some ids of the latter."""

    raw: int
    corrected: int
    both: int
    ids: tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence(Record):
    """Counts of how often bank queries find each target of a version as it was built.

    Attributes
    ----------
    k : how many places of each answer count
    queries : the number of queries that were counted
    held_out : whether the measured offsets have not seen these queries
    source : "build" if the build counted, "sample" if the server did; None if nobody counted
    raw, corrected, chance, never : None if nobody counted. Few queries leave many targets unfound: compare with chance
    """

    k: int
    queries: int
    held_out: bool
    source: str | None
    raw: RankingOccurrence | None
    corrected: RankingOccurrence | None
    chance: OccurrenceByChance | None
    never: NeverFound | None
    collection: str
    version: str
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A bank query that finds a target: its number, the target's rank, and what it finds first when corrected."""

    query: int
    rank: int
    first: str | int


@dataclass(frozen=True, slots=True)
class Findings(Record):
    """Stored bank queries that find a target among their first ten, raw and corrected."""

    id: str | int
    queries: int
    raw: tuple[Finding, ...]
    corrected: tuple[Finding, ...]
    collection: str
    version: str
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class KeptFinding:
    """A target that may be a planted hub.

    Attributes
    ----------
    place : on the list, from 1
    score : 0 is chance; 1 is first for every query, or for every query of a topic
    occurrence : N_10 over the queries of the scan
    stability : share of the queries that keep it with noise on them; None if no query finds it
    copies : how many near-duplicates are counted with it
    """

    place: int
    id: str | int
    score: float
    why: str
    occurrence: int
    stability: float | None
    copies: int


@dataclass(frozen=True, slots=True)
class KeptScan:
    """The last scan for planted hubs that was kept.

    Attributes
    ----------
    version : whose targets were scanned
    queries : how many queries it went by
    threshold, alerts : the score from which a target is an alert, and how many targets reach it
    """

    version: str
    made: datetime
    queries: int
    threshold: float | None
    alerts: int
    notes: tuple[str, ...]
    findings: tuple[KeptFinding, ...]

    @classmethod
    def from_json(cls, body: Json, _request_id: str | None) -> Self | None:
        """Read the answer. None if no scan was kept."""
        return None if body["scan"] is None else read(cls, body["scan"])


@dataclass(frozen=True, slots=True)
class ProjectedTarget:
    """A target on the plane.

    Attributes
    ----------
    raw, corrected : N_10; None if nobody counted
    value : of the payload column that you asked for
    """

    id: str | int
    x: float
    y: float
    offset: float
    raw: int | None
    corrected: int | None
    value: Any


@dataclass(frozen=True, slots=True)
class ProjectionInfo:
    """A flat picture of a version as it was built, always with the largest hubs.

    Attributes
    ----------
    count : how many targets the version has; at most 5,000 are drawn
    method : "pca" for principal components, or "umap"
    explained : share of the variance along x and along y; None for UMAP
    targets : a sample of the targets
    queries : x and y of the stored bank queries, in the order of their numbers
    """

    count: int
    method: str
    explained: tuple[float, ...] | None
    targets: tuple[ProjectedTarget, ...]
    queries: tuple[tuple[float, float], ...]
    collection: str
    version: str
    request_id: str | None = None

    @classmethod
    def from_json(cls, body: Json, request_id: str | None) -> Self:
        """Read the answer, which has its targets by column."""
        drawn = body["targets"]
        nothing = [None] * len(drawn["id"])
        always = (drawn[name] for name in ("id", "x", "y", "offset"))
        sometimes = (drawn[name] or nothing for name in ("raw", "corrected", "value"))
        return cls(
            count=body["count"],
            method=body["method"],
            explained=None if body["explained"] is None else tuple(body["explained"]),
            targets=tuple(ProjectedTarget(*row) for row in zip(*always, *sometimes, strict=True)),
            queries=tuple(zip(body["queries"]["x"], body["queries"]["y"], strict=True)),
            collection=body["collection"],
            version=body["version"],
            request_id=request_id,
        )


class InsightMethods:
    """Methods that show the measurements of a version, and its map."""

    @ClientMethod
    def access(self, *, request_id: str | None = None, timeout: Timeout | None = None) -> Call[AccessInfo]:
        """The rights of the client's key."""
        return Call("GET", ACCESS, AccessInfo.from_json, request_id=request_id, timeout=timeout)

    @ClientMethod
    def occurrence(
        self,
        collection: str,
        *,
        limit: int | None = None,
        request_id: str | None = None,
        timeout: Timeout | None = None,
    ) -> Call[Occurrence]:
        """Return how often bank queries find each target, raw and corrected; the hubs, and targets never found.

        Parameters
        ----------
        limit : how many hubs of each ranking, and how many ids never found; 20 if None
        request_id, timeout : as in every call
        """
        content = Content({} if limit is None else {"limit": limit})
        path = in_collection(collection, "occurrence")
        return Call("GET", path, Occurrence.from_json, content, request_id=request_id, timeout=timeout)

    @ClientMethod
    def findings(
        self, collection: str, id: str | int, *, request_id: str | None = None, timeout: Timeout | None = None
    ) -> Call[Findings]:
        """Which bank queries find a target among their first ten. The first call for a version takes longest."""
        content = Content({"id": text_of_id(id)})
        path = in_collection(collection, "occurrence", "queries")
        return Call("GET", path, Findings.from_json, content, request_id=request_id, timeout=timeout)

    @ClientMethod
    def kept_scan(
        self, collection: str, *, request_id: str | None = None, timeout: Timeout | None = None
    ) -> Call[KeptScan | None]:
        """The list that `hubless scan --set keep=true` kept last, of whichever version. None if none was kept."""
        path = in_collection(collection, "scan")
        return Call("GET", path, KeptScan.from_json, request_id=request_id, timeout=timeout)

    @ClientMethod
    def projection(
        self,
        collection: str,
        *,
        column: str | None = None,
        request_id: str | None = None,
        timeout: Timeout | None = None,
    ) -> Call[ProjectionInfo]:
        """Where targets and bank queries lie on a plane.

        Parameters
        ----------
        column : a payload column whose values are sent, too
        request_id, timeout : as in every call
        """
        content = Content({} if column is None else {"column": column})
        path = in_collection(collection, "projection")
        return Call("GET", path, ProjectionInfo.from_json, content, request_id=request_id, timeout=timeout)

    @ClientMethod
    def bank_query(
        self, collection: str, number: int, *, request_id: str | None = None, timeout: Timeout | None = None
    ) -> Call[BankQuery]:
        """One of the stored bank queries. They count from 0."""
        path = of_bank_query(collection, number)
        return Call("GET", path, BankQuery.from_json, request_id=request_id, timeout=timeout)
