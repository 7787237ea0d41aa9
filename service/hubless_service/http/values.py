"""Kinds of fields in a request. Each kind checks its values, and says in JSON schema which values it takes.

In the place of a limit a schema has the name of the setting that says it. `openapi` replaces the name by the value.

A kind raises `InputError` with the place inside the field, such as `[7]`. `requests.read` adds the field's name.
"""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import orjson
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidatorFunctionWrapHandler
from pydantic_core import CoreSchema, core_schema

import hubless
from hubless.errors import InputError, NotFinite, UnknownField
from hubless.filters import Filter, FilterLimits, read_row
from hubless.vectors.arrays import F32, check_dim
from hubless_service.http import decoding
from hubless_service.http.problems import clip, describe
from hubless_service.settings import Settings

Json = dict[str, Any]
Info = core_schema.ValidationInfo
FILTER = "Filter"
"""The name of the schema of filters, which is the library's."""
PAYLOAD, VECTOR = "payload", "vector"
_COLUMN = f"{PAYLOAD}."
_EXTRA = re.compile(rf"^({PAYLOAD}(\.[\s\S]*)?|{VECTOR})$")
_NUMBERS = core_schema.list_schema(core_schema.float_schema(strict=True), strict=True, fail_fast=True)


class Subject(NamedTuple):
    """What a request is about: it decides which values are right."""

    collection: hubless.Collection
    settings: Settings


def subject_of(info: Info) -> Subject:
    """What the request that is being checked is about."""
    return cast(Subject, info.context)


@dataclass(frozen=True, slots=True)
class Extras:
    """What each target is sent with beside its id.

    Attributes
    ----------
    columns : of the payload; None is all of them
    """

    payload: bool = False
    vector: bool = False
    columns: tuple[str, ...] | None = None


NO_EXTRAS = Extras()
_MOST_KEYS = 100
"""Keys of free payload that a request may ask for."""


class FieldKind(ABC):
    """A kind of field, to stand in its annotation: `Annotated[int, Whole("max_limit")]`."""

    @abstractmethod
    def schema(self) -> Json:
        """The values that are taken, as JSON schema."""

    @abstractmethod
    def read(self, value: Any, subject: Subject) -> Any:
        """Check a JSON value, and return it as the service uses it.

        Raises
        ------
        InputError
        """

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        read = self.read
        return core_schema.with_info_plain_validator_function(lambda value, info: read(value, info.context))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        return self.schema()


@dataclass(frozen=True)
class Whole(FieldKind):
    """A whole number, up to what a setting allows."""

    most: str
    least: int = 1

    def schema(self) -> Json:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}

    def read(self, value: Any, subject: Subject) -> int:
        most: int = getattr(subject.settings, self.most)
        if type(value) is not int or not self.least <= value <= most:
            raise InputError("", f"a whole number from {self.least} to {most}", describe(value))
        return value


@dataclass(frozen=True)
class Text(FieldKind):
    """A string, as long as a setting allows, or of so many characters."""

    most: str | int

    def schema(self) -> Json:
        return {"type": "string", "maxLength": self.most}

    def read(self, value: Any, subject: Subject) -> str:
        most: int = self.most if isinstance(self.most, int) else getattr(subject.settings, self.most)
        if not isinstance(value, str):
            raise InputError("", "a string", describe(value))
        if len(value) > most:
            raise InputError("", f"at most {most} characters", str(len(value)))
        return value


class Sequence(FieldKind):
    """The number of a write."""

    def schema(self) -> Json:
        return {"type": "integer", "minimum": 0}

    def read(self, value: Any, subject: Subject) -> int:
        if type(value) is not int or not 0 <= value < 2**63:
            raise InputError("", "a whole number of at least 0", describe(value))
        return value


class Choice(FieldKind):
    """One of a few words."""

    def __init__(self, *words: str) -> None:
        self._words = words

    def schema(self) -> Json:
        return {"type": "string", "enum": [*self._words]}

    def read(self, value: Any, subject: Subject) -> str:
        if not isinstance(value, str) or value not in self._words:
            raise InputError("", f"one of {', '.join(self._words)}", describe(value))
        return value


class PayloadRow(FieldKind):
    """The payload of a target: values by column, which become what Arrow holds in that column."""

    def schema(self) -> Json:
        return {"type": "object", "additionalProperties": True}

    def read(self, value: Any, subject: Subject) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise InputError("", "an object", describe(value))
        return read_row(value, subject.collection.payload_schema)


