"""The JSON of answers that let a client look into a collection: who asks, what is found, where targets lie."""

from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from hubless.store.bundle import BankRecord, ConfidenceRecord, CorrectionRecord, IndexRecord, Measured
from hubless.store.kept_scan import KeptScan
from hubless_service.http.answers import Served, VectorJson, about
from hubless_service.http.values import IdJson


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


class WaitingBank(TypedDict):
    """A query bank that was put, and that no version has yet."""

    queries: Annotated[int, about("How many were put.")]
    mode: Literal["replace", "append"]
    fit: Annotated[bool, about("Whether it is fitted next; false while more is to come.")]


class WorkAnswer(TypedDict):
    """The last work of the service that made a version, or is to."""

    work: Annotated[Literal["merge", "bank"], about("bank is a fit on a query bank.")]
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
    chance: Annotated[
        OccurrenceByChance | None,
        about("Few queries leave many targets unfound: compare both rankings with this."),
    ]
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
    explained: Annotated[
        list[float] | None,
        about("Share of the variance of the targets along x and along y; null for UMAP."),
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
    canaries: Annotated[
        list[ChangedAnswers], about("Canary queries of the older version; none if the dimensions differ.")
    ]
