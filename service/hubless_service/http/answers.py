"""The JSON of answers: the code that writes one is checked against these types, and the contract shows them."""

from typing import Annotated, Any, Literal, NotRequired, TypeAlias

from pydantic import BaseModel, Field, WithJsonSchema
from typing_extensions import TypedDict

from hubless.store.bundle import BankRecord, ConfidenceRecord, CorrectionRecord, IndexRecord, Measured
from hubless.store.kept_scan import KeptScan
from hubless.vectors.comparing import Metric
from hubless_service.http.values import IdJson


def about(description: str) -> Any:
    """Describe a member of an answer."""
    return Field(description=description)


PayloadJson: TypeAlias = Annotated[dict[str, Any] | None, about("null where the collection has no payload.")]
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
    """The extras of a target, if they are asked for."""

    payload: NotRequired[PayloadJson]
    vector: NotRequired[VectorJson]


class HitExplanation(TypedDict):
    """Why a hit stands where it does."""

    rank: Annotated[int, about("Its rank, from 1.")]
    raw_rank: Annotated[int | None, about("Its rank by similarity alone; null if 1,000 or more come before it.")]
    occurrence: Annotated[int | None, about("N_10 at strength 1, as measured by the build; null if not stored.")]
    raw_occurrence: Annotated[int | None, about("The same without the correction.")]
    strength: Annotated[float, about("The strength that was applied.")]


class QueryHit(TargetExtras):
    """A target that was found."""

    id: IdJson
    score: Annotated[float, about("similarity − strength · offset")]
    similarity: Annotated[
        float, about("Inner product with the query, the cosine under metric cosine, −½|q − t|² under metric euclidean.")
    ]
    offset: Annotated[float, about("Hubness of the target in units of similarity: positive is a hub.")]
    explanation: NotRequired[Annotated[HitExplanation, about("Only if asked for.")]]
    share: NotRequired[Annotated[float, about("Its part of the confidence, all for the best hit. Only with a model.")]]


class QueryHits(TypedDict):
    """The hits of one query, best first."""

    hits: list[QueryHit]
    corrected: NotRequired[Annotated[bool, about("Of a gated correction: whether it was switched on for the query.")]]
    confidence: NotRequired[Annotated[float, about("How likely the best hit is right, 0 to 1. Only with a model.")]]
    presence: NotRequired[Annotated[float, about("How likely a right target was among those searched. Likewise.")]]
    calibrated: NotRequired[Annotated[bool, about("Whether these are probabilities, and not only an order. Likewise.")]]
    answered: NotRequired[
        Annotated[bool, about("false if min_confidence, min_presence or min_accuracy left out all hits. Likewise.")]
    ]


class QueryAnswer(QueryHits, Served):
    """The hits, and what was searched."""


class BatchAnswer(Served):
    """Hits for each query of the batch, in its order."""

    results: list[QueryHits]


class StoredTarget(TargetExtras):
    """A stored target."""

    id: IdJson
    offset: Annotated[float, about("Its hubness in units of similarity: positive is a hub.")]
    seq: Annotated[int, about("For If-Match: the last write that changed it, or the last in its version.")]


class PointAnswer(StoredTarget, Served):
    """One target."""


class PointsAnswer(Served):
    """Several targets, in the order of their ids."""

    points: list[StoredTarget]
    missing: Annotated[list[IdJson], about("Those ids that no target bears.")]


class ScrollAnswer(Served):
    """Some targets, in an order that stays the same as long as the version does."""

    points: list[StoredTarget]
    cursor: Annotated[str | None, about("Of the next page; null where this is the last.")]


class PutAnswer(Served):
    """Result of storing points. It is on the disk, and this worker's next query finds it."""

    seq: Annotated[int, about("The number of the write, one more than that of the write before it.")]
    inserted: Annotated[int, about("How many ids are new.")]
    updated: Annotated[int, about("How many targets were replaced.")]


class DeleteAnswer(Served):
    """Result of deleting points."""

    seq: Annotated[int, about("The number of the write; of the last one if nothing was deleted.")]
    deleted: int


