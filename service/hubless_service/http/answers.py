"""The JSON of answers: the code that writes one is checked against these types, and the contract shows them.

The text below a member says what it means.
"""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, with_config
from typing_extensions import TypedDict

from hubless.measures.bank_record import BankRecord
from hubless.store.bundle import (
    ConfidenceRecord,
    CorrectionRecord,
    DecidedStrength,
    IndexRecord,
    Measured,
)
from hubless.store.kept_scan import KeptScan
from hubless.vectors.comparing import Metric
from hubless_service.http.values import IdJson, Json

PayloadJson = Annotated[Json | None, Field(description="null where the collection has no payload.")]
VectorJson = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "null"}],
            "description": "One number a dimension; null for a stored target that has none.",
        }
    ),
]


@with_config(use_attribute_docstrings=True)
class AnswerPart(TypedDict):
    """A part of an answer."""


class Served(AnswerPart):
    """The version that answered."""

    collection: str
    version: str


class TargetExtras(AnswerPart):
    """The extras of a target, if they are asked for."""

    payload: NotRequired[PayloadJson]
    vector: NotRequired[VectorJson]


class HitExplanation(AnswerPart):
    """Why a hit stands where it does."""

    rank: int
    """Its rank, from 1."""
    raw_rank: int | None
    """Its rank by similarity alone; null if 1,000 or more come before it."""
    occurrence: int | None
    """N_10 at strength 1, as measured by the build; null if not stored."""
    raw_occurrence: int | None
    """The same without the correction."""
    strength: float
    """The strength that was applied."""


class QueryHit(TargetExtras):
    """A target that was found."""

    id: IdJson
    score: float
    """similarity − strength · offset"""
    similarity: float
    """Inner product with the query, the cosine under metric cosine, −½|q − t|² under metric euclidean."""
    offset: float
    """Hubness of the target in units of similarity: positive is a hub."""
    explanation: NotRequired[HitExplanation]
    """Only if asked for."""
    share: NotRequired[float]
    """Its part of the confidence, all for the best hit. Only with a model."""


class QueryHits(AnswerPart):
    """The hits of one query, best first."""

    hits: list[QueryHit]
    corrected: NotRequired[bool]
    """Of a gated correction: whether it was switched on for the query."""
    confidence: NotRequired[float]
    """How likely the best hit is right, 0 to 1. Only with a model."""
    presence: NotRequired[float]
    """How likely a right target was among those searched. Likewise."""
    calibrated: NotRequired[bool]
    """Whether these are probabilities, and not only an order. Likewise."""
    answered: NotRequired[bool]
    """false if min_confidence, min_presence or min_accuracy left out all hits. Likewise."""


class QueryAnswer(QueryHits, Served):
    """The hits, and what was searched."""


class BatchAnswer(Served):
    """Hits for each query of the batch, in its order."""

    results: list[QueryHits]


class StoredTarget(TargetExtras):
    """A stored target."""

    id: IdJson
    offset: float
    """Its hubness in units of similarity: positive is a hub."""
    seq: int
    """For If-Match: the last write that changed it, or the last in its version."""


class PointAnswer(StoredTarget, Served):
    """One target."""


class PointsAnswer(Served):
    """Several targets, in the order of their ids."""

    points: list[StoredTarget]
    missing: list[IdJson]
    """Those ids that no target bears."""


class ScrollAnswer(Served):
    """Some targets, in an order that stays the same as long as the version does."""

    points: list[StoredTarget]
    cursor: str | None
    """Of the next page; null where this is the last."""


class PutAnswer(Served):
    """Result of storing points. It is on the disk, and this worker's next query finds it."""

    seq: int
    """The number of the write, one more than that of the write before it."""
    inserted: int
    """How many ids are new."""
    updated: int
    """How many targets were replaced."""


class DeleteAnswer(Served):
    """Result of deleting points."""

    seq: int
    """The number of the write; of the last one if nothing was deleted."""
    deleted: int


class ClicksAnswer(Served):
    """Result of telling what people clicked. It is on the disk."""

    kept: int
    """How many clicks are kept; 0 of a request with X-No-Sample."""


class CountAnswer(Served):
    """The number of targets, or of those that meet the filter."""

    count: int


class LiveFigures(AnswerPart):
    """The strength for even answers. Where popular targets are right, evenness harms: clicks or labels tell."""

    recommended_strength: float
    """The strength that spreads their answers most evenly."""
    queries: int
    """How many different ones say so."""
    state: Literal["too_few", "few", "enough"]
    """Whether there were enough of them to go by."""


