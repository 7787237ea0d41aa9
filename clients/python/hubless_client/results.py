"""What the calls answer. Fields that a newer server adds are ignored; a missing one is a `BadAnswer`."""

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hubless_client.errors import ProblemError

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a hit stands where it does.

    Attributes
    ----------
    rank : its rank, from 1
    raw_rank : by similarity alone; None if that is deeper than the server looked
    occurrence, raw_occurrence : in how many of the measuring queries' first ten it stood when the version was built,
        with the correction and without; None if the version does not know
    """

    rank: int
    raw_rank: int | None
    occurrence: int | None
    raw_occurrence: int | None


@dataclass(frozen=True, slots=True)
class Hit:
    """One target that was found.

    Attributes
    ----------
    id : as given when the collection was built
    score : similarity − strength·offset; hits are sorted by it
    similarity : query·target, which is the cosine under metric "cosine"
    offset : the target's hubness in units of similarity, positive = hub
    payload : None unless asked for
    vector : float32, shape (d,), None unless asked for; numpy reads it without copying
    explanation : None unless asked for
    """

    id: str | int
    score: float
    similarity: float
    offset: float
    payload: dict[str, Any] | None = None
    vector: "array[float] | None" = None
    explanation: Explanation | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The hits of one query, best first. Iterating, indexing and len() reach the hits.

    Attributes
    ----------
    hits : at most limit of them, fewer when the collection is smaller
    collection : its name
    version : the version of the collection that answered
    request_id : what the server logged the request under
    corrected : whether a gated correction was switched on for the query; None for the other corrections
    """

    hits: tuple[Hit, ...]
    collection: str
    version: str
    request_id: str | None = None
    corrected: bool | None = None

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, rank: int) -> Hit:
        return self.hits[rank]


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """One `Answer` for each query, in the order of the queries. Iterating, indexing and len() reach them.

    Attributes
    ----------
    answers : m of them
    collection, version, request_id : as in each answer
    """

    answers: tuple[Answer, ...]
    collection: str
    version: str
    request_id: str | None = None

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, query: int) -> Answer:
        return self.answers[query]


@dataclass(frozen=True, slots=True)
class Point:
    """One target, as stored.

    Attributes
    ----------
    id : as given when the collection was built
    offset : the target's hubness in units of similarity, positive = hub
    payload : None when the collection has none
    vector : float32, shape (d,), None unless asked for
    collection, version, request_id : as in `Answer`
    """

    id: str | int
    offset: float
    payload: dict[str, Any] | None
    vector: "array[float] | None"
    collection: str
    version: str
    request_id: str | None = None


class _HasPoints:
    __slots__ = ()
    points: tuple[Point, ...]

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, place: int) -> Point:
        return self.points[place]


