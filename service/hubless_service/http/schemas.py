"""The shapes of requests and answers, for the OpenAPI document. No request passes through these models.

Tests hold the two together: the fields that `queries.py` accepts are those of the models, and every answer that
the tests see is validated against the document made from them.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel
from pydantic.json_schema import models_json_schema

Extra = Annotated[
    str,
    Field(
        pattern=r"^(payload(\.[\s\S]*)?|vector)$",
        description="payload, payload.<column> for some of its columns, or vector.",
    ),
]
Id = Annotated[int | str, Field(description="A number or a string, as the collection's ids are.")]
Vector = Annotated[list[float], Field(description="One number a dimension.")]
Payload = Annotated[dict[str, Any] | None, Field(description="null where the collection has no payload.")]


class Request(BaseModel):
    """A body that refuses unknown fields; null means that a field is not given."""

    model_config = ConfigDict(extra="forbid")


def _optional(schema: dict[str, Any]) -> None:
    """A member that may be left out, and may not be null."""
    del schema["default"]


Value = Annotated[bool | int | float | str, Field(description="As the column's type asks.")]
Asked = Annotated[Value, Field(default=None, json_schema_extra=_optional)]


class Condition(Request):
    """What is asked of a payload column: all operators have to hold."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 2})

    field: str = Field(description="A payload column.")
    eq: Asked
    ne: Asked
    in_: Annotated[
        list[Value], Field(default=None, alias="in", description="One of these.", json_schema_extra=_optional)
    ]
    gt: Asked
    gte: Asked
    lt: Asked
    lte: Asked
    exists: Annotated[bool, Field(default=None, description="Whether there is a value.", json_schema_extra=_optional)]
    contains: Annotated[Asked, Field(description="A list has this element.")]
    prefix: Annotated[str, Field(default=None, description="A string begins so.", json_schema_extra=_optional)]


class Every(Request):
    """All filters hold."""

    and_: list["Filter"] = Field(alias="and")


class Some(Request):
    """At least one filter holds."""

    or_: list["Filter"] = Field(alias="or")


class Opposite(Request):
    """The filter does not hold."""

    not_: "Filter" = Field(alias="not")


class Filter(RootModel[Condition | Every | Some | Opposite]):
    """Which targets: by their payload; see docs/filters.md."""


