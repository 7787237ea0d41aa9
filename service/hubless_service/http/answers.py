"""The JSON of answers. The code that writes an answer is checked against these types, and the document shows them."""

from typing import Annotated, Any, Literal, NotRequired, TypeAlias

from pydantic import Field, WithJsonSchema
from typing_extensions import TypedDict

from hubless.store.bundle import BankRecord, CorrectionRecord, IndexRecord, Measured

IdJson: TypeAlias = Annotated[int | str, Field(description="A number or a string, as the collection's ids are.")]
PayloadJson: TypeAlias = Annotated[
    dict[str, Any] | None, Field(description="null where the collection has no payload.")
]
VectorJson: TypeAlias = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "null"}],
            "description": "One number a dimension; null for a stored target that has none.",
        }
    ),
]


class Served(TypedDict):
    """The version that answered."""

    collection: str
    version: str


class TargetExtras(TypedDict):
    """What a target is sent with if it is asked for."""

    payload: NotRequired[PayloadJson]
    vector: NotRequired[VectorJson]


class HitExplanation(TypedDict):
    """Why a hit stands where it does."""

    rank: Annotated[int, Field(description="Its rank, from 1.")]
    raw_rank: Annotated[
        int | None,
        Field(
            description="Its rank by similarity alone, among the same targets; null if 1,000 or more come before it."
        ),
    ]
    occurrence: Annotated[
        int | None,
        Field(
            description="In how many of the measuring queries' first ten it stands with the correction at strength 1, "
            "as measured when the version was built; null if that is not stored."
        ),
    ]
    raw_occurrence: Annotated[int | None, Field(description="The same without the correction.")]
    strength: Annotated[float, Field(description="The strength that was applied.")]


class QueryHit(TargetExtras):
    """A target that was found."""

    id: IdJson
    score: Annotated[float, Field(description="similarity − strength · offset")]
    similarity: Annotated[float, Field(description="Inner product with the query; the cosine under metric cosine.")]
    offset: Annotated[float, Field(description="Hubness of the target in units of similarity: positive is a hub.")]
    explanation: NotRequired[Annotated[HitExplanation, Field(description="Only if asked for.")]]


class QueryHits(TypedDict):
    """The hits of one query, best first."""

    hits: list[QueryHit]
    corrected: NotRequired[
        Annotated[bool, Field(description="Of a gated correction only: whether it was switched on for the query.")]
    ]


class QueryAnswer(QueryHits, Served):
    """The hits, and what was searched."""


class BatchAnswer(Served):
    """Hits for each query of the batch, in its order."""

    results: list[QueryHits]


class StoredTarget(TargetExtras):
    """A stored target."""

    id: IdJson
    offset: Annotated[float, Field(description="Its hubness in units of similarity: positive is a hub.")]
    seq: Annotated[
        int,
        Field(description="For If-Match: the number of the last write that changed it, or of the last in its version."),
    ]


class PointAnswer(StoredTarget, Served):
    """One target."""


class PointsAnswer(Served):
    """Several targets, in the order of their ids."""

    points: list[StoredTarget]
    missing: Annotated[list[IdJson], Field(description="Those ids that no target bears.")]


class ScrollAnswer(Served):
    """Some targets, in an order that stays the same as long as the version does."""

    points: list[StoredTarget]
    cursor: Annotated[str | None, Field(description="Of the next page; null where this is the last.")]


class PutAnswer(Served):
    """Result of storing points. It is on the disk, and this worker's next query finds it."""

    seq: Annotated[int, Field(description="The number of the write, one more than that of the write before it.")]
    inserted: Annotated[int, Field(description="How many ids are new.")]
    updated: Annotated[int, Field(description="How many targets were replaced.")]


class DeleteAnswer(Served):
    """Result of deleting points."""

    seq: Annotated[int, Field(description="The number of the write; of the last one if nothing was deleted.")]
    deleted: int


class CountAnswer(Served):
    """How many targets there are, or meet the filter."""

    count: int


