"""Models of requests. The models that check a request are those that `/openapi.json` shows."""

from functools import cache, reduce
from itertools import islice
from operator import getitem
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, TypeVar

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, ValidationInfo, model_validator
from pydantic_core import ErrorDetails

from hubless.corrections import correction as make_correction
from hubless.corrections.roles import group_names
from hubless.errors import InputError, UnknownField, names_of
from hubless.measures.labelled_pairs import FEWEST_PAIRS
from hubless.search.collection import MOST_STRENGTH
from hubless.vectors.arrays import F32
from hubless.vectors.comparing import Metric
from hubless_service.http.arrow import ARROW, VECTOR, read_table, vectors_of
from hubless_service.http.heavy import values_of
from hubless_service.http.problems import clip, describe
from hubless_service.http.values import (
    Dimension,
    Extras,
    FilterJson,
    Json,
    MinSeq,
    PayloadRow,
    PictureBytes,
    QueryVector,
    RelevantIds,
    Sent,
    Several,
    Share,
    StoredId,
    Subject,
    characters,
    check_number,
    label_ids,
    vectors_of_bytes,
    whole,
)
from hubless_service.settings import Settings

JSON = "application/json"
BINARY = "application/octet-stream"
FEWEST_BANK_QUERIES = 2
Limit = Annotated[int, whole(Settings.max_limit)]
Skip = Annotated[int, whole(Settings.max_depth, least=0)]
FEWEST_SAMPLED = 200
Milliseconds = Annotated[int, whole(Settings.max_timeout_ms)]
Text = Annotated[str, characters(Settings.max_text)]
Clients = Annotated[list[Text], Several("clients", Settings.max_batch)]
_LONGEST_VERSION = 200
_RELEVANT, _GROUPS = "relevant", "groups"
ColumnName = Annotated[str, characters(1000)]
"""A longer one would not fit into a head that is as large as heads may be."""
_EXPECTED = {
    "model_type": "an object",
    "dict_type": "an object",
    "string_type": "a string",
    "float_type": "a number",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "greater_than_equal": "a number of at least {ge:g}",
    "less_than_equal": "a number of at most {le:g}",
}
"""Expected values by pydantic's own types of errors; the types in `values` name their own."""
_MEANT = {
    **dict.fromkeys(("top_k", "k", "n_results", "size"), ("limit",)),
    "offset": ("skip", "cursor"),
    **dict.fromkeys(("with_payload", "with_vector", "with_vectors", "include"), ("with",)),
}
"""Fields by the names that other databases give them."""


def maybe(description: str, **options: Any) -> Any:
    """Describe a field that may be left out."""
    return Field(default=None, description=description, **options)


def examples(*documents: Json) -> ConfigDict:
    """Configure a model that the contract shows examples of."""
    return ConfigDict(json_schema_extra={"examples": [*documents]})


