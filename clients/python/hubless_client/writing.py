"""Targets that are written: put, patched, deleted. When a call returns they are on the server's disk."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hubless_client.bodies import content_of, in_json, listed
from hubless_client.call import Call, Content, Timeout
from hubless_client.errors import CannotSend
from hubless_client.paths import in_collection, of_point
from hubless_client.query import Image
from hubless_client.records import Record
from hubless_client.sending import ClientMethod
from hubless_client.values import given
from hubless_client.vectors import MatrixLike, VectorLike, in_base64, pack_many

INSERT = "insert"
"""The mode that refuses ids that are there, and so refuses its own repetition."""


@dataclass(frozen=True, slots=True)
class Written(Record):
    """Result of storing points.

    Attributes
    ----------
    seq : number of the write, for `min_seq` of reads
    inserted, updated : how many ids are new, and how many targets were replaced
    """

    seq: int
    inserted: int
    updated: int


@dataclass(frozen=True, slots=True)
class Deleted(Record):
    """Result of deleting points.

    Attributes
    ----------
    seq : number of the write, for `min_seq` of reads
    deleted : how many targets
    """

    seq: int
    deleted: int


class WriteMethods:
    """Writes. The client sends one again if a second one does no harm: without `if_match`, and not to insert."""

    @ClientMethod
    def put(
        self,
        collection: str,
        ids: Iterable[str | int],
        vectors: MatrixLike | Sequence[VectorLike | None] | None = None,
        payload: Iterable[Mapping[str, Any] | None] | None = None,
        *,
        texts: Iterable[str] | None = None,
        images: Iterable[Image] | None = None,
        mode: str | None = None,
        if_match: int | None = None,
        durability: str | None = None,
        request_id: str | None = None,
        timeout: Timeout | None = None,
    ) -> Call[Written]:
        """Store targets, or replace those of the same ids; all or none.

        Parameters
        ----------
        ids : (a,) as the ids of the collection are; the server takes 1,000 at once
        vectors : (a, d); what has None for a vector is found by payload and id only
        payload : (a,) values by column; what a target lacks is null
        texts, images : (a,) instead of vectors, for collections that have an encoder; an image is bytes, or the path
            of a file
        mode : "upsert", the default; "insert" refuses ids that are there, "ignore" leaves their targets as they
            are, "update" refuses ids that are not there
        if_match : the `seq` that the one target must still have; else `ApiPreconditionFailed`
        durability : "memory" does not wait for the disk: for loads that you can repeat
        request_id, timeout : as in every call
        """
        points: list[dict[str, Any]] = [{"id": wanted} for wanted in listed("ids", ids)]
        ways: dict[str, list[Any]] = {}
        if vectors is not None:
            ways["vectors"] = _members(vectors)
        if texts is not None:
            ways["texts"] = [{"text": text} for text in listed("texts", texts)]
        if images is not None:
            ways["images"] = [{"image": in_base64(content_of("images", image))} for image in listed("images", images)]
        if len(ways) > 1:
            raise CannotSend(f"put: expected one of vectors, texts and images, got {' and '.join(ways)}")
        if payload is not None:
            ways["payload"] = [{} if row is None else {"payload": dict(row)} for row in listed("payload", payload)]
        for parameter, values in ways.items():
            if len(values) != len(points):
                raise CannotSend(f"{parameter}: expected {len(points)}, one for each id, got {len(values)}")
            for point, value in zip(points, values, strict=True):
                point.update(value)
        options = {"mode": mode, "durability": durability}
        return self._written("PUT", collection, points, options, if_match, request_id, timeout)

    @ClientMethod
    def patch(
        self,
        collection: str,
        payload: Mapping[str | int, Mapping[str, Any]],
        *,
        if_match: int | None = None,
        durability: str | None = None,
        request_id: str | None = None,
        timeout: Timeout | None = None,
    ) -> Call[Written]:
        """Change the payload of targets; all or none.

        Parameters
        ----------
        payload : id → the columns to change; columns that are not given stay
        if_match, durability, request_id, timeout : as in `put`
        """
        if not isinstance(payload, Mapping):
            raise CannotSend(f"payload: expected a dict of ids with their columns, got {type(payload).__name__}")
        points = [{"id": wanted, "payload": dict(values)} for wanted, values in payload.items()]
        return self._written("PATCH", collection, points, {"durability": durability}, if_match, request_id, timeout)

    @ClientMethod
    def delete(
        self,
        collection: str,
        ids: Iterable[str | int] | None = None,
        *,
        filter: Mapping[str, Any] | None = None,
        if_match: int | None = None,
        durability: str | None = None,
        request_id: str | None = None,
        timeout: Timeout | None = None,
    ) -> Call[Deleted]:
        """Delete the targets of some ids, or all that meet a filter.

        Parameters
        ----------
        ids : those that no target has are passed over
        filter : instead of ids
        if_match, durability, request_id, timeout : as in `put`
        """
        if (ids is None) == (filter is None):
            raise CannotSend(f"delete: expected either ids or a filter, got {'neither' if ids is None else 'both'}")
        document: dict[str, Any] = {"filter": filter} if ids is None else {"ids": listed("ids", ids)}
        content = in_json(document | given({"durability": durability}), _tag(if_match))
        path = in_collection(collection, "points", "delete")
        repeats = if_match is None
        return Call("POST", path, Deleted.from_json, content, request_id=request_id, timeout=timeout, repeats=repeats)

    @ClientMethod
    def delete_point(
        self,
        collection: str,
        id: str | int,
        *,
        if_match: int | None = None,
        durability: str | None = None,
        request_id: str | None = None,
        timeout: Timeout | None = None,
    ) -> Call[Deleted]:
        """Delete one target. Raises `ApiPointNotFound` if no target has the id.

        Parameters
        ----------
        if_match, durability, request_id, timeout : as in `put`
        """
        content = Content(given({"durability": durability}), if_match=_tag(if_match))
        path = of_point(collection, id)
        return Call("DELETE", path, Deleted.from_json, content, request_id=request_id, timeout=timeout, repeats=False)

    @staticmethod
    def _written(
        method: str,
        collection: str,
        points: Sequence[Mapping[str, Any]],
        options: Mapping[str, str | None],
        if_match: int | None,
        request_id: str | None,
        timeout: Timeout | None,
    ) -> Call[Written]:
        content = in_json({"points": points} | given(options), _tag(if_match))
        path = in_collection(collection, "points")
        repeats = if_match is None and options.get("mode") != INSERT
        return Call(method, path, Written.from_json, content, request_id=request_id, timeout=timeout, repeats=repeats)


def _tag(seq: int | None) -> str | None:
    return None if seq is None else f'"{seq}"'


def _members(vectors: MatrixLike | Sequence[VectorLike | None]) -> list[dict[str, str | None]]:
    """Return the vector members of each point."""
    if not isinstance(vectors, list | tuple) or all(row is not None for row in vectors):
        return [{"vector": row} for row in pack_many(vectors).in_base64()]  # type: ignore[arg-type]
    members = iter(_members([row for row in vectors if row is not None]))
    return [{"vector": None} if row is None else next(members) for row in vectors]