class SampleFigures(AnswerPart):
    """Live queries that are kept in files."""

    queries: int
    """How many; one that was asked in two periods counts twice."""
    asked: int
    """How often queries were asked since, repeated ones too."""
    since: str
    """When the oldest period began, ISO 8601."""


class Writes(AnswerPart):
    """The writes since the version was built."""

    seq: int
    """The number of the last write that is served; 0 if there was none."""
    log_bytes: int
    """The size of the log's files."""
    added: int
    """How many targets stand beside the index, with frozen offsets."""
    removed: int
    """How many targets of the version are gone or were replaced."""
    frozen_share: float
    """Share of the targets that came after the fit of the correction."""


class CollectionAnswer(AnswerPart):
    """A collection, its correction, and its measurements."""

    name: str
    version: str
    created: str
    """When the version was built, ISO 8601."""
    count: int
    """How many targets it has."""
    dim: int
    """How many dimensions a query vector must have."""
    dims: int | None
    """Dimensions of the stored vectors, or of an index with candidates; null: all."""
    metric: Metric
    correction: CorrectionRecord
    index: IndexRecord
    measured: Measured | None
    """null where there was no query bank to measure with."""
    confidence: ConfidenceRecord | None
    """The model of confidence; null without a query bank."""
    strength: float
    """Strength of a query that gives none."""
    live: LiveFigures | None
    """As `GET .../hubness` found it last in this worker; null before."""
    query_sample: SampleFigures | None
    """null before any query is kept, or if it is switched off."""
    bank: BankRecord | None
    """What was seen of the query bank; null without one."""
    id_type: Literal["int64", "string"]
    payload: Literal["columns", "json"] | None
    """columns: each has a type. json: objects with any keys. null: none."""
    payload_columns: list[str]
    payload_types: dict[str, str]
    """Arrow's name of each column's type, by which filters are checked."""
    text: bool
    """Whether it can be asked with a text."""
    image: bool
    """Whether it can be asked with a picture."""
    pictures: bool
    """Whether the server may have pictures of its targets."""
    writes: Writes
    versions: list[str]
    """The ids of all versions that are stored, oldest first."""
    aliases: list[str]
    """Other names that stand for it."""


class DeletedCollectionAnswer(AnswerPart):
    """The collection is gone."""

    collection: str
    deleted: bool


class CollectionsAnswer(AnswerPart):
    """All collections that are served."""

    collections: list[CollectionAnswer]


class FrequentTarget(AnswerPart):
    """A target that is found often."""

    id: IdJson
    occurrence: int
    """How often it was found."""
    share: float
    """Of the places in the answers, how many it takes."""


class HubnessByChance(AnswerPart):
    """The values that chance alone would give."""

    skewness: float
    antihub_share: float


class RankingHubness(AnswerPart):
    """Occurrence of targets in one ranking of the queries."""

    queries: int
    """How many queries it is made of."""
    skewness: float
    """Of the occurrence of all targets; near 0 without hubs."""
    top_hub_share: float
    """Share of the places that the worst hub takes."""
    antihub_share: float
    """Share of the targets that are never found."""
    chance: HubnessByChance
    """The same if as many queries found random targets."""
    hubs: list[FrequentTarget]
    """The ten that are found most often."""


class DriftFigures(AnswerPart):
    """The distance of the queries from the query bank."""

    drift: float
    """0 is not at all, 1 the border of what chance would give in 1 % of the cases."""
    queries: int
    """Different queries of which this is known."""
    advice: str | None
    """What to do if the queries have left the bank; null if not."""


class HubnessAnswer(Served):
    """Occurrence of targets in the answers to live queries; null for a ranking that has none."""

    k: int
    """Places of each answer that count."""
    window: int
    """The last queries that count, at most."""
    seen: int
    """Queries of people that this worker has answered since it serves the version."""
    served: RankingHubness | None
    """The last answers of this worker."""
    corrected: RankingHubness | None
    """Those of them that were searched again, as served: to compare with raw."""
    raw: RankingHubness | None
    """The same queries without the correction."""
    live: LiveFigures | None
    """null where nothing was searched again."""
    drift: DriftFigures | None
    """null where too few queries were asked, or it is off."""


class VersionState(AnswerPart):
    """A version of a collection, and what became of it."""

    version: str
    created: str | None
    """When it was built, ISO 8601; null if its manifest cannot be read."""
    count: int | None
    """How many targets it has; null likewise."""
    current: bool
    """Whether it is the one to be served."""
    state: Literal["served", "refused", "damaged", "stored"]
    """refused: it cannot be served. damaged: its manifest cannot be read. stored: none of these."""
    detail: str | None
    """Why it is refused or damaged."""