class RequestModel(BaseModel):
    """The fields of a body or a URL. Unknown ones are refused, and null is a field that is not given."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        arbitrary_types_allowed=True,
        use_attribute_docstrings=True,
        alias_generator=lambda name: name.removesuffix("_"),
    )
    kinds: ClassVar[tuple[str, ...]] = (JSON,)  # media types of the body
    large: ClassVar[bool] = False  # whether the body may be as large as a batch of queries
    stored: ClassVar[bool] = False  # whether values of the body are stored
    texts: ClassVar[tuple[str, ...]] = ()  # fields that stand in a URL as they are; others stand there as JSON

    @classmethod
    def of_bytes(cls, kind: str, body: bytes, url: Json, subject: Subject) -> Self:
        """Read a body of another type than JSON; the other fields stand in the URL. Raises `InputError`."""
        raise NotImplementedError


_R = TypeVar("_R", bound=RequestModel)


class QueryOptions(RequestModel):
    """Options of a search."""

    texts = ("group_by",)
    limit: Limit | None = None
    """How many hits at most; 10 if not given."""
    skip: Skip | None = None
    """How many of the best are left out; with limit at most 5,000."""
    strength: float | None = maybe(
        "How much of the offsets is applied: 0 is raw, 1 is full. If not given that of the collection, 0 with id.",
        ge=0,
        le=MOST_STRENGTH,
    )
    with_: Sent | None = None
    """What each hit is sent with beside id and scores."""
    score_threshold: float | None = None
    """Hits with a lower score are left out."""
    group_by: ColumnName | None = None
    """A payload column: only the best hit of each of its values is sent."""
    diversity: Share | None = None
    """How much hits are to differ from those before them; 0, the default, keeps the ranking."""
    min_confidence: Share | None = None
    """A query gets no hits if its best hit is less likely right."""
    min_presence: Share | None = None
    """A query gets no hits if a right target is less likely there."""
    min_accuracy: Share | None = maybe(
        "Queries get hits only where this share, at least, is right at first, by the labels that calibrated confidence."
    )
    coverage: Share | None = None
    """As many hits as it takes to hold a right one in this share of queries, limit at most, by the same labels."""
    explain: bool | None = None
    """Whether each hit is sent with its rank without the correction, and why it has it."""
    timeout_ms: Milliseconds | None = None
    """Milliseconds to answer or refuse; HUBLESS_DEFAULT_TIMEOUT_MS if not given. Of a batch, the shortest."""
    min_seq: MinSeq = None


class BinaryRequest(QueryOptions):
    """The URL of a binary body."""

    dim: Dimension = None


class QueryForms(RequestModel):
    """A query in one of its forms."""

    vector: QueryVector | None = None
    """A vector, as long as the collection's dim."""
    text: Text | None = None
    """A text, for collections that have an encoder."""
    image: PictureBytes | None = None
    """A picture, for collections whose encoder takes pictures."""


class QueryRequest(QueryForms, QueryOptions):
    """A query: either a vector, a text, a picture or the id of a stored target, and options."""

    model_config = examples({"id": "subprocess.run", "limit": 3, "explain": True}, {"text": "parse a date"})
    kinds = (JSON, BINARY)
    large = True
    id: StoredId | None = None
    """A stored target, to find more like it: asked with its vector, and itself left out."""
    filter: FilterJson | None = None
    """Only targets that meet it are searched."""
    params: Json | None = None
    """Search parameters of the collection's index, such as {"ef": 128}."""

    @classmethod
    def of_bytes(cls, kind: str, body: bytes, url: Json, subject: Subject) -> Self:
        """Read the vector of a binary body."""
        return cls.model_construct(
            **_given(read(BinaryRequest, url, subject)), vector=vectors_of_bytes(body, subject.collection, rows=1)
        )


class BatchRequest(RequestModel):
    """Several queries, answered in order, all or none."""

    model_config = examples({"queries": [{"id": "subprocess.run", "limit": 3}]})
    kinds = (JSON, BINARY)
    large = True
    queries: Annotated[list[QueryRequest], Several("queries", Settings.max_batch)]
    """At most 1,000."""
    _field: str = PrivateAttr("queries")

    @property
    def field(self) -> str:
        """The field that an error about all queries names."""
        return self._field

    @property
    def min_seq(self) -> int:
        """A write that what is searched must have."""
        return max(query.min_seq or 0 for query in self.queries)

    @model_validator(mode="before")
    @classmethod
    def _check_filters(cls, document: Any, info: ValidationInfo[Subject]) -> Any:
        """Refuse a batch whose filters are too large together. To count them takes a small part of reading them."""
        queries = document.get("queries") if isinstance(document, dict) else None
        if isinstance(queries, list):
            filters = [query["filter"] for query in queries if isinstance(query, dict) and query.get("filter")]
            most = info.context.settings.max_batch_filter_values
            for _ in islice(values_of(filters), most, None):
                raise InputError("queries", f"filters of at most {most} values in all", "more")
        return document

    @classmethod
    def of_bytes(cls, kind: str, body: bytes, url: Json, subject: Subject) -> Self:
        """Read the vectors of a binary body. The fields in the URL hold for all of them."""
        options = _given(read(BinaryRequest, url, subject))
        rows = vectors_of_bytes(body, subject.collection)
        check_number(len(rows), Settings.max_batch, "queries", "body")
        made = cls.model_construct(
            queries=[QueryRequest.model_construct(**options, vector=rows[i : i + 1]) for i in range(len(rows))]
        )
        made._field = "body"
        return made