@dataclass(frozen=True, slots=True)
class Points(_HasPoints):
    """Several targets. Iterating, indexing and len() reach them.

    Attributes
    ----------
    points : in the order of the ids that were asked for, without those that are missing
    missing : the ids that no target bears
    collection, version, request_id : as in `Answer`
    """

    points: tuple[Point, ...]
    missing: tuple[str | int, ...]
    collection: str
    version: str
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class Page(_HasPoints):
    """Some targets of a scroll. Iterating, indexing and len() reach them.

    Attributes
    ----------
    points : at most limit of them
    cursor : of the next page; None where this is the last
    collection, version, request_id : as in `Answer`
    """

    points: tuple[Point, ...]
    cursor: str | None
    collection: str
    version: str
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection's current version.

    Attributes
    ----------
    count : n, the number of targets
    dim : d, what a query vector must have
    metric : "cosine" or "dot"
    correction, index : what was chosen, with its parameters
    measured : recall, and hubness raw and corrected, as measured when it was built
    id_type : "int64" or "string"
    payload_types : of each payload column the type, by which filters are checked
    text : whether it answers text queries
    versions : the ids of all that are stored, oldest first
    aliases : other names of the collection
    """

    name: str
    version: str
    created: datetime
    count: int
    dim: int
    metric: str
    correction: dict[str, Any]
    index: dict[str, Any]
    measured: dict[str, Any]
    id_type: str
    payload_columns: tuple[str, ...]
    payload_types: dict[str, str]
    text: bool
    versions: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hub:
    """A target that is found often: its decayed count of finds, and its share of the places in the answers."""

    id: str | int
    occurrence: float
    share: float


@dataclass(frozen=True, slots=True)
class RankingHubness:
    """How often targets are found in one ranking of the queries.

    Attributes
    ----------
    queries : how many it is made of, the older ones counting less
    skewness : of the occurrence of all targets
    top_hub_share : share of the places in the answers that the worst hub takes
    antihub_share : share of the targets that are hardly ever found
    hubs : the worst ones
    """

    queries: float
    skewness: float
    top_hub_share: float
    antihub_share: float
    hubs: tuple[Hub, ...]


@dataclass(frozen=True, slots=True)
class Drift:
    """How far the queries are from the query bank, 1 being the border of chance; and of how many that is known."""

    drift: float
    queries: int


@dataclass(frozen=True, slots=True)
class LiveHubness:
    """How often targets are found by the queries that are asked. None for a ranking without queries.

    Attributes
    ----------
    k : places of each answer that count
    half_life : queries after which a find counts half
    window : what `queries` comes to in the long run
    served : every answer, as it was served
    corrected, raw : a share of the queries with the correction and without it; these two can be compared
    drift : None where too few queries were asked, or the server does not look for it
    """

    k: int
    half_life: float
    window: float
    served: RankingHubness | None
    corrected: RankingHubness | None
    raw: RankingHubness | None
    drift: Drift | None
    collection: str
    version: str
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class VersionState:
    """A version of a collection, and what became of it.

    Attributes
    ----------
    created, count : None if its manifest cannot be read
    current : whether it is the one to be served
    state : "served", "refused", "damaged" or "stored"
    detail : why it is refused or damaged
    """

    version: str
    created: datetime | None
    count: int | None
    current: bool
    state: str
    detail: str | None


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of a collection.

    Attributes
    ----------
    name : the alias
    collection : what it stands for
    etag : what `if_match` takes; another one after every change
    """

    name: str
    collection: str
    etag: str


@dataclass(frozen=True, slots=True)
class Health:
    """What a probe found. True where the answer is yes.

    Attributes
    ----------
    ok : alive, or ready
    status : in the server's words
    detail : why not, empty when ok
    collections : what the server says of each collection, by name; only ready() has it
    retry_after : seconds after which the server wants to be asked again
    """

    ok: bool
    status: str
    detail: str = ""
    collections: Mapping[str, Any] | None = None
    retry_after: float | None = None
    request_id: str | None = None

    def __bool__(self) -> bool:
        return self.ok


def answer(body: Json, request_id: str | None) -> Answer:
    """Read the answer to one query."""
    return Answer(_hits(body), body["collection"], body["version"], request_id, body.get("corrected"))


def batch_answer(body: Json, request_id: str | None) -> BatchAnswer:
    """Read the answer to a batch."""
    collection, version = body["collection"], body["version"]
    answers = (
        Answer(_hits(result), collection, version, request_id, result.get("corrected")) for result in body["results"]
    )
    return BatchAnswer(tuple(answers), collection, version, request_id)


def point(body: Json, request_id: str | None) -> Point:
    """Read one target."""
    return _point(body, body, request_id)


def points(body: Json, request_id: str | None) -> Points:
    """Read several targets."""
    found = tuple(_point(each, body, request_id) for each in body["points"])
    return Points(found, tuple(body["missing"]), body["collection"], body["version"], request_id)


def page(body: Json, request_id: str | None) -> Page:
    """Read a page of a scroll."""
    found = tuple(_point(each, body, request_id) for each in body["points"])
    return Page(found, body["cursor"], body["collection"], body["version"], request_id)