class VersionsAnswer(AnswerPart):
    """All versions of a collection, oldest first."""

    versions: list[VersionState]
    collection: str


class AliasAnswer(AnswerPart):
    """Another name of a collection."""

    alias: str
    collection: str
    etag: str
    """What If-Match takes: changes whenever the alias does."""


class AliasesAnswer(AnswerPart):
    """All aliases of collections that may be seen."""

    aliases: list[AliasAnswer]


class AliveAnswer(AnswerPart):
    """The process answers."""

    status: Literal["ok"]


class StoreAnswer(AnswerPart):
    """The state of the object storage with the catalog. Local copies are served in any case."""

    address: str
    synced: str | None
    """When all that is there was brought here, in ISO 8601."""
    trouble: str | None
    """Why something could not be; null if all was."""


class ReadyAnswer(AnswerPart):
    """The server answers queries."""

    status: Literal["ready"]
    store: NotRequired[StoreAnswer]
    """Of a catalog in object storage; left out as `collections` are."""
    note: NotRequired[str]
    """Says that the catalog is empty, and what to do."""
    collections: NotRequired[dict[str, Json]]
    """Each collection's state; of one that failed, why. Left out where a key is needed to see them."""


class ProblemAnswer(AnswerPart):
    """An error, RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    """What was wrong, for people."""
    code: str
    """What was wrong, for programs: stable."""
    request_id: str
    """As in the header X-Request-ID and in the server's log."""
    parameter: NotRequired[str]
    """The field that was wrong."""
    expected: NotRequired[str]
    received: NotRequired[str]


class AccessAnswer(AnswerPart):
    """The rights of the request."""

    keys: bool
    """Whether the server has API keys."""
    role: Literal["read", "write", "admin"]
    """Of the key; admin where the server has no keys."""
    collections: list[str] | None
    """To which collections the key is limited; null for no limit."""
    bank_queries: bool
    """Whether it may read stored bank queries: `HUBLESS_BANK_READERS`."""


class BankQueryAnswer(Served):
    """A query of the bank."""

    number: int
    """Its number among those that are stored, from 0."""
    stored: int
    """How many of the bank's queries the version stores."""
    vector: VectorJson


class CountedAnswer(AnswerPart):
    """Live queries that count for a bank that waits for them, or lists for a correction of scores that learns."""

    queries: int
    """How many count: of one client a tenth of `sampled`, or of all lists, at most."""
    clients: int
    """Clients that asked: API keys, or addresses where there are no keys."""
    clients_needed: int
    """So many at least; 1 if trusted ones ask."""


class WaitingBank(AnswerPart):
    """A query bank that was put, and that no version has yet."""

    queries: int
    """How many were put."""
    mode: Literal["replace", "append"]
    fit: bool
    """Whether it is fitted next; false while more is to come."""
    fit_by: str | None
    """The payload column of the groups of its queries; null for one fit for all."""
    sampled: int | None
    """Live queries that must count first; null for none."""
    counted: CountedAnswer | None
    """How many of these there are; null without `sampled`."""


Work = Literal["merge", "bank", "scores"]


