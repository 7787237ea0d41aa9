"""What clients may send. The models that check a request are those that `/openapi.json` shows."""

from functools import cache
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hubless.errors import InputError, UnknownField
from hubless.filters import Filter
from hubless.search.collection import MOST_STRENGTH
from hubless.vectors.arrays import F32
from hubless_service.http import values
from hubless_service.http.problems import clip, describe
from hubless_service.http.values import Extras, Subject

_STRENGTHS = f"a number from 0 to {MOST_STRENGTH:g}"
_EXPECTED = {
    "model_type": "an object",
    "dict_type": "an object",
    "list_type": "a list",
    "string_type": "a string",
    "float_type": "a number",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "greater_than_equal": _STRENGTHS,
    "less_than_equal": _STRENGTHS,
}
"""What a client is told for pydantic's own types of errors; the kinds of fields say it themselves."""


class RequestModel(BaseModel):
    """The fields of a body or a URL. Unknown ones are refused, and null is a field that is not given."""

    model_config = ConfigDict(strict=True, extra="forbid", arbitrary_types_allowed=True)


class QueryOptions(RequestModel):
    """How to search, whatever for."""

    limit: Annotated[int, values.Whole("max_limit")] | None = Field(
        default=None, description="How many hits at most; HUBLESS_DEFAULT_LIMIT if not given."
    )
    skip: Annotated[int, values.Whole("max_depth", least=0)] | None = Field(
        default=None, description="How many of the best are left out; with limit at most HUBLESS_MAX_DEPTH."
    )
    strength: float | None = Field(
        default=None,
        ge=0,
        le=MOST_STRENGTH,
        description="How much of the offsets is applied: 0 is the raw ranking, 1 is full. If not given that of the "
        "collection, 0 with id.",
    )
    with_: Annotated[Extras, values.Sent()] | None = Field(
        default=None, alias="with", description="What each hit is sent with beside id and scores."
    )
    score_threshold: float | None = Field(default=None, description="Hits with a lower score are left out.")
    explain: bool | None = Field(
        default=None, description="Whether each hit is sent with its rank without the correction, and why it has it."
    )
    timeout_ms: Annotated[int, values.Whole("max_timeout_ms")] | None = Field(
        default=None,
        description="Milliseconds in which the request is answered or refused; HUBLESS_DEFAULT_TIMEOUT_MS if not "
        "given. Of a batch, the shortest holds.",
    )
    min_seq: Annotated[int, values.Sequence()] | None = Field(
        default=None,
        description="What answers has this write, whichever worker it is: the seq that the answer to a write gave.",
    )


class BinaryRequest(QueryOptions):
    """The URL of a binary body."""

    dim: Annotated[int, values.Dimension()] | None = Field(
        default=None, description="The dimension of the vectors, to be checked, as the body does not tell it."
    )


