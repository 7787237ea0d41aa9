"""Answers as bytes of JSON, and what is read in a search thread for hits and stored targets."""

import base64
from collections.abc import Callable, Mapping, Sequence
from datetime import date, time
from time import perf_counter
from typing import Any, NamedTuple, cast

import numpy as np
import orjson
from fastapi import Response
from numpy.typing import NDArray
from pydantic import BaseModel

from hubless import Collection, Results
from hubless.vectors.arrays import F32, I64
from hubless_service.http import heavy
from hubless_service.http.answers import HitExplanation, QueryHit, QueryHits, Served, StoredTarget, TargetExtras
from hubless_service.http.requests import JSON
from hubless_service.http.trace import Trace
from hubless_service.http.values import Extras

_JSON_TYPE = (b"content-type", JSON.encode())
_VALUES = 10  # of a hit, and of a payload, as a rule


class SentBeside(NamedTuple):
    """The extras of some targets: payload, vectors (r, d), and which have a vector (r,); None is not sent."""

    payload: Sequence[dict[str, Any] | None] | None
    vectors: F32 | None
    have_vectors: NDArray[np.bool_] | None = None


NOTHING_BESIDE = SentBeside(None, None)


class FoundHits(NamedTuple):
    """The first k hits of one query, in their line of a search's results."""

    results: Results
    line: int
    k: int
    beside: SentBeside


class StoredTargets(NamedTuple):
    """The JSON of stored targets, and about how many values it has, for `heavy.run`."""

    written: list[StoredTarget]
    weight: int


def served(collection: Collection) -> Served:
    """Return the part of an answer that says which version answers."""
    manifest = collection.parts.manifest
    return {"collection": manifest.collection, "version": manifest.version}


def read_beside(collection: Collection, rows: NDArray[np.integer], extras: Extras) -> SentBeside:
    """Read from the disk, or from memory, what the targets of some rows are sent with."""
    payload = collection.payload(rows, extras.columns) if extras.payload else None
    if not (extras.vector and len(rows)):
        return SentBeside(payload, None)
    return SentBeside(payload, collection.vectors(rows), collection.parts.targets.have_vectors(rows))


def hits_of(found: FoundHits) -> QueryHits:
    """The JSON of a query's hits."""
    results, line, k, beside = found
    scores, similarities, offsets = results.numbers
    columns = zip(results.ids[line][:k], scores[line], similarities[line], offsets[line], strict=False)
    hits: list[QueryHit] = [
        {"id": id_, "score": score, "similarity": similarity, "offset": offset}
        for id_, score, similarity, offset in columns
    ]
    if results.explanations:
        for hit, explanation in zip(hits, results.explanations[line], strict=False):
            hit["explanation"] = cast(HitExplanation, vars(explanation))
    if beside is not NOTHING_BESIDE:
        _add(hits, beside)
    answer: QueryHits = {"hits": hits}
    if (corrected := results.corrected) is not None:
        answer["corrected"] = bool(corrected[line])
    if (certainty := results.certainty) is not None:
        answer["confidence"], answer["presence"], *shares = certainty[line]
        for hit, share in zip(hits, shares, strict=False):
            hit["share"] = share
        answer["calibrated"] = results.calibrated
        answer["answered"] = results.kept is None or bool(results.kept[line])
    return answer


def weight_of(found: Sequence[FoundHits]) -> int:
    """About how many values the JSON of some hits has, for `heavy.run`."""
    weight = 0
    for one in found:
        weight += one.k * _VALUES + (0 if one.beside is NOTHING_BESIDE else _weight(one.beside))
    return weight


def stored_targets(collection: Collection, rows: I64, extras: Extras) -> StoredTargets:
    """Read the targets of some rows, and return their JSON."""
    targets = collection.parts.targets
    beside = read_beside(collection, rows, extras)
    columns = (collection.ids(rows), targets.offsets(rows).tolist(), targets.seqs(rows).tolist())
    written: list[StoredTarget] = [
        {"id": id_, "offset": offset, "seq": seq} for id_, offset, seq in zip(*columns, strict=True)
    ]
    _add(written, beside)
    return StoredTargets(written, len(rows) * _VALUES + _weight(beside))


def _weight(beside: SentBeside) -> int:
    payload = 0 if beside.payload is None else len(beside.payload) * _VALUES
    return payload + (0 if beside.vectors is None else beside.vectors.size)


def _add(written: Sequence[TargetExtras], beside: SentBeside) -> None:
    if beside.payload is not None:
        for target, payload in zip(written, beside.payload, strict=True):
            target["payload"] = payload
    if beside.vectors is not None:
        for target, vector in zip(written, beside.vectors, strict=True):
            target["vector"] = vector
        if beside.have_vectors is not None and not beside.have_vectors.all():
            for row in np.flatnonzero(~beside.have_vectors).tolist():
                written[row]["vector"] = None


class JsonAnswer(Response):
    """Bytes of JSON; Starlette would look through headers that there are not."""

    def __init__(self, body: bytes, *headers: tuple[bytes, bytes], status: int = 200) -> None:
        self.status_code = status
        self.body = body
        self.background = None
        self.raw_headers = [(b"content-length", b"%d" % len(body)), _JSON_TYPE, *headers]


def send(document: Mapping[str, Any], *headers: tuple[bytes, bytes], status: int = 200) -> Response:
    """Send a document. Payload may hold whatever Arrow does."""
    return JsonAnswer(encode(document), *headers, status=status)


async def send_heavy(weight: int, make: Callable[[], Mapping[str, Any]], trace: Trace | None = None) -> Response:
    """Make a document and send it with status 200, apart from the event loop if it is heavy."""
    started = perf_counter()
    try:
        if weight <= heavy.LIGHT:
            return JsonAnswer(encode(make()))
        return JsonAnswer(await heavy.run(weight, lambda: _in_parts(make())))
    finally:
        if trace:
            trace.add("serialise", perf_counter() - started)


def _in_parts(value: Any) -> bytes:
    """The JSON of a large document, written hit by hit: while orjson writes, no other thread can run."""
    if isinstance(value, dict) and "id" not in value:
        return b"{" + b",".join(encode(name) + b":" + _in_parts(inner) for name, inner in value.items()) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(_in_parts(inner) for inner in value) + b"]"
    return encode(value)


def encode(value: Any) -> bytes:
    """JSON of a value. Payload may hold whatever Arrow does."""
    # orjson writes a time of 0.086 s as 00:00:00.86000
    return orjson.dumps(value, _plain, orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_PASSTHROUGH_DATETIME)


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, date | time):
        return value.isoformat()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
