"""What targets are sent with: payload, all of it or some columns, and vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

import hubless
from hubless.errors import InputError, UnknownField
from hubless_service.http.problems import clip, describe

PAYLOAD, VECTOR = "payload", "vector"
COLUMN = f"{PAYLOAD}."


@dataclass(frozen=True, slots=True)
class Extras:
    """What each target is sent with beside its id.

    Attributes
    ----------
    columns : of the payload, where not all of it
    """

    payload: bool = False
    vector: bool = False
    columns: tuple[str, ...] | None = None


NOTHING = Extras()


def read_extras(
    where: str, fields: dict[str, Any], collection: hubless.Collection, default: Extras = NOTHING
) -> Extras:
    """Read the field `with`; null is the default."""
    value = fields.get("with")
    if value is None:
        return default
    if not isinstance(value, list) or not all(map(_is_extra, value)):
        received = clip(orjson.dumps(value).decode()) if isinstance(value, list) else describe(value)
        raise InputError(f"{where}with", f"a list of {PAYLOAD}, {COLUMN}<column> and {VECTOR}", received)
    columns = tuple(item.removeprefix(COLUMN) for item in value if item.startswith(COLUMN))
    known = collection.manifest.payload_columns
    for column in columns:
        if column not in known:
            expected = f"one of {', '.join(known)}" if known else "none, as there is no payload"
            raise UnknownField(f"{where}with", f"payload columns: {expected}", clip(column))
    every = PAYLOAD in value or not columns
    return Extras(PAYLOAD in value or bool(columns), VECTOR in value, None if every else columns)


def add_extras(
    collection: hubless.Collection, targets: Sequence[dict[str, Any]], rows: NDArray[np.integer], extras: Extras
) -> None:
    """Add to each target, which stands in such a row, what it is to be sent with."""
    if extras.payload:
        for target, payload in zip(targets, collection.payload(rows, extras.columns), strict=True):
            target[PAYLOAD] = payload
    if extras.vector and targets:
        for target, vector in zip(targets, collection.vectors(rows), strict=True):
            target[VECTOR] = vector


def _is_extra(item: object) -> bool:
    return isinstance(item, str) and (item in (PAYLOAD, VECTOR) or item.startswith(COLUMN))
