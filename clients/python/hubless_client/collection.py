"""What the server serves."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from hubless_client.call import Call, Json, Timeout
from hubless_client.paths import COLLECTIONS, in_collection
from hubless_client.sending import ClientMethod


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection, and its current version.

    Attributes
    ----------
    count : n, the number of targets
    dim : d, the dimension that a query vector must have
    metric : "cosine" or "dot"
    correction, index : the choice, with its parameters
    measured : recall and hubness, raw and corrected, as the build measured them
    id_type : "int64" or "string"
    payload_types : the type of each payload column, which filters must match
    strength : that of a query that gives none; 1 if the server is too old to say
    live : the strength that live queries speak for, their number, and whether that is enough; None if not known
    text : whether it takes queries by text
    versions : the ids of all stored versions, oldest first
    aliases : other names of the collection
    """

    name: str
    version: str
    created: datetime
    count: int
    dim: int
    metric: str
    correction: dict[str, Any]
    index: dict[str, Any]
    measured: dict[str, Any]
    id_type: str
    payload_columns: tuple[str, ...]
    payload_types: dict[str, str]
    text: bool
    versions: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    strength: float = 1.0
    live: dict[str, Any] | None = None

    @classmethod
    def from_json(cls, body: Json, _request_id: str | None = None) -> Self:
        """Read the answer about one collection."""
        return cls(
            name=body["name"],
            version=body["version"],
            created=datetime.fromisoformat(body["created"]),
            count=body["count"],
            dim=body["dim"],
            metric=body["metric"],
            correction=body["correction"],
            index=body["index"],
            measured=body["measured"],
            id_type=body["id_type"],
            payload_columns=tuple(body["payload_columns"]),
            payload_types=body["payload_types"],
            text=body["text"],
            versions=tuple(body.get("versions", ())),
            aliases=tuple(body.get("aliases", ())),
            strength=body.get("strength", 1.0),
            live=body.get("live"),
        )

    @classmethod
    def list_from_json(cls, body: Json, _request_id: str | None) -> list[Self]:
        """Read the answer about all collections."""
        return [cls.from_json(entry) for entry in body["collections"]]


class CollectionMethods:
    """Collections."""

    @ClientMethod
    def collections(
        self, *, request_id: str | None = None, timeout: Timeout | None = None
    ) -> Call[list[CollectionInfo]]:
        """The collections that the server serves."""
        return Call("GET", COLLECTIONS, CollectionInfo.list_from_json, request_id=request_id, timeout=timeout)

    @ClientMethod
    def collection(
        self, name: str, *, request_id: str | None = None, timeout: Timeout | None = None
    ) -> Call[CollectionInfo]:
        """One collection: its version, size, dimension, correction, index and measured quality."""
        path = in_collection(name)
        return Call("GET", path, CollectionInfo.from_json, request_id=request_id, timeout=timeout)