class CountAnswer(Served):
    """The number of targets, or of those that meet the filter."""

    count: int


class LiveFigures(TypedDict):
    """The strength that live queries recommend."""

    recommended_strength: Annotated[float, about("The strength that spreads their answers most evenly.")]
    queries: Annotated[int, about("How many different ones say so.")]
    state: Annotated[Literal["too_few", "few", "enough"], about("Whether there were enough of them to go by.")]


class SampleFigures(TypedDict):
    """Live queries that are kept in files."""

    queries: Annotated[int, about("How many; one that was asked in two periods counts twice.")]
    asked: Annotated[int, about("How often queries were asked since, repeated ones too.")]
    since: Annotated[str, about("When the oldest period began, ISO 8601.")]


class Writes(TypedDict):
    """The writes since the version was built."""

    seq: Annotated[int, about("The number of the last write that is served; 0 if there was none.")]
    log_bytes: Annotated[int, about("The size of the log's files.")]
    added: Annotated[int, about("How many targets stand beside the index, with frozen offsets.")]
    removed: Annotated[int, about("How many targets of the version are gone or were replaced.")]
    frozen_share: Annotated[float, about("Share of the targets that came after the fit of the correction.")]


class CollectionAnswer(TypedDict):
    """A collection, its correction, and its measurements."""

    name: str
    version: str
    created: Annotated[str, about("When the version was built, ISO 8601.")]
    count: Annotated[int, about("How many targets it has.")]
    dim: Annotated[int, about("How many dimensions a query vector must have.")]
    dims: Annotated[int | None, about("Dimensions of the stored vectors, or of an index with candidates; null: all.")]
    metric: Metric
    correction: CorrectionRecord
    index: IndexRecord
    measured: Annotated[Measured | None, about("null where there was no query bank to measure with.")]
    confidence: Annotated[ConfidenceRecord | None, about("The model of confidence; null without a query bank.")]
    strength: Annotated[float, about("Strength of a query that gives none.")]
    live: Annotated[LiveFigures | None, about("null before any query, or if it is switched off.")]
    query_sample: Annotated[SampleFigures | None, about("null before any query is kept, or if it is switched off.")]
    bank: Annotated[BankRecord | None, about("What was seen of the query bank; null without one.")]
    id_type: Literal["int64", "string"]
    payload: Annotated[
        Literal["columns", "json"] | None, about("columns: each has a type. json: objects with any keys. null: none.")
    ]
    payload_columns: list[str]
    payload_types: Annotated[dict[str, str], about("Arrow's name of each column's type, by which filters are checked.")]
    text: Annotated[bool, about("Whether it can be asked with a text.")]
    image: Annotated[bool, about("Whether it can be asked with a picture.")]
    pictures: Annotated[bool, about("Whether the server may have pictures of its targets.")]
    writes: Writes
    versions: Annotated[list[str], about("The ids of all versions that are stored, oldest first.")]
    aliases: Annotated[list[str], about("Other names that stand for it.")]


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
    occurrence: Annotated[int, about("How often it was found.")]
    share: Annotated[float, about("Of the places in the answers, how many it takes.")]


class HubnessByChance(TypedDict):
    """The values that chance alone would give."""

    skewness: float
    antihub_share: float


class RankingHubness(TypedDict):
    """Occurrence of targets in one ranking of the queries."""

    queries: Annotated[int, about("How many queries it is made of.")]
    skewness: Annotated[float, about("Of the occurrence of all targets; near 0 without hubs.")]
    top_hub_share: Annotated[float, about("Share of the places that the worst hub takes.")]
    antihub_share: Annotated[float, about("Share of the targets that are never found.")]
    chance: Annotated[HubnessByChance, about("The same if as many queries found random targets.")]
    hubs: Annotated[list[FrequentTarget], about("The ten that are found most often.")]


class DriftFigures(TypedDict):
    """The distance of the queries from the query bank."""

    drift: Annotated[float, about("0 is not at all, 1 the border of what chance would give in 1 % of the cases.")]
    queries: Annotated[int, about("Different queries of which this is known.")]
    advice: Annotated[str | None, about("What to do if the queries have left the bank; null if not.")]


