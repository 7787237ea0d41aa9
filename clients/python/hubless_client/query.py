"""What to search for and how, as JSON or as binary."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hubless_client.call import Content
from hubless_client.errors import CannotSend
from hubless_client.vectors import Vector, pack_one


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to search. What is None is left to the server.

    Attributes
    ----------
    limit : how many hits; the server's default is 10
    skip : how many of the best are left out
    strength : how much of the offset is applied: 1 is full, 0 is the raw ranking; the server takes 1, and 0
        with an id
    with_payload, with_vector : whether the hits bear them; of payload also the names of some columns
    score_threshold : hits below it are left out
    params : search parameters of the collection's index
    filter : which targets are searched
    explain : whether the hits bear an explanation
    """

    limit: int | None = None
    skip: int | None = None
    strength: float | None = None
    with_payload: bool | Sequence[str] = False
    with_vector: bool = False
    score_threshold: float | None = None
    params: Mapping[str, Any] | None = None
    filter: Mapping[str, Any] | None = None
    explain: bool = False

    def in_json(self) -> dict[str, Any]:
        """Those that are set, as members of a JSON object."""
        named = {
            "limit": self.limit,
            "skip": self.skip,
            "strength": self.strength,
            "with": extras(self.with_payload, self.with_vector) or None,
            "score_threshold": self.score_threshold,
            "params": self.params,
            "filter": self.filter,
            "explain": True if self.explain else None,
        }
        return {name: value for name, value in named.items() if value is not None}

    def in_url(self) -> dict[str, Any] | None:
        """Those that are set, as URL parameters; None where a URL cannot carry them."""
        settings = self.in_json()
        if "params" in settings or "filter" in settings:
            return None
        wanted = settings.get("with", [])
        if any("," in extra for extra in wanted):
            return None
        if self.explain:
            settings["explain"] = "true"
        return settings | ({"with": ",".join(wanted)} if wanted else {})


@dataclass(frozen=True)
class Query(Settings):
    """A vector, shape (d,), a text or a stored target's id, and how to search; see `Settings` for the other attributes.

    Raises
    ------
    CannotSend : none of them is given, or several are
    """

    vector: Vector | None = None
    text: str | None = None
    id: str | int | None = None

    def __post_init__(self) -> None:
        questions = {"vector": self.vector, "text": self.text, "id": self.id}
        given = [name for name, value in questions.items() if value is not None]
        if len(given) != 1:
            got = " and ".join(given) or "none of them"
            raise CannotSend(f"query: expected either a vector, a text or an id, got {got}")

    def document(self) -> dict[str, Any]:
        """The query as a JSON object, its vector in base64."""
        vector = None if self.vector is None else base64(pack_one(self.vector))
        asked = {"vector": vector, "text": self.text, "id": self.id}
        return {**{name: value for name, value in asked.items() if value is not None}, **self.in_json()}


def extras(payload: bool | Sequence[str], vector: bool) -> list[str]:
    """What targets are to be sent with, as the field `with` names it.

    Raises
    ------
    CannotSend : a string was given where the names of columns belong
    """
    if isinstance(payload, str):
        raise CannotSend(f"with_payload: expected True, False, or a list of columns, got the string {payload!r}")
    columns = ["payload"] * payload if isinstance(payload, bool) else [f"payload.{column}" for column in payload]
    return [*columns, *["vector"] * vector]


def base64(packed: bytes) -> str:
    """Little-endian float32 as JSON carries it: a third of the size of a list of numbers."""
    return b64encode(packed).decode("ascii")


def as_floats(packed: bytes, in_url: Mapping[str, Any]) -> Content:
    """Vectors and nothing else as the body, the settings in the URL."""
    return Content(in_url, packed, "application/octet-stream")


def as_json(document: Mapping[str, Any]) -> Content:
    """A document as the body.

    Raises
    ------
    CannotSend : it holds NaN, infinity, or what JSON has no form for
    """
    try:
        body = json.dumps(document, ensure_ascii=False, allow_nan=False, default=_plain).encode()
    except (TypeError, ValueError) as error:
        raise CannotSend(f"request: {error}") from error
    return Content(body=body, media_type="application/json")


def _plain(value: Any) -> Any:
    # A numpy scalar, such as a limit taken from an array, is a number with another name.
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"expected what JSON can carry, got {type(value).__name__}")
