"""Types of fields in a request. Each checks its JSON value, and has the JSON schema of the values that it takes."""

import binascii
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from struct import Struct
from typing import Annotated, Any, NamedTuple

import numpy as np
import orjson
from pydantic import (
    AfterValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
)
from pydantic_core import CoreSchema, SchemaValidator, core_schema
from typing_extensions import TypeAliasType

from hubless import Collection
from hubless.errors import DimensionMismatch, InputError, NotFinite, UnknownField
from hubless.filters import Filter, filter_schemas, read_row
from hubless.measures.labels import KnownItems, known_rows
from hubless.search.collection import filter_of
from hubless.vectors.arrays import F32, check_dim
from hubless.vectors.readers.pictures import A_PICTURE
from hubless_service.http.problems import clip, describe
from hubless_service.settings import Settings

Json = dict[str, Any]
REFERENCE = "#/components/schemas/{model}"
PAYLOAD, VECTOR = "payload", "vector"
_COLUMN = f"{PAYLOAD}."
_EXTRA = re.compile(rf"^({PAYLOAD}(\.[\s\S]*)?|{VECTOR})$")
_ITEM = np.dtype("<f4")
_FLOATS = "little-endian float32"
_MOST_KEYS = 100
"""Keys of free payload that a request may ask for."""


class Subject(NamedTuple):
    """The collection and the settings that decide which values are right. Some requests are about no collection."""

    collection: Collection
    settings: Settings


class Extras(NamedTuple):
    """The extras of each target beside its id."""

    payload: bool = False
    vector: bool = False
    columns: tuple[str, ...] | None = None


NO_EXTRAS = Extras()
Info = ValidationInfo[Subject]


@dataclass(frozen=True)
class Checked:
    """Annotates a field: a function that returns the value to use or raises `InputError`, and a JSON schema."""

    read: Callable[..., Any]
    schema: Json = field(hash=False)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return PlainValidator(self.read).__get_pydantic_core_schema__(Any, handler)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        return self.schema