class LiveFigures(TypedDict):
    """What the live queries say about the correction."""

    recommended_strength: Annotated[
        float, Field(description="The strength that spreads their answers over the targets most evenly.")
    ]
    queries: Annotated[int, Field(description="How many different ones say so.")]
    state: Annotated[
        Literal["too_few", "few", "enough"], Field(description="Whether there were enough of them to go by.")
    ]


class SampleFigures(TypedDict):
    """Live queries that are kept in files."""

    queries: Annotated[int, Field(description="How many; one that was asked in two periods counts twice.")]
    asked: Annotated[int, Field(description="How often queries were asked since, repeated ones too.")]
    since: Annotated[str, Field(description="When the oldest period began, ISO 8601.")]


class Writes(TypedDict):
    """What was written since the version was built."""

    seq: Annotated[int, Field(description="The number of the last write that is served; 0 if there was none.")]
    log_bytes: Annotated[int, Field(description="The size of the log's files.")]
    added: Annotated[int, Field(description="How many targets stand beside the index, with frozen offsets.")]
    removed: Annotated[int, Field(description="How many targets of the version are gone or were replaced.")]
    frozen_share: Annotated[
        float,
        Field(description="Share of the targets that came after the correction was fitted, and have its offsets."),
    ]


class CollectionAnswer(TypedDict):
    """What a collection is, how it is corrected, and how well that was measured to work."""

    name: str
    version: str
    created: Annotated[str, Field(description="When the version was built, ISO 8601.")]
    count: Annotated[int, Field(description="How many targets it has.")]
    dim: Annotated[int, Field(description="How many dimensions a query vector must have.")]
    metric: Literal["cosine", "dot"]
    correction: CorrectionRecord
    index: IndexRecord
    measured: Annotated[Measured | None, Field(description="null where there was no query bank to measure with.")]
    strength: Annotated[float, Field(description="Strength of a query that gives none.")]
    live: Annotated[LiveFigures | None, Field(description="null before any query, or if it is switched off.")]
    query_sample: Annotated[
        SampleFigures | None, Field(description="null before any query is kept, or if it is switched off.")
    ]
    bank: Annotated[BankRecord | None, Field(description="What was seen of the query bank; null without one.")]
    id_type: Literal["int64", "string"]
    payload: Annotated[
        Literal["columns", "json"] | None,
        Field(description="columns: each has a type. json: objects with any keys. null: there is no payload."),
    ]
    payload_columns: list[str]
    payload_types: Annotated[
        dict[str, str], Field(description="Arrow's name of each column's type, by which filters are checked.")
    ]
    text: Annotated[bool, Field(description="Whether it can be asked with a text.")]
    writes: Writes
    versions: Annotated[list[str], Field(description="The ids of all versions that are stored, oldest first.")]
    aliases: Annotated[list[str], Field(description="Other names that stand for it.")]


class DeletedCollectionAnswer(TypedDict):
    """The collection is gone."""

    collection: str
    deleted: bool


class CollectionsAnswer(TypedDict):
    """All collections that are served."""

    collections: list[CollectionAnswer]


class FrequentTarget(TypedDict):
    """A target that is found often."""

    id: IdJson
    occurrence: Annotated[int, Field(description="How often it was found.")]
    share: Annotated[float, Field(description="Of the places in the answers, how many it takes.")]


class HubnessByChance(TypedDict):
    """The values that chance alone would give."""

    skewness: float
    antihub_share: float


class RankingHubness(TypedDict):
    """How often targets are found in one ranking of the queries."""

    queries: Annotated[int, Field(description="How many queries it is made of.")]
    skewness: Annotated[float, Field(description="Of the occurrence of all targets; near 0 without hubs.")]
    top_hub_share: Annotated[float, Field(description="Share of the places that the worst hub takes.")]
    antihub_share: Annotated[float, Field(description="Share of the targets that are never found.")]
    chance: Annotated[HubnessByChance, Field(description="The same if as many queries found random targets.")]
    hubs: Annotated[list[FrequentTarget], Field(description="The ten that are found most often.")]