class StoredId(FieldKind):
    """An id, of the type of the collection's ids."""

    def schema(self) -> Json:
        return {"anyOf": [{"type": "integer"}, {"type": "string"}]}

    def read(self, value: Any, subject: Subject) -> int | str:
        numbers = subject.collection.manifest.id_type == "int64"
        if type(value) is not (int if numbers else str):
            expected = "a whole number" if numbers else "a string"
            where = f'as the ids of collection "{subject.collection.name}" are'
            raise InputError("", f"{expected}, {where}", describe(value))
        return value


class QueryVector(FieldKind):
    """A list of numbers, or base64: a vector that becomes (1, d), prepared for the collection."""

    def schema(self) -> Json:
        return {"anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "string"}]}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def read(value: Any, numbers: ValidatorFunctionWrapHandler, info: Info) -> F32:
            # only the handler looks at each number, as it does so without Python
            return self.read(numbers(value) if isinstance(value, list) else value, subject_of(info))

        return core_schema.with_info_wrap_validator_function(read, _NUMBERS)

    def read(self, value: Any, subject: Subject) -> F32:
        if isinstance(value, list):
            try:
                return subject.collection.prepare(decoding.from_numbers(value), "")
            except NotFinite:
                return subject.collection.prepare(value, "")  # which says the number as it was sent
        if isinstance(value, str):
            return subject.collection.prepare(decoding.from_base64(value), "")
        raise InputError("", "a list of numbers, or a string of base64", describe(value))


class Dimension(FieldKind):
    """The dimension of the vectors of a binary body: two of a wrong dimension can be as long as three of the right."""

    def schema(self) -> Json:
        return {"type": "integer", "minimum": 1}

    def read(self, value: Any, subject: Subject) -> int:
        if type(value) is not int or value < 1:
            raise InputError("", "a whole number of at least 1", describe(value))
        check_dim(value, subject.collection.dim, "", f'collection "{subject.collection.name}"')
        return value


class Sent(FieldKind):
    """A list of what each target is sent with."""

    def schema(self) -> Json:
        meaning = f"{PAYLOAD}, {_COLUMN}<column> for some of its columns, or {VECTOR}."
        return {"type": "array", "items": {"type": "string", "pattern": _EXTRA.pattern, "description": meaning}}

    def read(self, value: Any, subject: Subject) -> Extras:
        known = [*subject.collection.payload_types]
        free = subject.collection.payload_kind == "json"
        if not isinstance(value, list) or not all(isinstance(item, str) and _EXTRA.fullmatch(item) for item in value):
            received = clip(orjson.dumps(value).decode()) if isinstance(value, list) else describe(value)
            raise InputError("", f"a list of {PAYLOAD}, {_COLUMN}<column> and {VECTOR}", received)
        most = _MOST_KEYS if free else len(known)
        if len(value) > most + 2:
            raise InputError("", f"at most {most + 2}, each once", str(len(value)))
        columns = tuple(item.removeprefix(_COLUMN) for item in value if item.startswith(_COLUMN))
        for column in columns:
            if not free and column not in known:
                expected = f"one of {', '.join(known)}" if known else "none, as there is no payload"
                raise UnknownField("", f"payload columns: {expected}", clip(column))
        whole = PAYLOAD in value or not columns
        return Extras(PAYLOAD in value or bool(columns), VECTOR in value, None if whole else columns)


class Filtering(FieldKind):
    """A filter, as the library reads it."""

    def schema(self) -> Json:
        return {"$ref": f"#/components/schemas/{FILTER}"}

    def read(self, value: Any, subject: Subject) -> Filter:
        table = subject.settings
        limits = FilterLimits(table.max_filter_depth, table.max_filter_conditions, table.max_filter_values)
        return subject.collection.filter(value, limits, "")


@dataclass(frozen=True)
class Several:
    """A list of at least one item, as many as a setting allows. The annotated type says what an item is."""

    noun: str
    most: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def read(value: Any, items: ValidatorFunctionWrapHandler, info: Info) -> Any:
            if not isinstance(value, list):
                raise InputError("", f"a list of {self.noun}", describe(value))
            most: int = getattr(subject_of(info).settings, self.most)
            if not 1 <= len(value) <= most:
                raise InputError("", f"1 to {most} {self.noun}", str(len(value)))
            return items(value)

        return core_schema.with_info_wrap_validator_function(read, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        return {**handler(schema), "minItems": 1, "maxItems": self.most}
