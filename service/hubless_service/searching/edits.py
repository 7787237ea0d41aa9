"""Edits that a request wants, planned against the collection as it is when its turn comes."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from hubless.errors import InputError, PointNotFound, PreconditionFailed
from hubless.filters import Filter, table_of
from hubless.search.collection import Collection
from hubless.search.transaction import Transaction
from hubless.search.writes import Put, Remove, Write
from hubless.vectors.arrays import F32
from hubless.vectors.comparing import OF_TARGETS
from hubless.vectors.ids import id_array
from hubless_service.http.arrow import check_distinct, put_of
from hubless_service.http.problems import HttpProblem, clip
from hubless_service.http.requests import (
    DeletePointsRequest,
    PatchPointsRequest,
    PointToPatch,
    PutPointsRequest,
)
from hubless_service.searching.writer import WritePlan

_TAG = re.compile(r'(?<!W/)"?\b([0-9]{1,19})\b"?')
Planned = tuple[Write | None, dict[str, Any]]


def plan_put(
    wanted: PutPointsRequest, ids: list[str | int], collection: Collection, encoded: Mapping[int, F32]
) -> WritePlan:
    """Store targets of some ids."""
    column = _distinct(ids)
    space = collection.parts.space
    vectors = np.zeros((len(ids), space.width), np.float32)
    has_vector = np.zeros(len(ids), np.bool_)
    turned = space.turned
    for row, point in enumerate(wanted.points):
        if (vector := encoded.get(row, point.vector)) is not None:
            vectors[row] = turned(vector, OF_TARGETS)[0]
            has_vector[row] = True
        elif "vector" not in point.model_fields_set:
            _check_meant(row, point.payload or {}, collection.dim)
    payload = table_of([point.payload or {} for point in wanted.points], collection.parts.payload_schema)
    return partial(_put, Put(vectors, column, payload, has_vector), wanted.mode or "upsert")


def _check_meant(row: int, payload: Mapping[str, Any], dim: int) -> None:
    """Refuse a point without a vector whose payload has so many numbers: no query would find it."""
    for key, value in payload.items():
        if isinstance(value, list) and len(value) == dim and all(type(each) in (int, float) for each in value):
            expected = f"a vector, which payload.{clip(key)} could be meant as; null if the point has none"
            raise InputError(f"points[{row}].vector", expected, "none")


def plan_table(table: pa.Table, mode: str | None, collection: Collection) -> WritePlan:
    """Store the targets of an Arrow table: columns `id` and `vector`, and the payload."""
    return partial(_put, put_of(table, collection), mode or "upsert")


def expecting(plan: WritePlan, wanted: str | int, header: str) -> WritePlan:
    """A plan that is refused unless a target is still as an If-Match header says."""
    tags = _TAG.findall(header)
    if header.strip() != "*" and not tags:
        raise InputError("If-Match", 'the seq of the target, such as "42", or *', clip(header) or "nothing")

    def checked(transaction: Transaction) -> Planned:
        seq = transaction.seq_of(wanted)
        if seq is None or (tags and str(seq) not in tags):
            found = "is not there" if seq is None else f"has seq {seq}"
            raise PreconditionFailed(f"the target {clip(repr(wanted))} {found}; nothing was written: read it again")
        return plan(transaction)

    return checked


def plan_patch(wanted: PatchPointsRequest, ids: list[str | int], collection: Collection) -> WritePlan:
    """Change the payload of targets. Raises `InputError` if an id stands twice, or the collection has no payload."""
    if collection.parts.payload_schema is None:
        raise InputError("points", "none, as the collection has no payload", f"{len(wanted.points)} points")
    return partial(_patch, wanted.points, _distinct(ids))


def plan_delete(wanted: DeletePointsRequest, collection: Collection) -> WritePlan:
    """Delete the targets of some ids, or those that meet a filter. Raises `InputError` for both or neither."""
    if (wanted.ids is None) == (wanted.filter is None):
        raise InputError("ids", "either ids or filter", "neither" if wanted.ids is None else "both")
    if wanted.filter is not None:
        return partial(_delete_matches, wanted.filter)
    return partial(_delete, list(dict.fromkeys(wanted.ids or ())))


def _put(put: Put, mode: str, transaction: Transaction) -> Planned:
    ids = put.ids.to_pylist()
    there = transaction.have(ids)
    for wanted, known in zip(ids, there, strict=True):
        if mode == "insert" and known:
            raise HttpProblem("point_exists", f"A target has the id {clip(repr(wanted))} already; nothing was stored.")
        if mode == "update" and not known:
            raise PointNotFound(f"no target has the id {wanted!r}; nothing was stored")
    if mode == "ignore":
        new = np.flatnonzero(~np.array(there, np.bool_))
        return (put.taken(new) if len(new) else None), {"inserted": len(new), "updated": 0}
    updated = sum(there)
    return put, {"inserted": len(ids) - updated, "updated": updated}


def _patch(points: Sequence[PointToPatch], ids: pa.Array, transaction: Transaction) -> Planned:
    collection = transaction.collection()
    rows = np.array([collection.row(point.id) for point in points], np.int64)
    stored = collection.payload(rows)
    patches = [point.payload or {} for point in points]
    payload = [{**(before or {}), **patch} for before, patch in zip(stored, patches, strict=True)]
    if collection.parts.payload_kind == "json":
        payload = [
            {key: value for key, value in row.items() if value is not None or key not in patch}
            for row, patch in zip(payload, patches, strict=True)
        ]
    targets = collection.parts.targets
    table = table_of(payload, collection.parts.payload_schema)
    return Put(targets.vectors(rows), ids, table, targets.have_vectors(rows)), {"inserted": 0, "updated": len(points)}


def _delete(ids: Sequence[str | int], transaction: Transaction) -> Planned:
    return _removed([wanted for wanted, there in zip(ids, transaction.have(ids), strict=True) if there])


def delete_one(wanted: str | int, transaction: Transaction) -> Planned:
    """Delete one target, which must be there. Raises `PointNotFound`."""
    if not transaction.has(wanted):
        raise PointNotFound(f"no target has the id {wanted!r}; nothing was deleted")
    return _removed([wanted])


def _delete_matches(filter: Filter, transaction: Transaction) -> Planned:
    collection = transaction.collection()
    return _removed(collection.ids(collection.matches(filter).rows))


def _removed(found: Sequence[str | int]) -> Planned:
    return (Remove(id_array(found, "ids")) if found else None), {"deleted": len(found)}


def _distinct(ids: list[str | int]) -> pa.Array:
    check_distinct(ids, "points[{}].id")
    return id_array(ids, "ids")
