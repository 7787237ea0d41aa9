"""Checks descriptions of encoders, field by field, and writes them."""

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from hubless.errors import InputError, storage_errors

ENCODER_FILE = "encoder.json"
"""File with the description of an encoder, in the folder of a version."""

_TYPES = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
}
_BOUNDS = {"minimum": "of at least {}", "exclusiveMinimum": "above {}"}

M = TypeVar("M", bound=BaseModel)


def parse_description(model: type[M], description: Mapping[str, Any]) -> M:
    """Return the description as a record of the model.

    Raises
    ------
    InputError
        for the first missing, unknown or wrong field. It names the field, what was expected and what came. It never
        shows a text that came: that may be a key in the place of the name of its variable.
    """
    try:
        return model.model_validate(description)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0])
        raise InputError(f"encoder, {field}", *_expected_and_received(model, field, first)) from None


def write_description(folder: Path, description: BaseModel) -> None:
    """Write `encoder.json`, without the fields that are not set, into an existing folder."""
    with storage_errors(Path(folder)):
        (Path(folder) / ENCODER_FILE).write_text(description.model_dump_json(exclude_none=True), "utf-8")


def _expected_and_received(model: type[BaseModel], field: str, error: ErrorDetails) -> tuple[str, str]:
    if error["type"] == "extra_forbidden":
        nearest = get_close_matches(field, model.model_fields, 1)
        meant = f"; did you mean {nearest[0]}?" if nearest else ""
        return f"one of {', '.join(model.model_fields)}", f"an unknown field{meant}"
    received = "nothing" if error["type"] == "missing" else _in_few_words(error["input"])
    if error["type"] == "value_error":
        return error["msg"].removeprefix("Value error, "), received
    return _wanted(model.model_json_schema()["properties"][field]), received


def _wanted(schema: dict[str, Any]) -> str:
    """Return what a field must be, from its JSON schema."""
    schema = next(iter(schema.get("anyOf", ())), schema)
    if "const" in schema:
        return repr(schema["const"])
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    bounds = [words.format(schema[bound]) for bound, words in _BOUNDS.items() if bound in schema]
    return " ".join([_TYPES[schema["type"]], *bounds])


def _in_few_words(value: object) -> str:
    """Return a JSON value in a few words, without the content of texts, lists and objects."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case str():
            return "a text"
        case list() | tuple():
            return "a list"
        case dict():
            return "an object"
    return type(value).__name__