class QueryRequest(QueryOptions):
    """What to search for, as a vector, as a text or as a stored target, and how."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["vector"]}, {"required": ["text"]}, {"required": ["id"]}]},
    )
    vector: Annotated[F32, values.QueryVector()] | None = Field(
        default=None,
        description="A list of numbers, or base64 of little-endian float32; as long as the collection's dim.",
    )
    text: Annotated[str, values.Text("max_text")] | None = Field(
        default=None, description="A text, for collections that have an encoder."
    )
    id: Annotated[int | str, values.StoredId()] | None = Field(
        default=None,
        description="A stored target, to find more like it: asked with its vector, and itself left out. A number or a "
        "string, as the collection's ids are.",
    )
    filter: Annotated[Filter, values.Filtering()] | None = Field(
        default=None, description="Only targets that meet it are searched."
    )
    params: dict[str, Any] | None = Field(
        default=None, description='Search parameters of the collection\'s index, such as {"ef": 128}.'
    )


class BatchRequest(RequestModel):
    """Several queries, answered in order, all or none."""

    queries: Annotated[list[QueryRequest], values.Several("queries", "max_batch")] = Field(
        description="At most HUBLESS_MAX_BATCH."
    )


class CountRequest(RequestModel):
    """What to count."""

    filter: Annotated[Filter, values.Filtering()] | None = Field(
        default=None, description="Only targets that meet it; all if not given."
    )
    min_seq: Annotated[int, values.Sequence()] | None = Field(
        default=None,
        description="What answers has this write, whichever worker it is: the seq that the answer to a write gave.",
    )


class PointRequest(RequestModel):
    """The URL of a single target."""

    with_: Annotated[Extras, values.Sent()] | None = Field(
        default=None, alias="with", description="What the target is sent with beside its payload."
    )
    min_seq: Annotated[int, values.Sequence()] | None = Field(
        default=None,
        description="What answers has this write, whichever worker it is: the seq that the answer to a write gave.",
    )


class PointsRequest(RequestModel):
    """Which targets to send, and with what."""

    ids: Annotated[list[Annotated[int | str, values.StoredId()]], values.Several("ids", "max_limit")] = Field(
        description="At most HUBLESS_MAX_LIMIT, of the type of the collection's ids."
    )
    with_: Annotated[Extras, values.Sent()] | None = Field(
        default=None, alias="with", description="What each target is sent with; its payload if not given."
    )
    min_seq: Annotated[int, values.Sequence()] | None = Field(
        default=None,
        description="What answers has this write, whichever worker it is: the seq that the answer to a write gave.",
    )


class ScrollRequest(RequestModel):
    """Which targets to send, and from where on."""

    filter: Annotated[Filter, values.Filtering()] | None = Field(
        default=None, description="Only targets that meet it; the same for all pages."
    )
    limit: Annotated[int, values.Whole("max_limit")] | None = Field(
        default=None, description="How many targets at most; HUBLESS_DEFAULT_LIMIT if not given."
    )
    cursor: str | None = Field(default=None, description="Of the page before; null for the first.")
    with_: Annotated[Extras, values.Sent()] | None = Field(
        default=None, alias="with", description="What each target is sent with; its payload if not given."
    )
    min_seq: Annotated[int, values.Sequence()] | None = Field(
        default=None,
        description="What answers has this write, whichever worker it is: the seq that the answer to a write gave.",
    )


class PointToPut(RequestModel):
    """A target that comes, or replaces the one of the same id."""

    id: Annotated[int | str, values.StoredId()] = Field(
        description="A number or a string, as the collection's ids are."
    )
    vector: Annotated[F32, values.QueryVector()] | None = Field(
        default=None,
        description="A list of numbers, or base64 of little-endian float32; as long as the collection's dim. A target "
        "with neither vector nor text is found by its payload and id only.",
    )
    text: Annotated[str, values.Text("max_text")] | None = Field(
        default=None, description="Instead of the vector, for collections that have an encoder."
    )
    payload: Annotated[dict[str, Any], values.PayloadRow()] | None = Field(
        default=None, description="Values of the collection's payload columns; what is not given is null."
    )


class WriteOptions(RequestModel):
    """How to write, whatever it is."""

    durability: Annotated[str, values.Choice("disk", "memory")] | None = Field(
        default=None,
        description="memory answers before the disk has it: a crash of the machine may lose the last writes, a kill of "
        "the server loses none. For loads that you can repeat.",
    )


class ArrowPointsRequest(WriteOptions):
    """The URL of an Arrow body."""

    mode: Annotated[str, values.Choice("upsert", "insert", "ignore", "update")] | None = Field(
        default=None, description="As in a JSON body."
    )


class PutPointsRequest(WriteOptions):
    """Targets to store, all or none."""

    points: Annotated[list[PointToPut], values.Several("points", "max_write_points")] = Field(
        description="At most HUBLESS_MAX_WRITE_POINTS."
    )
    mode: Annotated[str, values.Choice("upsert", "insert", "update", "ignore")] | None = Field(
        default=None,
        description="insert refuses ids that are there, ignore leaves their points as they are, update refuses ids "
        "that are not there; upsert, the default, takes all.",
    )


class PointToPatch(RequestModel):
    """What to change in the payload of a target."""

    id: Annotated[int | str, values.StoredId()] = Field(
        description="A number or a string, as the collection's ids are."
    )
    payload: Annotated[dict[str, Any], values.PayloadRow()] = Field(
        description="The columns to change. Columns that are not given stay."
    )


class PatchPointsRequest(WriteOptions):
    """Changes of payload, all or none."""

    points: Annotated[list[PointToPatch], values.Several("points", "max_write_points")] = Field(
        description="At most HUBLESS_MAX_WRITE_POINTS."
    )


class DeletePointsRequest(WriteOptions):
    """Which targets to delete: those of some ids, or those that meet a filter."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["ids"], "properties": {"ids": {"type": "array"}, "filter": {"type": "null"}}},
                {"required": ["filter"], "properties": {"filter": {"type": "object"}, "ids": {"type": "null"}}},
            ]
        }
    )
    ids: Annotated[list[Annotated[int | str, values.StoredId()]], values.Several("ids", "max_write_points")] | None = (
        Field(default=None, description="At most HUBLESS_MAX_WRITE_POINTS. Ids that no target has are passed over.")
    )
    filter: Annotated[Filter, values.Filtering()] | None = Field(
        default=None, description="All targets that meet it are deleted."
    )


_Vectors: TypeAlias = list[Annotated[F32, values.QueryVector()]]
_Texts: TypeAlias = list[Annotated[str, values.Text("max_text")]]