class Picture(NamedTuple):
    """A picture: the query asks for targets near its vector."""

    content: bytes


class LikeTarget(NamedTuple):
    """A stored target: the query asks for targets like it."""

    id: str | int


Asked = F32 | str | Picture | LikeTarget
"""A vector (1, d), prepared for the collection; a text; a picture; or a stored target."""


class Query(NamedTuple):
    """One query, however it was sent."""

    where: str  # before a field's name in an error: nothing, or `queries[3].`
    asked: Asked
    options: Json  # of `Collection.query`, in a fixed order: the limit, and those that are not the default
    extras: Extras
    score_threshold: float | None
    timeout_ms: int


class CountRequest(RequestModel):
    """A count of targets."""

    filter: FilterJson | None = None
    """Only targets that meet it; all if not given."""
    min_seq: MinSeq = None


class PointRequest(RequestModel):
    """The URL of a single target."""

    with_: Sent | None = None
    """What the target is sent with beside its payload."""
    min_seq: MinSeq = None


class PictureRequest(RequestModel):
    """The URL of a picture."""

    pixels: Annotated[int, whole(Settings.max_pixels, least=16)] | None = None
    """Of the longer side at most; 256 if not given."""


class PointsRequest(RequestModel):
    """Which targets to send, and with what."""

    model_config = examples({"ids": ["subprocess.run"]})
    ids: Annotated[list[StoredId], Several("ids", Settings.max_limit)]
    """At most 1,000, of the type of the collection's ids."""
    with_: Sent | None = None
    """What each target is sent with; its payload if not given."""
    min_seq: MinSeq = None


class ScrollRequest(RequestModel):
    """Which targets to send, and from where on."""

    filter: FilterJson | None = None
    """Only targets that meet it; the same for all pages."""
    limit: Limit | None = None
    """How many targets at most; 10 if not given."""
    cursor: str | None = None
    """Of the page before; null for the first."""
    with_: Sent | None = None
    """What each target is sent with; its payload if not given."""
    min_seq: MinSeq = None


class OccurrenceRequest(RequestModel):
    """The URL of the occurrence."""

    limit: Limit | None = None
    """How many hubs of each ranking, and how many ids never found; 20 if not given."""


class FindingsRequest(RequestModel):
    """The URL of the findings."""

    texts = ("id",)
    id: Annotated[str, characters(Settings.max_text, "the id of a target")]
    """Of the target. A number stands as its digits."""


class ProjectionRequest(RequestModel):
    """The URL of the projection."""

    texts = ("column",)
    column: ColumnName | None = None
    """A payload column whose values are sent too."""


class DiffRequest(RequestModel):
    """The URL of a comparison."""

    texts = ("since",)
    since: Annotated[str, characters(_LONGEST_VERSION)] | None = None
    """The id of the other version; that of the one before if not given."""


class WriteOptions(RequestModel):
    """Options of a write."""

    large = True
    stored = True
    durability: Literal["disk", "memory"] | None = None
    """memory answers before the disk has it: a crash of the machine may lose it. For loads that you can repeat."""


class PutOptions(WriteOptions):
    """The URL of an Arrow body."""

    mode: Literal["upsert", "insert", "update", "ignore"] | None = maybe(
        "insert refuses ids that are there, ignore passes them over, update refuses ids that are not; upsert takes all."
    )


class PointToPut(QueryForms):
    """A target that comes, or replaces the one of the same id. Without vector, text and image no search finds it."""

    id: StoredId
    payload: PayloadRow | None = None
    """Values of the collection's payload columns; what is not given is null."""


