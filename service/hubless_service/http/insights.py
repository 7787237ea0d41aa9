"""The JSON of answers that let a client look into a collection: who asks, what is found, where targets lie."""

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from hubless.store.bundle import BankRecord, CorrectionRecord, IndexRecord, Measured
from hubless.store.kept_scan import KeptScan
from hubless_service.http.answers import IdJson, Served, VectorJson


class AccessAnswer(TypedDict):
    """What the request may do."""

    keys: Annotated[bool, Field(description="Whether the server has API keys.")]
    role: Annotated[
        Literal["read", "write", "admin"], Field(description="Of the key; admin where the server has no keys.")
    ]
    collections: Annotated[
        list[str] | None, Field(description="To which collections the key is limited; null for no limit.")
    ]
    bank_queries: Annotated[bool, Field(description="Whether it may read stored bank queries: `HUBLESS_BANK_READERS`.")]


class BankQueryAnswer(Served):
    """A query of the bank."""

    number: Annotated[int, Field(description="Its number among those that are stored, from 0.")]
    stored: Annotated[int, Field(description="How many of the bank's queries the version stores.")]
    vector: VectorJson


class WaitingBank(TypedDict):
    """A query bank that was put, and that no version has yet."""

    queries: Annotated[int, Field(description="How many were put.")]
    mode: Literal["replace", "append"]
    fit: Annotated[bool, Field(description="Whether it is fitted next; false while more is to come.")]


class WorkAnswer(TypedDict):
    """The last work of the service that made a version, or is to."""

    work: Annotated[Literal["merge", "bank"], Field(description="bank is a fit on a query bank.")]
    state: Literal["running", "done", "failed"]
    step: Annotated[str | None, Field(description="What it does.")]
    done: Annotated[int, Field(description="How many rows of the step are done.")]
    total: Annotated[int | None, Field(description="Of how many; null if nobody knows.")]
    began: str
    ended: str | None
    version: Annotated[str | None, Field(description="That it made; null for none.")]
    problem: Annotated[dict[str, Any] | None, Field(description="Why it failed: code and detail of a problem.")]


class BankAnswer(Served):
    """The query bank of the version that is served, and what becomes of one that was put."""

    queries: Annotated[int, Field(description="How many queries the correction was fitted on; 0 for none.")]
    stored: Annotated[int, Field(description="How many of them the version stores, to be sent one by one.")]
    coverage: Annotated[float | None, Field(description="Share of the targets that they cover; null if not known.")]
    correction: Annotated[str, Field(description="That was fitted.")]
    frozen_share: Annotated[float, Field(description="Share of the targets that came after the fit.")]
    waiting: Annotated[WaitingBank | None, Field(description="null for none.")]
    work: Annotated[WorkAnswer | None, Field(description="null for none.")]


class TargetsWithCount(TypedDict):
    """So many targets are found so often."""

    occurrence: Annotated[int, Field(description="N_10: by so many queries.")]
    targets: Annotated[int, Field(description="How many targets are.")]


class HubOccurrence(TypedDict):
    """A target that is found often."""

    id: IdJson
    offset: Annotated[float, Field(description="Its hubness in units of similarity.")]
    raw: Annotated[int, Field(description="Its N_10 without correction.")]
    corrected: Annotated[int, Field(description="Its N_10 at strength 1.")]


class RankingOccurrence(TypedDict):
    """How often targets are found in one ranking."""

    skewness: Annotated[float, Field(description="Of N_10 over all targets; near 0 without hubs.")]
    most: Annotated[int, Field(description="N_10 of the target that is found most often.")]
    antihub_share: Annotated[float, Field(description="Share of the targets that no query finds.")]
    histogram: list[TargetsWithCount]
    hubs: Annotated[list[HubOccurrence], Field(description="Those found most often, in this ranking.")]


class OccurrenceByChance(TypedDict):
    """The same figures if as many queries found random targets."""

    skewness: float
    most: int
    antihub_share: Annotated[float, Field(description="Share of the targets that chance alone leaves unfound.")]


class NeverFound(TypedDict):
    """The targets that no query finds."""

    raw: Annotated[int, Field(description="How many are not found without correction.")]
    corrected: Annotated[int, Field(description="How many are not found at strength 1.")]
    both: Annotated[int, Field(description="How many are found in neither ranking.")]
    ids: Annotated[list[IdJson], Field(description="Some that are found in neither.")]