class HubnessAnswer(Served):
    """Occurrence of targets in the answers to live queries; null for a ranking that has none."""

    k: Annotated[int, about("Places of each answer that count.")]
    window: Annotated[int, about("The last queries that count, at most.")]
    seen: Annotated[int, about("Queries that this worker has answered since it serves the version.")]
    served: Annotated[RankingHubness | None, about("The last answers of this worker.")]
    corrected: Annotated[RankingHubness | None, about("A share of the queries, as served: to compare with raw.")]
    raw: Annotated[RankingHubness | None, about("The same queries without the correction.")]
    drift: Annotated[DriftFigures | None, about("null where too few queries were asked, or it is off.")]


class VersionState(TypedDict):
    """A version of a collection, and what became of it."""

    version: str
    created: Annotated[str | None, about("When it was built, ISO 8601; null if its manifest cannot be read.")]
    count: Annotated[int | None, about("How many targets it has; null likewise.")]
    current: Annotated[bool, about("Whether it is the one to be served.")]
    state: Annotated[
        Literal["served", "refused", "damaged", "stored"],
        about("refused: it cannot be served. damaged: its manifest cannot be read. stored: none of these."),
    ]
    detail: Annotated[str | None, about("Why it is refused or damaged.")]


class VersionsAnswer(TypedDict):
    """All versions of a collection, oldest first."""

    versions: list[VersionState]
    collection: str


class AliasAnswer(TypedDict):
    """Another name of a collection."""

    alias: str
    collection: str
    etag: Annotated[str, about("What If-Match takes: changes whenever the alias does.")]


class AliasesAnswer(TypedDict):
    """All aliases of collections that may be seen."""

    aliases: list[AliasAnswer]


class AliveAnswer(TypedDict):
    """The process answers."""

    status: Literal["ok"]


class StoreAnswer(TypedDict):
    """The state of the object storage with the catalog. Local copies are served in any case."""

    address: str
    synced: Annotated[str | None, about("When all that is there was brought here, in ISO 8601.")]
    trouble: Annotated[str | None, about("Why something could not be; null if all was.")]


class ReadyAnswer(TypedDict):
    """The server answers queries."""

    status: Literal["ready"]
    store: NotRequired[Annotated[StoreAnswer, about("Of a catalog in object storage; left out as `collections` are.")]]
    note: NotRequired[Annotated[str, about("Says that the catalog is empty, and what to do.")]]
    collections: NotRequired[
        Annotated[
            dict[str, dict[str, Any]],
            about("Each collection's state; of one that failed, why. Left out where a key is needed to see them."),
        ]
    ]


class ProblemAnswer(TypedDict):
    """An error, RFC 9457."""

    type: str
    title: str
    status: int
    detail: Annotated[str, about("What was wrong, for people.")]
    code: Annotated[str, about("What was wrong, for programs: stable.")]
    request_id: Annotated[str, about("As in the header X-Request-ID and in the server's log.")]
    parameter: NotRequired[Annotated[str, about("The field that was wrong.")]]
    expected: NotRequired[str]
    received: NotRequired[str]


class AccessAnswer(TypedDict):
    """The rights of the request."""

    keys: Annotated[bool, about("Whether the server has API keys.")]
    role: Annotated[Literal["read", "write", "admin"], about("Of the key; admin where the server has no keys.")]
    collections: Annotated[list[str] | None, about("To which collections the key is limited; null for no limit.")]
    bank_queries: Annotated[bool, about("Whether it may read stored bank queries: `HUBLESS_BANK_READERS`.")]


class BankQueryAnswer(Served):
    """A query of the bank."""

    number: Annotated[int, about("Its number among those that are stored, from 0.")]
    stored: Annotated[int, about("How many of the bank's queries the version stores.")]
    vector: VectorJson