class PutPointsRequest(PutOptions):
    """Targets to store, all or none."""

    model_config = examples({"points": [{"id": "new", "vector": [0.6, 0.8]}]})
    kinds = (JSON, ARROW)
    points: Annotated[list[PointToPut], Several("points", Settings.max_write_points)]
    """At most 1,000."""
    _table: pa.Table | None = PrivateAttr(None)

    @property
    def table(self) -> pa.Table | None:
        """The points, if they came as Arrow."""
        return self._table

    @classmethod
    def of_bytes(cls, kind: str, body: bytes, url: Json, subject: Subject) -> Self:
        """Read the table of an Arrow stream."""
        options = _given(read(PutOptions, url, subject))
        table = read_table(body)
        check_number(len(table), Settings.max_write_points, "points", "body")
        made = cls.model_construct(**options, points=[])
        made._table = table
        return made


class PointToPatch(RequestModel):
    """A change of the payload of a target."""

    id: StoredId
    payload: PayloadRow
    """The columns to change. Columns that are not given stay."""


class PatchPointsRequest(WriteOptions):
    """Changes of payload, all or none."""

    model_config = examples({"points": [{"id": "new", "payload": {"line": 1}}]})
    points: Annotated[list[PointToPatch], Several("points", Settings.max_write_points)]
    """At most 1,000."""


class DeletePointsRequest(WriteOptions):
    """Which targets to delete: either those of some ids, or those that meet a filter."""

    model_config = examples({"ids": ["new"]})
    ids: Annotated[list[StoredId], Several("ids", Settings.max_write_points)] | None = None
    """At most 1,000. Ids that no target has are passed over."""
    filter: FilterJson | None = None
    """All targets that meet it are deleted."""


class BankOptions(RequestModel):
    """Options of a query bank."""

    large = True
    mode: Literal["replace", "append"] | None = None
    """append adds to the bank that is there, and to what waits; replace, the default, takes the place of both."""
    fit: bool | None = None
    """false keeps the queries on the disk until more come, for a bank in several bodies."""
    correction: str | None = None
    """What to fit; that of the collection if not given, auto if that is none."""
    parameters: Json | None = None
    """Of the correction."""
    fit_by: Text | None = maybe(
        "The payload column that names the group of each target, such as tenant: each group is corrected by its own "
        "queries, so `groups` is needed beside it. That of the collection if not given; empty for one fit for all."
    )
    timeout_ms: Milliseconds | None = None
    """Milliseconds to wait for the fit; HUBLESS_DEFAULT_TIMEOUT_MS if not given. It goes on after that."""


class BinaryBankRequest(BankOptions):
    """The URL of a binary body."""

    dim: Dimension = None