def collection_info(body: Json, _request_id: str | None = None) -> CollectionInfo:
    """Read what the server says of one collection."""
    return CollectionInfo(
        name=body["name"],
        version=body["version"],
        created=datetime.fromisoformat(body["created"]),
        count=body["count"],
        dim=body["dim"],
        metric=body["metric"],
        correction=body["correction"],
        index=body["index"],
        measured=body["measured"],
        id_type=body["id_type"],
        payload_columns=tuple(body["payload_columns"]),
        payload_types=body["payload_types"],
        text=body["text"],
        versions=tuple(body.get("versions", ())),
        aliases=tuple(body.get("aliases", ())),
    )


def live_hubness(body: Json, request_id: str | None) -> LiveHubness:
    """Read how hubby the answers are."""
    return LiveHubness(
        k=body["k"],
        half_life=body["half_life"],
        window=body["window"],
        served=_ranking(body["served"]),
        corrected=_ranking(body["corrected"]),
        raw=_ranking(body["raw"]),
        drift=Drift(**body["drift"]) if body.get("drift") else None,
        collection=body["collection"],
        version=body["version"],
        request_id=request_id,
    )


def collection_list(body: Json, _request_id: str | None) -> list[CollectionInfo]:
    """Read the list of collections."""
    return [collection_info(entry) for entry in body["collections"]]


def version_list(body: Json, _request_id: str | None) -> list[VersionState]:
    """Read the versions of a collection."""
    return [
        VersionState(
            version=entry["version"],
            created=entry["created"] and datetime.fromisoformat(entry["created"]),
            count=entry["count"],
            current=entry["current"],
            state=entry["state"],
            detail=entry.get("detail"),
        )
        for entry in body["versions"]
    ]


def alias(body: Json, _request_id: str | None = None) -> Alias:
    """Read an alias."""
    return Alias(body["alias"], body["collection"], body["etag"])


def alias_list(body: Json, _request_id: str | None) -> list[Alias]:
    """Read the list of aliases."""
    return [alias(entry) for entry in body["aliases"]]


def total(body: Json, _request_id: str | None) -> int:
    """Read a count."""
    return int(body["count"])


def health(body: Json, request_id: str | None) -> Health:
    """Read a probe's good news."""
    return Health(True, body["status"], collections=body.get("collections"), request_id=request_id)


def not_ready(error: ProblemError) -> Health:
    """Read a probe's bad news."""
    collections = error.extra.get("collections")
    return Health(False, error.code, error.detail, collections, error.retry_after, error.request_id)


def _ranking(body: Json | None) -> RankingHubness | None:
    if body is None:
        return None
    return RankingHubness(
        queries=body["queries"],
        skewness=body["skewness"],
        top_hub_share=body["top_hub_share"],
        antihub_share=body["antihub_share"],
        hubs=tuple(Hub(hub["id"], hub["occurrence"], hub["share"]) for hub in body["hubs"]),
    )


def _hits(body: Json) -> tuple[Hit, ...]:
    return tuple(
        Hit(
            hit["id"],
            hit["score"],
            hit["similarity"],
            hit["offset"],
            hit.get("payload"),
            _vector(hit.get("vector")),
            _explanation(hit.get("explanation")),
        )
        for hit in body["hits"]
    )


def _point(target: Json, of: Json, request_id: str | None) -> Point:
    return Point(
        id=target["id"],
        offset=target["offset"],
        payload=target.get("payload"),
        vector=_vector(target.get("vector")),
        collection=of["collection"],
        version=of["version"],
        request_id=request_id,
    )


def _explanation(given: Json | None) -> Explanation | None:
    if given is None:
        return None
    return Explanation(given["rank"], given["raw_rank"], given["occurrence"], given["raw_occurrence"])


def _vector(numbers: list[float] | None) -> "array[float] | None":
    return None if numbers is None else array("f", numbers)