class BankOptions(RequestModel):
    """What to do with a query bank."""

    mode: Annotated[str, values.Choice("replace", "append")] | None = Field(
        default=None,
        description="append adds to the bank that the collection has, and to what waits to be fitted; replace, the "
        "default, takes the place of both.",
    )
    fit: bool | None = Field(
        default=None, description="false keeps the queries on the disk until more come, for a bank in several bodies."
    )
    correction: str | None = Field(
        default=None, description="What to fit; that of the collection if not given, auto if that is none."
    )
    parameters: dict[str, Any] | None = Field(default=None, description="Of the correction.")
    timeout_ms: Annotated[int, values.Whole("max_timeout_ms")] | None = Field(
        default=None,
        description="Milliseconds to wait for the fit; HUBLESS_DEFAULT_TIMEOUT_MS if not given. It goes on after that.",
    )


class BinaryBankRequest(BankOptions):
    """The URL of a binary body."""

    dim: Annotated[int, values.Dimension()] | None = Field(
        default=None, description="The dimension of the vectors, to be checked, as a binary body does not tell it."
    )


class PutBankRequest(BankOptions):
    """Example queries that the correction is to be fitted on: vectors or texts."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["vectors"]}, {"required": ["texts"]}]})
    vectors: Annotated[_Vectors, values.Several("queries", "max_bank_queries")] | None = Field(
        default=None,
        description="Lists of numbers, or base64 of little-endian float32. At most HUBLESS_MAX_BANK_QUERIES.",
    )
    texts: Annotated[_Texts, values.Several("texts", "max_batch")] | None = Field(
        default=None, description="For collections that have an encoder. At most HUBLESS_MAX_BATCH."
    )


class CreateCollectionRequest(RequestModel):
    """What an empty collection is to hold."""

    dim: int = Field(description="Dimensions of its vectors.", json_schema_extra={"minimum": 1, "maximum": 65_536})
    metric: Annotated[str, values.Choice("cosine", "dot")] = Field(
        description="cosine compares directions, dot takes lengths into account."
    )
    id_type: Annotated[str, values.Choice("string", "int64")] = Field(description="The type of its ids.")
    payload_schema: dict[str, str] | None = Field(
        default=None,
        description="Names of types by column. If not given payload is free: JSON objects with any keys.",
    )


class DeleteCollectionRequest(RequestModel):
    """The URL of a collection that is to be deleted."""

    aliases: bool | None = Field(default=None, description="Whether the aliases that stand for it are removed, too.")


class AliasRequest(RequestModel):
    """What an alias is to stand for."""

    collection: str = Field(description="The name of a collection, not an alias.")


REQUESTS = (
    QueryRequest,
    BatchRequest,
    CountRequest,
    PointsRequest,
    ScrollRequest,
    PutPointsRequest,
    PatchPointsRequest,
    DeletePointsRequest,
    PutBankRequest,
    CreateCollectionRequest,
    AliasRequest,
)
"""All that are bodies."""
_PARTS: dict[type[RequestModel], tuple[str, type[RequestModel]]] = {
    BatchRequest: ("queries", QueryRequest),
    PutPointsRequest: ("points", PointToPut),
    PatchPointsRequest: ("points", PointToPatch),
}
"""Models that are lists of others."""
R = TypeVar("R", bound=RequestModel)


@cache
def fields_of(model: type[RequestModel]) -> frozenset[str]:
    """Names of a model's fields as they are in JSON."""
    return frozenset(field.alias or name for name, field in model.model_fields.items())


def read(model: type[R], document: Any, subject: Subject | None = None) -> R:
    """Check a JSON value.

    Parameters
    ----------
    subject : what the request is about; None for one that is about no collection

    Raises
    ------
    InputError
        naming the first field that is wrong, what was expected, and what came.
    """
    try:
        return model.model_validate(document, context=subject)
    except ValidationError as error:
        _refuse_unknown(model, document)
        wrong = error.errors(include_url=False)[0]
        if wrong["type"] == "missing":
            # a field that is missing is refused in the same words as null
            return read(model, document | {wrong["loc"][-1]: None}, subject)
        raise _refusal(wrong["loc"], wrong["type"], wrong["input"], wrong.get("ctx", {})) from error


def _refuse_unknown(model: type[RequestModel], document: Any, where: str = "") -> None:
    # pydantic would list all of them, however many there are
    if isinstance(document, dict):
        if unknown := document.keys() - fields_of(model):
            known = ", ".join(sorted(fields_of(model)))
            raise UnknownField(f"{where}{clip(min(unknown))}", f"one of {known}", "an unknown field")
        name, part = _PARTS.get(model, ("", RequestModel))
        if isinstance(parts := document.get(name), list):
            for i, each in enumerate(parts):
                _refuse_unknown(part, each, f"{name}[{i}].")


def _refusal(places: tuple[int | str, ...], kind: str, value: Any, context: dict[str, Any]) -> InputError:
    where = "".join(f"[{place}]" if isinstance(place, int) else f".{place}" for place in places).removeprefix(".")
    cause = context.get("error")
    if not isinstance(cause, InputError):
        return InputError(where or "body", _EXPECTED[kind], describe(value))
    inside = cause.parameter
    joint = "." if where and inside and inside[0] not in ".[" else ""
    return type(cause)(f"{where}{joint}{inside}", cause.expected, cause.received)