class PutBankRequest(BankOptions):
    """Example queries that the correction is to be fitted on: vectors, texts, payload or sampled."""

    model_config = examples({"vectors": [[0.6, 0.8], [0.8, 0.6]], "fit": False})
    kinds = (JSON, BINARY, ARROW)
    vectors: Annotated[list[QueryVector], Several("queries", Settings.max_bank_queries)] | None = None
    """Lists of numbers, or base64 of little-endian float32. At most 50,000."""
    texts_: Annotated[list[Text], Several("texts", Settings.max_batch)] | None = None
    """For collections that have an encoder. At most 1,000."""
    payload: Annotated[list[str], Several("columns", Settings.max_batch)] | None = None
    """Payload columns, such as title and caption: each text is encoded and is a query, at most 10,000 at random."""
    sampled: Annotated[int, whole(Settings.max_sampled, FEWEST_SAMPLED)] | None = maybe(
        "Take live queries, once HUBLESS_QUERY_SAMPLE has so many, if they are a good bank. At most 4,000. One client "
        "counts for a tenth at most, so ten clients or more must ask.",
    )
    trusted: Clients | None = maybe(
        "With sampled: clients that ask for many people, such as the key of an app, and count without limit. Names of "
        "keys, or labels that `hubless bank show` lists."
    )
    relevant: RelevantIds | None = maybe(
        "For each query the id of its right target, a list of them, or null where nobody knows. They make confidence a "
        "probability; 20 at least, better 100 and more."
    )

    groups: Annotated[list[bool | int | str | None], Several("groups", Settings.max_bank_queries)] | None = None
    """With fit_by: for each query the group that it is of, as the payload column has it."""

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo[Subject]) -> Self:
        """Raise `InputError` unless its queries are enough, in one way, and the correction is one."""
        ways = {"vectors": self.vectors, "texts": self.texts_, "payload": self.payload, "sampled": self.sampled}
        given = [name for name, value in ways.items() if value is not None]
        if len(given) != 1:
            raise InputError("vectors", f"one of {', '.join(ways)}", " and ".join(given) or "none")
        if self.trusted is not None and self.sampled is None:
            raise InputError("trusted", "none without sampled", "some")
        self._check_queries(given[0], info.context.settings.max_bank_queries)
        if self.correction is not None or self.parameters is not None:
            make_correction(self.correction or "auto", self.parameters)
        return self

    def _check_queries(self, way: str, most: int) -> None:
        if self.payload is None and self.sampled is None:
            self._check_count(sum(map(len, self.vectors)) if self.vectors else len(self.texts_ or ()), most)
        elif self.relevant is not None or self.groups is not None or (self.sampled and self._grows):
            raise InputError(way, "no relevant and no groups; with sampled no append and no fit: false", "one of them")

    @property
    def _grows(self) -> bool:
        """Return if there are other queries of the bank, or come: then a few are enough."""
        return self.mode == "append" or self.fit is False

    def _check_count(self, count: int, most: int) -> None:
        """Raise `InputError` unless there are enough queries, and labels and groups for each, and not too many."""
        check_number(count, most, "queries", "body")
        if count < FEWEST_BANK_QUERIES and not self._grows:
            raise InputError("vectors", f"at least {FEWEST_BANK_QUERIES} queries, better 100 and more", count)
        for name, given in ((_GROUPS, self.groups), (_RELEVANT, self.relevant)):
            if given is not None and len(given) != count:
                raise InputError(name, f"{count} entries, one for each query", len(given))
        labelled = sum(map(bool, self.relevant or ()))
        if self.relevant is not None and labelled < FEWEST_PAIRS and not self._grows:
            raise InputError(_RELEVANT, f"right targets for at least {FEWEST_PAIRS} queries", f"for {labelled}")

    @classmethod
    def of_bytes(cls, kind: str, body: bytes, url: Json, subject: Subject) -> Self:
        """Read the vectors of a binary or an Arrow body."""
        options = read(BinaryBankRequest, url, subject)
        labels = None
        groups = None
        if kind == BINARY:
            rows = vectors_of_bytes(body, subject.collection)
        else:
            table = read_table(body)
            rows = vectors_of(table, subject.collection)[0]
            if not {*table.column_names} <= {VECTOR, _RELEVANT, _GROUPS}:
                raise InputError(
                    "body", f"the column {VECTOR}, and perhaps {_RELEVANT} and {_GROUPS}", names_of(table.column_names)
                )
            if _RELEVANT in table.column_names:
                labels = label_ids(table[_RELEVANT].to_pylist(), subject.collection, _RELEVANT)
            if _GROUPS in table.column_names:
                groups = group_names(table, _GROUPS, "body").tolist()
        made = cls.model_construct(**_given(options), vectors=[rows], relevant=labels, groups=groups)
        return read(cls, made, subject)


class CreateCollectionRequest(RequestModel):
    """The settings of an empty collection."""

    model_config = examples({"dim": 2, "metric": "cosine", "id_type": "string", "payload_schema": {"price": "float64"}})
    dim: int = Field(json_schema_extra={"minimum": 1, "maximum": 65_536})
    """Dimensions of its vectors."""
    metric: Metric
    """cosine compares directions, dot takes lengths into account, euclidean ranks by distance."""
    id_type: Literal["string", "int64"]
    """The type of its ids."""
    payload_schema: dict[str, str] | None = None
    """Names of types by column. If not given payload is free: JSON objects with any keys."""
    dims: int | None = None
    """Dimensions of the index, below dim. Needs keep_full."""
    keep_full: bool | None = None
    """Whether the index has dims dimensions only; whole vectors rank its candidates."""
    encoder: Json | None = maybe(
        'An endpoint that turns texts into vectors, such as {"type": "openai", "url": "http://…/v1", "model": "m"}; '
        "see docs/encoders.md. Needs a key of role admin. A collection that is there takes it while it is empty."
    )