class CountedAnswer(TypedDict):
    """Live queries that count for a bank that waits for them, or lists for a correction of scores that learns."""

    queries: Annotated[int, about("How many count: of one client a tenth of `sampled`, or of all lists, at most.")]
    clients: Annotated[int, about("Clients that asked: API keys, or addresses where there are no keys.")]
    clients_needed: Annotated[int, about("So many at least; 1 if trusted ones ask.")]


class WaitingBank(TypedDict):
    """A query bank that was put, and that no version has yet."""

    queries: Annotated[int, about("How many were put.")]
    mode: Literal["replace", "append"]
    fit: Annotated[bool, about("Whether it is fitted next; false while more is to come.")]
    fit_by: Annotated[str | None, about("The payload column of the groups of its queries; null for one fit for all.")]
    sampled: Annotated[int | None, about("Live queries that must count first; null for none.")]
    counted: Annotated[CountedAnswer | None, about("How many of these there are; null without `sampled`.")]


class WorkAnswer(BaseModel):
    """The last work of the service that made a version or a fit, or is to."""

    work: Annotated[Literal["merge", "bank", "scores"], about("bank is a fit on a query bank, scores one of scores.")]
    state: Literal["running", "done", "failed"]
    step: Annotated[str | None, about("What it does.")]
    done: Annotated[int, about("How many rows of the step are done.")]
    total: Annotated[int | None, about("Of how many; null if nobody knows.")]
    began: str
    ended: str | None
    version: Annotated[str | None, about("That it made; null for none.")]
    problem: Annotated[dict[str, Any] | None, about("Why it failed: code and detail of a problem.")]


class BankAnswer(Served):
    """The query bank of the version that is served, and what becomes of one that was put."""

    queries: Annotated[int, about("How many queries the correction was fitted on; 0 for none.")]
    stored: Annotated[int, about("How many of them the version stores, to be sent one by one.")]
    coverage: Annotated[float | None, about("Share of the targets that they cover; null if not known.")]
    correction: Annotated[str, about("That was fitted.")]
    fit_by: Annotated[str | None, about("The payload column of the groups that it was fitted by; null for one fit.")]
    held_back: Annotated[
        list[int | str],
        about("Targets whose offset stood alone, and is held back: queries may have been made to bury them."),
    ]
    frozen_share: Annotated[float, about("Share of the targets that came after the fit.")]
    waiting: Annotated[WaitingBank | None, about("null for none.")]
    work: Annotated[WorkAnswer | None, about("null for none.")]


class TargetsWithCount(TypedDict):
    """So many targets are found so often."""

    occurrence: Annotated[int, about("N_10: by so many queries.")]
    targets: Annotated[int, about("How many targets are.")]


class HubOccurrence(TypedDict):
    """A target that is found often."""

    id: IdJson
    offset: Annotated[float, about("Its hubness in units of similarity.")]
    raw: Annotated[int, about("Its N_10 without correction.")]
    corrected: Annotated[int, about("Its N_10 at strength 1.")]


class RankingOccurrence(TypedDict):
    """Occurrence of targets in one ranking."""

    skewness: Annotated[float, about("Of N_10 over all targets; near 0 without hubs.")]
    most: Annotated[int, about("N_10 of the target that is found most often.")]
    antihub_share: Annotated[float, about("Share of the targets that no query finds.")]
    histogram: list[TargetsWithCount]
    hubs: Annotated[list[HubOccurrence], about("Those found most often, in this ranking.")]


class OccurrenceByChance(TypedDict):
    """The same figures if as many queries found random targets."""

    skewness: float
    most: int
    antihub_share: Annotated[float, about("Share of the targets that chance alone leaves unfound.")]


class NeverFound(TypedDict):
    """The targets that no query finds."""

    raw: Annotated[int, about("How many are not found without correction.")]
    corrected: Annotated[int, about("How many are not found at strength 1.")]
    both: Annotated[int, about("How many are found in neither ranking.")]
    ids: Annotated[list[IdJson], about("Some that are found in neither.")]