@dataclass(frozen=True)
class Several:
    """Annotates a list of one item or more, up to a limit. The annotated type says what an item is."""

    noun: str
    most: int

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def read(value: Any, items: ValidatorFunctionWrapHandler, info: Info) -> Any:
            check_list(value, f"a list of {self.noun}")
            check_number(len(value), self.most, self.noun)
            return items(value)

        return core_schema.with_info_wrap_validator_function(read, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        return {**handler(schema), "minItems": 1, "maxItems": self.most}


def refer(model: str) -> Json:
    """The JSON schema of a component of the contract."""
    return {"$ref": REFERENCE.format(model=model)}


def check_list(value: Any, expected: str) -> None:
    """Raise `InputError` for what is no list."""
    if not isinstance(value, list):
        raise InputError("", expected, describe(value))


def check_number(count: int, most: int, noun: str, parameter: str = "") -> None:
    """Raise `InputError` for none of some things, or too many."""
    if not 1 <= count <= most:
        raise InputError(parameter, f"1 to {most} {noun}", count)


def whole(most: int, least: int = 1) -> Checked:
    """A whole number, up to a limit."""

    def read(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise InputError("", f"a whole number from {least} to {most}", describe(value))
        return value

    return Checked(read, {"type": "integer", "minimum": least, "maximum": most})


def characters(most: int, expected: str = "a string") -> Checked:
    """A string of so many characters at most."""

    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise InputError("", expected, "none" if value is None else describe(value))
        if len(value) > most:
            raise InputError("", f"at most {most} characters", len(value))
        return value

    return Checked(read, {"type": "string", "maxLength": most})


def _share(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError("", "a number from 0 to 1", describe(value))
    return float(value)


def vector_of_base64(text: str) -> F32:
    """Return a vector (d,) from base64 of little-endian float32. Raises `InputError`."""
    data = _bytes_of_base64(text, _FLOATS)
    if len(data) % _ITEM.itemsize:
        raise InputError("", f"base64 of {_FLOATS}, 4 bytes a number", f"{len(data)} bytes")
    return np.frombuffer(data, _ITEM)


def _picture_of_base64(value: Any) -> bytes:
    """Return the bytes of a picture. The encoder says whether it is one."""
    if not isinstance(value, str):
        raise InputError("", f"base64 of {A_PICTURE}", describe(value))
    return _bytes_of_base64(value, A_PICTURE)


def _bytes_of_base64(text: str, of: str) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError as error:
        raise InputError("", f"base64 of {of}", f"a string that is not: {error}") from error


def vectors_of_bytes(body: bytes, collection: Collection, rows: int | None = None) -> F32:
    """Return the prepared vectors (m, d) that make up a binary body: little-endian float32, row after row.

    Raises `DimensionMismatch` unless the bytes are whole rows, as many as `rows`.
    """
    width = _ITEM.itemsize * collection.dim
    if len(body) % width or (rows is not None and len(body) != rows * width):
        expected = f'{collection.dim} dimensions, as collection "{collection.name}" has: {width} bytes'
        raise DimensionMismatch("body", expected if rows == 1 else f"{expected} each", f"{len(body)} bytes")
    return collection.prepare(np.frombuffer(body, _ITEM).reshape(-1, collection.dim), "body")


@lru_cache(64)
def _packed(dim: int) -> Struct:
    return Struct(f"{dim}f")


def _payload_row(value: Json, info: Info) -> Json:
    return read_row(value, info.context.collection.parts.payload_schema)


def _stored_id(value: Any, info: Info) -> int | str:
    numbers = info.context.collection.parts.manifest.id_type == "int64"
    if type(value) is not (int if numbers else str):
        expected = "a whole number" if numbers else "a string"
        where = f'as the ids of collection "{info.context.collection.name}" are'
        raise InputError("", f"{expected}, {where}", describe(value))
    return value


def label_ids(value: Any, collection: Collection, name: str = "") -> list[list[int | str] | None]:
    """Return the ids of the right targets of each query, which stay right when a merge changes the rows.

    Raises `InputError` for what is no list, or names no target.
    """
    if not isinstance(value, list) or any(isinstance(entry, dict) for entry in value):
        raise InputError(name, "a list: for each query an id, a list of ids, or null", describe(value))
    targets = KnownItems(collection.count, collection.parts.ids)
    queries = KnownItems(len(value), noun="query")
    rows = known_rows(value, targets, queries, parameter=name, entry="[{}]")
    return [None if each is None else collection.ids(each) for each in rows]


def _query_vector(value: Any, info: Info) -> F32:
    """Return a vector (1, d), prepared for the collection."""
    prepare = info.context.collection.prepare
    if isinstance(value, str):
        return prepare(vector_of_base64(value), "")
    check_list(value, "a list of numbers, or a string of base64")
    try:
        # one that float32 cannot hold becomes infinite; in a third of the time of np.array
        return prepare(np.frombuffer(_packed(len(value)).pack(*numbers_of(value)), np.float32), "")
    except NotFinite:
        return prepare(value, "")  # which says the number as it was sent


# looks at each number without Python
_NUMBERS = SchemaValidator(core_schema.list_schema(core_schema.float_schema(strict=True), strict=True, fail_fast=True))


def numbers_of(value: list[Any]) -> list[float]:
    """Return the numbers of a list. Raises `InputError` with the place of the first item that is none."""
    try:
        numbers: list[float] = _NUMBERS.validate_python(value)
    except ValidationError as error:
        (place,) = error.errors(include_url=False)[0]["loc"]
        raise InputError(f"[{place}]", "a number", describe(value[int(place)])) from error
    return numbers


def _dimension(value: int, info: Info) -> int:
    check_dim(value, info.context.collection.dim, "", f'collection "{info.context.collection.name}"')
    return value


def _extras(value: Any, info: Info) -> Extras:
    """Return what targets are sent with, from the field `with`."""
    if not isinstance(value, list) or not all(isinstance(item, str) and _EXTRA.fullmatch(item) for item in value):
        received = clip(orjson.dumps(value).decode()) if isinstance(value, list) else describe(value)
        raise InputError("", f"a list of {PAYLOAD}, {_COLUMN}<column> and {VECTOR}", received)
    columns = tuple(item.removeprefix(_COLUMN) for item in value if item.startswith(_COLUMN))
    parts = info.context.collection.parts
    known = parts.payload_types
    free = parts.payload_kind == "json"
    most = (_MOST_KEYS if free else len(known)) + 2
    if len(value) > most:
        raise InputError("", f"at most {most}, each once", len(value))
    for column in () if free else columns:
        check_column(column, known, "")
    every = PAYLOAD in value or not columns
    return Extras(PAYLOAD in value or bool(columns), VECTOR in value, None if every else columns)


def check_column(column: str, known: Iterable[str], parameter: str) -> None:
    """Raise `UnknownField` for a column that is not one of those that payload is known to have."""
    if column not in known:
        expected = f"one of {', '.join(known)}" if known else "none, as there is no payload"
        raise UnknownField(parameter, f"payload columns: {expected}", clip(column))


_ID_MEANING = "A number or a string, as the collection's ids are."
_ID: Json = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
_RELEVANT = {"type": "array", "items": {"anyOf": [*_ID["anyOf"], {"type": "array", "items": _ID}, {"type": "null"}]}}
_VECTOR = {
    "anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "string"}],
    "description": "Numbers, or base64 of little-endian float32; as long as the collection's dim.",
}
IdJson = TypeAliasType("IdJson", Annotated[int | str, Field(description=_ID_MEANING)])
StoredId = TypeAliasType("StoredId", Annotated[int | str, Checked(_stored_id, {**_ID, "description": _ID_MEANING})])
RelevantIds = Annotated[
    list[list[int | str] | None], Checked(lambda value, info: label_ids(value, info.context.collection), _RELEVANT)
]
IMAGE_BASE64: Json = {
    "type": "string",
    "contentEncoding": "base64",
    "description": "A JPEG, PNG, WebP or GIF in base64.",
}
PictureBytes = Annotated[bytes, Checked(_picture_of_base64, IMAGE_BASE64)]
QueryVector = TypeAliasType("QueryVector", Annotated[F32, Checked(_query_vector, _VECTOR)])
FilterJson = Annotated[
    Filter,
    Checked(
        lambda value, info: filter_of(info.context.collection.parts, value, name=""),
        refer("Filter"),
    ),
]
FILTERS = filter_schemas(REFERENCE)
"""The components that `FilterJson` refers to."""
PayloadRow = Annotated[Json, AfterValidator(_payload_row)]
Share = Annotated[float, Checked(_share, {"type": "number", "minimum": 0, "maximum": 1})]
MinSeq = Annotated[
    Annotated[int, Field(ge=0)] | None,
    Field(description="What answers has this write, whichever worker it is: the seq that the answer to a write gave."),
]
Dimension = Annotated[
    Annotated[int, Field(ge=1), AfterValidator(_dimension)] | None,
    Field(description="The dimension of the vectors, to be checked, as a binary body does not tell it."),
]
_EXTRA_SCHEMA = {
    "type": "string",
    "pattern": _EXTRA.pattern,
    "description": f"{PAYLOAD}, {_COLUMN}<column> for some of its columns, or {VECTOR}.",
}
Sent = Annotated[Extras, Checked(_extras, {"type": "array", "items": _EXTRA_SCHEMA})]