class DeleteCollectionRequest(RequestModel):
    """The URL of a collection that is to be deleted."""

    aliases: bool | None = None
    """Whether the aliases that stand for it are removed, too."""


class AliasRequest(RequestModel):
    """The target of an alias."""

    model_config = examples({"collection": "stdlib"})
    collection: str
    """The name of a collection, not an alias."""


class ToldClick(RequestModel):
    """A target that somebody chose among the hits of a query."""

    query: QueryForms
    target: StoredId
    position: Annotated[int, whole(Settings.max_depth)] | None = None
    """Its rank in the answer, from 1."""
    client: Text | None = None
    """Who chose it: one client counts once for a query and a target. Without it the key is believed: each counts."""


class ClicksRequest(RequestModel):
    """Clicks, all or none."""

    model_config = examples({"clicks": [{"query": {"vector": [0.6, 0.8]}, "target": "new"}]})
    large = True
    clicks: Annotated[list[ToldClick], Several("clicks", Settings.max_batch)]
    """At most 1,000."""


PARTS_OF_REQUESTS: dict[type[RequestModel], tuple[str, type[RequestModel]]] = {
    BatchRequest: ("queries", QueryRequest),
    PutPointsRequest: ("points", PointToPut),
    PatchPointsRequest: ("points", PointToPatch),
    ClicksRequest: ("clicks", ToldClick),
    ToldClick: ("query", QueryForms),
}
"""Models that are lists of others, or have another inside."""


@cache
def fields_of(model: type[RequestModel]) -> frozenset[str]:
    """Return the names of a model's fields as they are in JSON."""
    return frozenset(field.alias or name for name, field in model.model_fields.items())


def read(model: type[_R], document: Any, subject: Subject) -> _R:
    """Return a JSON value as a checked model. Raises `InputError` about the first wrong field."""
    try:
        return model.model_validate(document, context=subject)
    except ValidationError as error:
        _refuse_unknown(model, document)
        wrong = error.errors(include_url=False)[0]
        if wrong["type"] == "missing":
            # a field that is missing is refused in the same words as null
            *places, name = wrong["loc"]
            reduce(getitem, places, document)[name] = None
            return read(model, document, subject)
        raise _refusal(wrong) from error


def _given(options: RequestModel) -> Json:
    return {name: value for name, value in options if value is not None and name != "dim"}


def _refuse_unknown(model: type[RequestModel], document: Any, where: str = "") -> None:
    # pydantic would list all of them, however many there are
    if isinstance(document, dict):
        if unknown := document.keys() - fields_of(model):
            known = ", ".join(sorted(fields_of(model)))
            wrong = min(unknown)
            meant = [name for name in _MEANT.get(wrong, ()) if name in fields_of(model)]
            hint = f"; did you mean {meant[0]}?" if meant else ""
            raise UnknownField(f"{where}{clip(wrong)}", f"one of {known}", f"an unknown field{hint}")
        name, part = PARTS_OF_REQUESTS.get(model, ("", RequestModel))
        if isinstance(parts := document.get(name), list):
            for i, each in enumerate(parts):
                _refuse_unknown(part, each, f"{name}[{i}].")
        else:
            _refuse_unknown(part, parts, f"{where}{name}.")


def _refusal(wrong: ErrorDetails) -> InputError:
    context = wrong.get("ctx", {})
    where = "".join(f"[{place}]" if isinstance(place, int) else f".{place}" for place in wrong["loc"]).removeprefix(".")
    cause = context.get("error")
    if wrong["type"] == "literal_error":
        words = context["expected"].replace("'", "").replace(" or ", ", ")
        return InputError(where, f"one of {words}", describe(wrong["input"]))
    if not isinstance(cause, InputError):
        return InputError(where or "body", _EXPECTED[wrong["type"]].format(**context), describe(wrong["input"]))
    inside = cause.parameter
    joint = "." if where and inside and inside[0] not in ".[" else ""
    return cause.about(f"{where}{joint}{inside}")