class WorkAnswer(BaseModel):
    """The last work of the service that made a version or a fit, or is to."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    work: Work
    """bank is a fit on a query bank, scores one of scores."""
    state: Literal["running", "done", "failed"]
    step: str | None
    """What it does."""
    done: int
    """How many rows of the step are done."""
    total: int | None
    """Of how many; null if nobody knows."""
    began: str
    ended: str | None
    version: str | None
    """That it made; null for none."""
    problem: Json | None
    """Why it failed: code and detail of a problem."""


class BankAnswer(Served):
    """The query bank of the version that is served, and what becomes of one that was put."""

    queries: int
    """How many queries the correction was fitted on; 0 for none."""
    stored: int
    """How many of them the version stores, to be sent one by one."""
    coverage: float | None
    """Share of the targets that they cover; null if not known."""
    correction: str
    """That was fitted."""
    fit_by: str | None
    """The payload column of the groups that it was fitted by; null for one fit."""
    held_back: list[int | str]
    """Targets whose offset stood alone, and is held back: queries may have been made to bury them."""
    decided: DecidedStrength | None
    """Who decided the default strength, and what labels say; null in older versions."""
    frozen_share: float
    """Share of the targets that came after the fit."""
    waiting: WaitingBank | None
    """null for none."""
    work: WorkAnswer | None
    """null for none."""


class TargetsWithCount(AnswerPart):
    """So many targets are found so often."""

    occurrence: int
    """N_10: by so many queries."""
    targets: int
    """How many targets are."""


class HubOccurrence(AnswerPart):
    """A target that is found often."""

    id: IdJson
    offset: float
    """Its hubness in units of similarity."""
    raw: int
    """Its N_10 without correction."""
    corrected: int
    """Its N_10 at strength 1."""


class RankingOccurrence(AnswerPart):
    """Occurrence of targets in one ranking."""

    skewness: float
    """Of N_10 over all targets; near 0 without hubs."""
    most: int
    """N_10 of the target that is found most often."""
    antihub_share: float
    """Share of the targets that no query finds."""
    histogram: list[TargetsWithCount]
    hubs: list[HubOccurrence]
    """Those found most often, in this ranking."""


class OccurrenceByChance(AnswerPart):
    """The same figures if as many queries found random targets."""

    skewness: float
    most: int
    antihub_share: float
    """Share of the targets that chance alone leaves unfound."""


class NeverFound(AnswerPart):
    """The targets that no query finds."""

    raw: int
    """How many are not found without correction."""
    corrected: int
    """How many are not found at strength 1."""
    both: int
    """How many are found in neither ranking."""
    ids: list[IdJson]
    """Some that are found in neither."""


class OccurrenceAnswer(Served):
    """Occurrence of each target over bank queries, for a version as it was built; null where nobody counted."""

    k: int
    """Places of each answer that count."""
    queries: int
    """How many queries were counted."""
    held_out: bool
    """Whether the offsets that were measured have not seen these queries."""
    source: Literal["build", "sample"] | None
    """build: measured when it was built. sample: counted now, over the stored bank queries."""
    raw: RankingOccurrence | None
    corrected: RankingOccurrence | None
    chance: OccurrenceByChance | None
    """Few queries leave many targets unfound: compare with this."""
    never: NeverFound | None


class QueryFinding(AnswerPart):
    """A bank query that finds a target."""

    query: int
    """Its number, for `GET .../bank/{number}`."""
    rank: int
    """Where the target stands, from 1."""
    first: IdJson
    """What it finds first with the correction, which tells what it is about."""


class FindingsAnswer(Served):
    """Which of the stored bank queries find a target among their first ten."""

    id: IdJson
    queries: int
    """How many bank queries are stored."""
    raw: list[QueryFinding]
    corrected: list[QueryFinding]


class ScanAnswer(AnswerPart):
    """The last scan for planted hubs that was kept."""

    scan: KeptScan | None
    """null if none was kept."""
    collection: str


class ProjectedTargets(AnswerPart):
    """Targets by column: the first of each list is the first target."""

    id: list[IdJson]
    x: list[float]
    y: list[float]
    offset: list[float]
    raw: list[int] | None
    """N_10 without correction; null if nobody counted."""
    corrected: list[int] | None
    """N_10 at strength 1; null likewise."""
    value: list[Any] | None
    """Of the payload column that was asked for."""


class ProjectedQueries(AnswerPart):
    """The stored bank queries, in the order of their numbers."""

    x: list[float]
    y: list[float]


class ProjectionAnswer(Served):
    """A flat picture of a version as it was built: at most 5,000 targets, always with the largest hubs."""

    count: int
    """How many targets the version has."""
    method: Literal["pca", "umap"]
    """Principal components, or UMAP."""
    explained: list[float] | None
    """Share of the variance along x and along y; null for UMAP."""
    targets: ProjectedTargets
    queries: ProjectedQueries


class InputJson(AnswerPart):
    """A file or an array that a version was built from."""

    name: str
    size: int
    sha256: str


class VersionAnswer(AnswerPart):
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
    log_seq: int
    """The last write that it has."""
    bytes: int
    """The size of its files."""
    seed: int
    versions: dict[str, str]
    """Of hubless and its libraries."""
    inputs: dict[str, InputJson]


class ChangedField(AnswerPart):
    """A field of the manifest that differs."""

    field: str
    """Its name, with dots: `correction.details.temperature`."""
    before: Any
    after: Any


class IdChanges(AnswerPart):
    """Targets that one version has and the other has not."""

    count: int
    ids: list[IdJson]
    """Some of them."""


class ChangedAnswers(AnswerPart):
    """The first ten of a canary query, in both versions."""

    before: list[IdJson]
    after: list[IdJson]
    kept: int
    """How many stand in both."""


class DiffAnswer(AnswerPart):
    """The differences between two versions of a collection."""

    version: str
    since: str
    collection: str
    fields: list[ChangedField]
    added: IdChanges
    removed: IdChanges
    canaries: list[ChangedAnswers]
    """Of the older version; none if the dimensions differ."""