class DriftFigures(TypedDict):
    """How far the queries are from the query bank."""

    drift: Annotated[
        float, Field(description="0 is not at all, 1 the border of what chance would give in 1 % of the cases.")
    ]
    queries: Annotated[int, Field(description="Different queries of which this is known.")]
    advice: Annotated[str | None, Field(description="What to do if the queries have left the bank; null if not.")]


class HubnessAnswer(Served):
    """How often targets are found by the queries that are asked; null for a ranking that has none."""

    k: Annotated[int, Field(description="Places of each answer that count.")]
    window: Annotated[int, Field(description="The last queries that count, at most.")]
    seen: Annotated[int, Field(description="Queries that this worker has answered since it serves the version.")]
    served: Annotated[RankingHubness | None, Field(description="The last answers of this worker.")]
    corrected: Annotated[
        RankingHubness | None, Field(description="A share of the queries, as served: to compare with raw.")
    ]
    raw: Annotated[RankingHubness | None, Field(description="The same queries without the correction.")]
    drift: Annotated[DriftFigures | None, Field(description="null where too few queries were asked, or it is off.")]


class VersionState(TypedDict):
    """A version of a collection, and what became of it."""

    version: str
    created: Annotated[
        str | None, Field(description="When it was built, ISO 8601; null if its manifest cannot be read.")
    ]
    count: Annotated[int | None, Field(description="How many targets it has; null likewise.")]
    current: Annotated[bool, Field(description="Whether it is the one to be served.")]
    state: Annotated[
        Literal["served", "refused", "damaged", "stored"],
        Field(
            description="served: it answers queries. refused: it was to be served, and cannot be. damaged: its "
            "manifest cannot be read. stored: none of these."
        ),
    ]
    detail: Annotated[str | None, Field(description="Why it is refused or damaged.")]


class VersionsAnswer(TypedDict):
    """All versions of a collection, oldest first."""

    versions: list[VersionState]
    collection: str


class AliasAnswer(TypedDict):
    """Another name of a collection."""

    alias: str
    collection: str
    etag: Annotated[str, Field(description="What If-Match takes: changes whenever the alias does.")]


class AliasesAnswer(TypedDict):
    """All aliases of collections that may be seen."""

    aliases: list[AliasAnswer]


class AliveAnswer(TypedDict):
    """The process answers."""

    status: Literal["ok"]


class StoreAnswer(TypedDict):
    """How the object storage with the catalog is. What is here is served whatever it says."""

    address: str
    synced: Annotated[str | None, Field(description="When all that is there was brought here, in ISO 8601.")]
    trouble: Annotated[str | None, Field(description="Why something could not be; null if all was.")]


class ReadyAnswer(TypedDict):
    """The server answers queries."""

    status: Literal["ready"]
    store: NotRequired[
        Annotated[StoreAnswer, Field(description="Of a catalog in object storage; left out as `collections` are.")]
    ]
    note: NotRequired[Annotated[str, Field(description="Says that the catalog is empty, and what to do.")]]
    collections: NotRequired[
        Annotated[
            dict[str, dict[str, Any]],
            Field(
                description="Each collection's state; one that failed says why, and `log` why its writes cannot be "
                "followed. Left out where a key is needed to see them."
            ),
        ]
    ]


class ProblemAnswer(TypedDict):
    """An error, RFC 9457."""

    type: str
    title: str
    status: int
    detail: Annotated[str, Field(description="What was wrong, for people.")]
    code: Annotated[str, Field(description="What was wrong, for programs: stable.")]
    request_id: Annotated[str, Field(description="As in the header X-Request-ID and in the server's log.")]
    parameter: NotRequired[Annotated[str, Field(description="The field that was wrong.")]]
    expected: NotRequired[str]
    received: NotRequired[str]


ANSWERS = (
    QueryAnswer,
    BatchAnswer,
    CollectionAnswer,
    CollectionsAnswer,
    DeletedCollectionAnswer,
    HubnessAnswer,
    PointAnswer,
    PointsAnswer,
    ScrollAnswer,
    CountAnswer,
    PutAnswer,
    DeleteAnswer,
    VersionsAnswer,
    AliasAnswer,
    AliasesAnswer,
    AliveAnswer,
    ReadyAnswer,
    ProblemAnswer,
)