class OccurrenceAnswer(Served):
    """How often each target is found by bank queries, for a version as it was built; null where nobody counted."""

    k: Annotated[int, Field(description="Places of each answer that count.")]
    queries: Annotated[int, Field(description="How many queries were counted.")]
    held_out: Annotated[bool, Field(description="Whether the offsets that were measured have not seen these queries.")]
    source: Annotated[
        Literal["build", "sample"] | None,
        Field(description="build: measured when it was built. sample: counted now, over the stored bank queries."),
    ]
    raw: RankingOccurrence | None
    corrected: RankingOccurrence | None
    chance: Annotated[
        OccurrenceByChance | None,
        Field(description="Few queries leave many targets unfound: compare both rankings with this."),
    ]
    never: NeverFound | None


class QueryFinding(TypedDict):
    """A bank query that finds a target."""

    query: Annotated[int, Field(description="Its number, for `GET .../bank/{number}`.")]
    rank: Annotated[int, Field(description="Where the target stands, from 1.")]
    first: Annotated[
        IdJson, Field(description="What it finds first with the correction, which tells what it is about.")
    ]


class FindingsAnswer(Served):
    """Which of the stored bank queries find a target among their first ten."""

    id: IdJson
    queries: Annotated[int, Field(description="How many bank queries are stored.")]
    raw: list[QueryFinding]
    corrected: list[QueryFinding]


class ScanAnswer(TypedDict):
    """The last scan for planted hubs that was kept."""

    scan: Annotated[KeptScan | None, Field(description="null if none was kept.")]
    collection: str


class ProjectedTargets(TypedDict):
    """Targets by column: the first of each list is the first target."""

    id: list[IdJson]
    x: list[float]
    y: list[float]
    offset: list[float]
    raw: Annotated[list[int] | None, Field(description="N_10 without correction; null if nobody counted.")]
    corrected: Annotated[list[int] | None, Field(description="N_10 at strength 1; null likewise.")]
    value: Annotated[list[Any] | None, Field(description="Of the payload column that was asked for.")]


class ProjectedQueries(TypedDict):
    """The stored bank queries, in the order of their numbers."""

    x: list[float]
    y: list[float]


class ProjectionAnswer(Served):
    """A flat picture of a version as it was built: at most 5,000 targets, always with the largest hubs."""

    count: Annotated[int, Field(description="How many targets the version has.")]
    method: Annotated[Literal["pca", "umap"], Field(description="Principal components, or UMAP.")]
    explained: Annotated[
        list[float] | None,
        Field(description="Share of the variance of the targets along x and along y; null for UMAP."),
    ]
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
    metric: Literal["cosine", "dot"]
    correction: CorrectionRecord
    index: IndexRecord
    measured: Measured | None
    bank: BankRecord | None
    strength: float
    notes: list[str]
    payload_columns: list[str]
    log_seq: Annotated[int, Field(description="The last write that it has.")]
    bytes: Annotated[int, Field(description="The size of its files.")]
    seed: int
    versions: Annotated[dict[str, str], Field(description="Of hubless and its libraries.")]
    inputs: dict[str, InputJson]


class ChangedField(TypedDict):
    """A field of the manifest that differs."""

    field: Annotated[str, Field(description="Its name, with dots: `correction.details.temperature`.")]
    before: Any
    after: Any


class IdChanges(TypedDict):
    """Targets that one version has and the other has not."""

    count: int
    ids: Annotated[list[IdJson], Field(description="Some of them.")]


class ChangedAnswers(TypedDict):
    """The first ten of a canary query, in both versions."""

    before: list[IdJson]
    after: list[IdJson]
    kept: Annotated[int, Field(description="How many stand in both.")]


class DiffAnswer(TypedDict):
    """What differs between two versions of a collection."""

    version: str
    since: str
    collection: str
    fields: list[ChangedField]
    added: IdChanges
    removed: IdChanges
    canaries: Annotated[
        list[ChangedAnswers], Field(description="Canary queries of the older version; none if the dimensions differ.")
    ]


INSIGHTS = (
    AccessAnswer,
    BankAnswer,
    BankQueryAnswer,
    OccurrenceAnswer,
    FindingsAnswer,
    ScanAnswer,
    ProjectionAnswer,
    VersionAnswer,
    DiffAnswer,
)
