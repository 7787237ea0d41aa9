"""Stored targets. A field that a newer server adds is ignored; a field that is missing makes a `BadAnswer`."""

from array import array
from dataclasses import dataclass
from typing import Any, Self

from hubless_client.call import Json
from hubless_client.listing import Listing
from hubless_client.vectors import as_array


@dataclass(frozen=True, slots=True)
class Point:
    """One target, as stored.

    Attributes
    ----------
    id : as given to the build
    offset : the target's hubness in units of similarity, positive = hub
    payload : None if the collection has none
    vector : float32, shape (d,); None unless you ask for it; numpy reads it without copying
    collection, version : what the server read it from
    request_id : the id of the request in the server's log
    seq : for `if_match` of writes; None if the server is older
    """

    id: str | int
    offset: float
    payload: dict[str, Any] | None
    vector: "array[float] | None"
    collection: str
    version: str
    request_id: str | None = None
    seq: int | None = None

    @classmethod
    def from_json(cls, body: Json, request_id: str | None) -> Self:
        """Read the answer with one target."""
        return cls(
            id=body["id"],
            offset=body["offset"],
            payload=body.get("payload"),
            vector=as_array(body.get("vector")),
            collection=body["collection"],
            version=body["version"],
            request_id=request_id,
            seq=body.get("seq"),
        )

    @classmethod
    def several_from_json(cls, body: Json, request_id: str | None) -> tuple[Self, ...]:
        """Read the targets of a longer answer, which names the collection once."""
        origin = {"collection": body["collection"], "version": body["version"]}
        return tuple(cls.from_json({**target, **origin}, request_id) for target in body["points"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Points(Listing[Point]):
    """Several targets, in the order of the ids that you gave.

    Attributes
    ----------
    items, collection, version, request_id : as in every `Listing`
    missing : the ids that no target has
    """

    missing: tuple[str | int, ...]

    @classmethod
    def from_json(cls, body: Json, request_id: str | None) -> Self:
        """Read the answer with several targets."""
        return cls(
            items=Point.several_from_json(body, request_id),
            missing=tuple(body["missing"]),
            collection=body["collection"],
            version=body["version"],
            request_id=request_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Listing[Point]):
    """One page of a scroll: `limit` targets or fewer.

    Attributes
    ----------
    items, collection, version, request_id : as in every `Listing`
    cursor : of the next page; None if this is the last
    """

    cursor: str | None

    @classmethod
    def from_json(cls, body: Json, request_id: str | None) -> Self:
        """Read a page."""
        return cls(
            items=Point.several_from_json(body, request_id),
            cursor=body["cursor"],
            collection=body["collection"],
            version=body["version"],
            request_id=request_id,
        )