class OccurrenceAnswer(Served):
    """Occurrence of each target over bank queries, for a version as it was built; null where nobody counted."""

    k: Annotated[int, about("Places of each answer that count.")]
    queries: Annotated[int, about("How many queries were counted.")]
    held_out: Annotated[bool, about("Whether the offsets that were measured have not seen these queries.")]
    source: Annotated[
        Literal["build", "sample"] | None,
        about("build: measured when it was built. sample: counted now, over the stored bank queries."),
    ]
    raw: RankingOccurrence | None
    corrected: RankingOccurrence | None
    chance: Annotated[OccurrenceByChance | None, about("Few queries leave many targets unfound: compare with this.")]
    never: NeverFound | None


class QueryFinding(TypedDict):
    """A bank query that finds a target."""

    query: Annotated[int, about("Its number, for `GET .../bank/{number}`.")]
    rank: Annotated[int, about("Where the target stands, from 1.")]
    first: Annotated[IdJson, about("What it finds first with the correction, which tells what it is about.")]


class FindingsAnswer(Served):
    """Which of the stored bank queries find a target among their first ten."""

    id: IdJson
    queries: Annotated[int, about("How many bank queries are stored.")]
    raw: list[QueryFinding]
    corrected: list[QueryFinding]


class ScanAnswer(TypedDict):
    """The last scan for planted hubs that was kept."""

    scan: Annotated[KeptScan | None, about("null if none was kept.")]
    collection: str


class ProjectedTargets(TypedDict):
    """Targets by column: the first of each list is the first target."""

    id: list[IdJson]
    x: list[float]
    y: list[float]
    offset: list[float]
    raw: Annotated[list[int] | None, about("N_10 without correction; null if nobody counted.")]
    corrected: Annotated[list[int] | None, about("N_10 at strength 1; null likewise.")]
    value: Annotated[list[Any] | None, about("Of the payload column that was asked for.")]


class ProjectedQueries(TypedDict):
    """The stored bank queries, in the order of their numbers."""

    x: list[float]
    y: list[float]


class ProjectionAnswer(Served):
    """A flat picture of a version as it was built: at most 5,000 targets, always with the largest hubs."""

    count: Annotated[int, about("How many targets the version has.")]
    method: Annotated[Literal["pca", "umap"], about("Principal components, or UMAP.")]
    explained: Annotated[list[float] | None, about("Share of the variance along x and along y; null for UMAP.")]
    targets: ProjectedTargets
    queries: ProjectedQueries


class InputJson(TypedDict):
    """A file or an array that a version was built from."""

    name: str
    size: int
    sha256: str


class VersionAnswer(TypedDict):
    """A stored version: its inputs, parameters and measurements."""

    version: str
    collection: str
    created: str
    count: int
    dim: int
    metric: Metric
    correction: CorrectionRecord
    index: IndexRecord
    measured: Measured | None
    bank: BankRecord | None
    confidence: ConfidenceRecord | None
    strength: float
    notes: list[str]
    payload_columns: list[str]
    log_seq: Annotated[int, about("The last write that it has.")]
    bytes: Annotated[int, about("The size of its files.")]
    seed: int
    versions: Annotated[dict[str, str], about("Of hubless and its libraries.")]
    inputs: dict[str, InputJson]


class ChangedField(TypedDict):
    """A field of the manifest that differs."""

    field: Annotated[str, about("Its name, with dots: `correction.details.temperature`.")]
    before: Any
    after: Any


class IdChanges(TypedDict):
    """Targets that one version has and the other has not."""

    count: int
    ids: Annotated[list[IdJson], about("Some of them.")]


class ChangedAnswers(TypedDict):
    """The first ten of a canary query, in both versions."""

    before: list[IdJson]
    after: list[IdJson]
    kept: Annotated[int, about("How many stand in both.")]


class DiffAnswer(TypedDict):
    """The differences between two versions of a collection."""

    version: str
    since: str
    collection: str
    fields: list[ChangedField]
    added: IdChanges
    removed: IdChanges
    canaries: Annotated[list[ChangedAnswers], about("Of the older version; none if the dimensions differ.")]