class QueryRequest(Request):
    """What to search for, as a vector, as a text or as a stored target, and how."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["vector"]}, {"required": ["text"]}, {"required": ["id"]}]},
    )

    vector: list[float] | str | None = Field(
        default=None,
        description="A list of numbers, or base64 of little-endian float32; as long as the collection's dim.",
    )
    text: str | None = Field(default=None, description="A text, for collections that have an encoder.")
    id: int | str | None = Field(
        default=None,
        description="A stored target, to find more like it: asked with its vector, and itself left out. A number or a "
        "string, as the collection's ids are.",
    )
    limit: int | None = Field(
        default=None, ge=1, description="How many hits at most; HUBLESS_DEFAULT_LIMIT if not given."
    )
    skip: int | None = Field(
        default=None, ge=0, description="How many of the best are left out; with limit at most HUBLESS_MAX_DEPTH."
    )
    strength: float | None = Field(
        default=None,
        ge=0,
        le=2,
        description="How much of the offsets is applied: 0 is the raw ranking, 1 is full. If not given 1, 0 with id.",
    )
    filter: Filter | None = Field(default=None, description="Only targets that meet it are searched.")
    with_: list[Extra] | None = Field(
        default=None, alias="with", description="What each hit is sent with beside id and scores."
    )
    params: dict[str, Any] | None = Field(
        default=None, description='Search parameters of the collection\'s index, such as {"ef": 128}.'
    )
    score_threshold: float | None = Field(default=None, description="Hits with a lower score are left out.")
    explain: bool | None = Field(
        default=None, description="Whether each hit is sent with its rank without the correction, and why it has it."
    )
    timeout_ms: int | None = Field(
        default=None,
        ge=1,
        description="Milliseconds in which the request is answered or refused; HUBLESS_DEFAULT_TIMEOUT_MS if not "
        "given. Of a batch, the shortest holds.",
    )


class BatchRequest(Request):
    """Several queries, answered in order, all or none."""

    queries: list[QueryRequest] = Field(min_length=1, description="At most HUBLESS_MAX_BATCH.")


class CountRequest(Request):
    """What to count."""

    filter: Filter | None = Field(default=None, description="Only targets that meet it; all if not given.")


class PointsRequest(Request):
    """Which targets to send, and with what."""

    ids: list[Id] = Field(min_length=1, description="At most HUBLESS_MAX_LIMIT, of the type of the collection's ids.")
    with_: list[Extra] | None = Field(
        default=None, alias="with", description="What each target is sent with; its payload if not given."
    )


class ScrollRequest(Request):
    """Which targets to send, and from where on."""

    filter: Filter | None = Field(default=None, description="Only targets that meet it; the same for all pages.")
    limit: int | None = Field(
        default=None, ge=1, description="How many targets at most; HUBLESS_DEFAULT_LIMIT if not given."
    )
    cursor: str | None = Field(default=None, description="Of the page before; null for the first.")
    with_: list[Extra] | None = Field(
        default=None, alias="with", description="What each target is sent with; its payload if not given."
    )


class AliasRequest(Request):
    """What an alias is to stand for."""

    collection: str = Field(description="The name of a collection, not an alias.")


class Explanation(BaseModel):
    """Why a hit stands where it does."""

    rank: int = Field(description="Its rank, from 1.")
    raw_rank: int | None = Field(
        description="Its rank by similarity alone, among the same targets; null if 1,000 or more come before it."
    )
    occurrence: int | None = Field(
        description="In how many of the measuring queries' first ten it stands with the correction, as measured when "
        "the version was built; null if that is not stored."
    )
    raw_occurrence: int | None = Field(description="The same without the correction.")


class Hit(BaseModel):
    """A target that was found."""

    id: Id
    score: float = Field(description="similarity − strength · offset")
    similarity: float = Field(description="Inner product with the query; the cosine under metric cosine.")
    offset: float = Field(description="Hubness of the target in units of similarity: positive is a hub.")
    payload: Payload = None
    vector: Vector | None = None
    explanation: Explanation | None = Field(default=None, description="Only if asked for.")


class Hits(BaseModel):
    """The hits of one query, best first."""

    hits: list[Hit]
    corrected: bool | None = Field(
        default=None, description="Of a gated correction only: whether it was switched on for the query."
    )


class QueryAnswer(Hits):
    """The hits, and what was searched."""

    collection: str
    version: str


class BatchAnswer(BaseModel):
    """Hits for each query of the batch, in its order."""

    results: list[Hits]
    collection: str
    version: str


class Correction(BaseModel):
    """How the offsets were computed."""

    name: str
    parameters: dict[str, Any] = Field(description="What was asked for.")
    details: dict[str, Any] = Field(description="What the fit chose and measured, such as the temperature.")


class Index(BaseModel):
    """How the targets are searched."""

    type: str
    parameters: dict[str, Any] = Field(description="Search parameters of a query that brings none.")


class Hubness(BaseModel):
    """How often targets are in the top 10 of the measuring queries."""

    skewness: float = Field(description="Of the 10-occurrence; near 0 without hubs.")
    most: int = Field(description="Occurrences of the worst hub.")
    antihubs: float = Field(description="Share of the targets that never occur.")


class Measured(BaseModel):
    """What was measured with bank queries when the version was built."""

    queries: int
    held_out: bool = Field(description="Whether these queries were kept out of the correction's fit.")
    recall_at_10: float = Field(description="Of the index, against exact search.")
    hubness_raw: Hubness
    hubness_corrected: Hubness


class CollectionInfo(BaseModel):
    """What a collection is, how it is corrected, and how well that was measured to work."""

    name: str
    version: str
    created: str = Field(description="When the version was built, ISO 8601.")
    count: int = Field(description="How many targets it has.")
    dim: int = Field(description="How many dimensions a query vector must have.")
    metric: Literal["cosine", "dot"]
    correction: Correction
    index: Index
    measured: Measured
    id_type: Literal["int64", "string"]
    payload_columns: list[str]
    payload_types: dict[str, str] = Field(
        description="Arrow's name of each column's type, by which filters are checked."
    )
    text: bool = Field(description="Whether it can be asked with a text.")
    versions: list[str] = Field(description="The ids of all versions that are stored, oldest first.")
    aliases: list[str] = Field(description="Other names that stand for it.")


class Collections(BaseModel):
    """All collections that are served."""

    collections: list[CollectionInfo]


class Target(BaseModel):
    """A stored target."""


class VersionState(BaseModel):
    """A version of a collection, and what became of it."""

    version: str
    created: str | None = Field(description="When it was built, ISO 8601; null if its manifest cannot be read.")
    count: int | None = Field(description="How many targets it has; likewise.")
    current: bool = Field(description="Whether it is the one to be served.")
    state: Literal["served", "refused", "damaged", "stored"] = Field(
        description="served: it answers queries. refused: it was to be served, and cannot be. damaged: its manifest "
        "cannot be read. stored: none of these."
    )
    detail: str | None = Field(default=None, description="Why it is refused or damaged.")


class Versions(BaseModel):
    """All versions of a collection, oldest first."""

    versions: list[VersionState]
    collection: str


class Alias(BaseModel):
    """Another name of a collection."""

    alias: str
    collection: str
    etag: str = Field(description="What If-Match takes: changes whenever the alias does.")


class Aliases(BaseModel):
    """All aliases of collections that may be seen."""

    aliases: list[Alias]


class Point(Target):
    """One target."""

    collection: str
    version: str


class Points(BaseModel):
    """Several targets, in the order of their ids."""

    points: list[Target]
    missing: list[Id] = Field(description="Those ids that no target bears.")
    collection: str
    version: str


class Page(BaseModel):
    """Some targets, in an order that stays the same as long as the version does."""

    points: list[Target]
    cursor: str | None = Field(description="Of the next page; null where this is the last.")
    collection: str
    version: str


class Count(BaseModel):
    """How many targets there are, or meet the filter."""

    count: int
    collection: str
    version: str


class Hub(BaseModel):
    """A target that is found often."""

    id: Id
    occurrence: float = Field(description="How often it was found, the older finds counting less.")
    share: float = Field(description="Of the places in the answers, how many it takes.")


class RankingHubness(BaseModel):
    """How often targets are found in one ranking of the queries."""

    queries: float = Field(description="How many queries it is made of, the older ones counting less.")
    skewness: float = Field(description="Of the occurrence of all targets; near 0 without hubs.")
    top_hub_share: float = Field(description="Share of the places that the worst hub takes.")
    antihub_share: float = Field(description="Share of the targets whose occurrence is below 1/e.")
    hubs: list[Hub] = Field(description="The ten that are found most often.")


class Drift(BaseModel):
    """How far the queries are from the query bank."""

    drift: float = Field(description="0 is not at all, 1 the border of what chance would give in 1 % of the cases.")
    queries: int = Field(description="Different queries of which this is known.")


class LiveHubness(BaseModel):
    """How often targets are found by the queries that are asked; null for a ranking that has none."""

    k: int = Field(description="Places of each answer that count.")
    half_life: float = Field(description="Queries after which a find counts half.")
    window: float = Field(description="What `queries` comes to in the long run.")
    served: RankingHubness | None = Field(default=None, description="Every answer, as it was served.")
    corrected: RankingHubness | None = Field(
        default=None, description="A share of the queries, as served: to compare with raw."
    )
    raw: RankingHubness | None = Field(default=None, description="The same queries without the correction.")
    drift: Drift | None = Field(default=None, description="null where too few queries were asked, or it is off.")
    collection: str
    version: str


class Alive(BaseModel):
    """The process answers."""

    status: Literal["ok"]


class Ready(BaseModel):
    """The server answers queries."""

    status: Literal["ready"]
    collections: dict[str, dict[str, Any]] | None = Field(
        default=None,
        description="Each collection's state; one that failed says why. Left out where a key is needed to see them.",
    )


class Problem(BaseModel):
    """An error, RFC 9457."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str = Field(description="What was wrong, for people.")
    code: str = Field(description="What was wrong, for programs: stable.")
    request_id: str = Field(description="As in the header X-Request-ID and in the server's log.")
    parameter: str | None = Field(default=None, description="The field that was wrong.")
    expected: str | None = None
    received: str | None = None


REQUESTS = (QueryRequest, BatchRequest, CountRequest, PointsRequest, ScrollRequest, AliasRequest)
ANSWERS = (
    QueryAnswer,
    BatchAnswer,
    CollectionInfo,
    Collections,
    Points,
    Page,
    Versions,
    Alias,
    Aliases,
    Point,
    Count,
    LiveHubness,
    Alive,
    Ready,
    Problem,
)
MODELS = (*REQUESTS, *ANSWERS)


def fields_of(model: type[BaseModel]) -> frozenset[str]:
    """Names of a model's fields as they are in JSON."""
    return frozenset(field.alias or name for name, field in model.model_fields.items())


def components() -> dict[str, Any]:
    """All models as JSON schemas, for `#/components/schemas`."""
    # also the answers as for validation: for serialisation pydantic calls fields with a default required
    models: list[tuple[type[BaseModel], Literal["validation"]]] = [(model, "validation") for model in MODELS]
    _, document = models_json_schema(models, ref_template="#/components/schemas/{model}")
    definitions: dict[str, Any] = document["$defs"]
    return definitions
