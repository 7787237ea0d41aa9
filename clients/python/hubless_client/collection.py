"""The collections that the server serves."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from hubless_client.bodies import in_json
from hubless_client.call import Call, Content, Json, Timeout, nothing
from hubless_client.paths import COLLECTIONS, in_collection
from hubless_client.records import Record
from hubless_client.sending import ClientMethod


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionInfo(Record):
    """A collection, and its current version.

    Attributes
    ----------
    count : n, the number of targets
    dim : d, the dimension that a query vector must have
    metric : "cosine", "dot" or "euclidean"
    correction, index : the choice, with its parameters
    measured : recall and hubness, raw and corrected, as the build measured them; None without a query bank
    confidence : the model of confidence: whether it is calibrated, and by how many labelled pairs; None without one
    id_type : "int64" or "string"
    payload : "columns", each with its type; "json" for objects with any keys; None without payload
    payload_types : the type of each payload column, which filters must match
    strength : that of a query that gives none
    live : what `hubness` found last of the strength that live queries speak for; None before
    text, image : whether it takes queries by text, and by picture
    pictures : whether the server may have pictures of its targets
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
    measured: dict[str, Any] | None
    id_type: str
    payload_columns: tuple[str, ...]
    payload_types: dict[str, str]
    text: bool
    image: bool = False
    pictures: bool = False
    versions: tuple[str, ...]
    aliases: tuple[str, ...]
    strength: float
    live: dict[str, Any] | None
    payload: str | None
    confidence: dict[str, Any] | None

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

    @ClientMethod
    def create_collection(
        self,
        name: str,
        dim: int,
        metric: str,
        id_type: str,
        payload_schema: Mapping[str, str] | None = None,
        *,
        dims: int | None = None,
        keep_full: bool = False,
        encoder: Mapping[str, Any] | None = None,
        request_id: str | None = None,
        timeout: Timeout | None = None,
    ) -> Call[CollectionInfo]:
        """Create an empty collection. Nothing changes if it is there with these settings.

        Parameters
        ----------
        dim : d, of all vectors
        metric : "cosine", "dot" or "euclidean"
        id_type : "string" or "int64"
        payload_schema : names of types by column; None takes any JSON objects
        dims, keep_full : dimensions of the index, with `keep_full=True`; whole vectors rank the targets that it finds
        encoder : the description of an endpoint that turns texts into vectors; an empty collection that is there takes
            it, too. Needs a key of role admin
        request_id, timeout : as in every call
        """
        document: dict[str, Any] = {"dim": dim, "metric": metric, "id_type": id_type}
        if payload_schema is not None:
            document["payload_schema"] = dict(payload_schema)
        if dims is not None or keep_full:
            document |= {"dims": dims, "keep_full": keep_full}
        if encoder is not None:
            document["encoder"] = dict(encoder)
        path, body = in_collection(name), in_json(document)
        return Call("PUT", path, CollectionInfo.from_json, body, request_id=request_id, timeout=timeout)

    @ClientMethod
    def delete_collection(
        self, name: str, *, aliases: bool = False, request_id: str | None = None, timeout: Timeout | None = None
    ) -> Call[None]:
        """Delete a collection, with all its versions and writes.

        Parameters
        ----------
        aliases : remove the aliases that stand for it, too; without this they are in the way
        request_id, timeout : as in every call
        """
        content = Content({"aliases": "true"} if aliases else {})
        return Call(
            "DELETE", in_collection(name), nothing, content, request_id=request_id, timeout=timeout, repeats=False
        )
