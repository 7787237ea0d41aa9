"""Examples for the OpenAPI document: requests about a collection that is served, and answers as the demo gives them."""

import base64
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import hubless
from hubless.errors import HublessError
from hubless.vectors.arrays import I64
from hubless_service.http.cursors import write_cursor

Json = dict[str, Any]
_COLLECTION = "/v1/collections/{collection}"
ALIAS = "example-alias"
"""An alias that nobody uses, to try changes on."""
NEW_COLLECTION = "example-collection"
"""A collection that nobody has, to try changes on."""
POINT, POINT_NUMBER = "example-point", 900_000_000_001
"""An id that no target has, of each type, to try writes on."""
_SEVERAL = 10  # targets, of which two with easy ids are shown
_DIGITS = 4
_PLAIN = re.compile(r"\w[\w.-]*")
_LARGEST = 2**53 - 1  # whole number that JavaScript can hold
_OLDER, _VERSION = "20251201T093000Z-77aa", "20260101T101500Z-1f0c"
_CURSOR = "WyIyMDI2MDEwMVQxMDE1MDBaLTFmMGMiLDEsIjQ3REVRcGo4SEJTYSJd"


class ShownCollection(NamedTuple):
    """The collection that requests are about.

    Attributes
    ----------
    ids : of one target, or of two
    text : a text that its encoder takes; None without one
    filter, column : None without payload
    cursor : of the second page, of one target each; None if there is no second
    """

    name: str
    version: str
    ids: Sequence[str | int]
    vector: Sequence[float]
    text: str | None
    filter: Json | None
    column: str | None
    cursor: str | None


DEMO = ShownCollection(
    name="stdlib",
    version=_VERSION,
    ids=["str.split", "str.spilt"],
    vector=[0.12, -0.5, 0.33, 0.08],
    text="split a string at a separator",
    filter={"and": [{"field": "module", "in": ["builtins", "re"]}, {"not": {"field": "line", "gte": 1000}}]},
    column="module",
    cursor=_CURSOR,
)


def shown(collection: hubless.Collection) -> ShownCollection:
    """What examples need to know of a collection that is served."""
    rows = np.arange(min(_SEVERAL, collection.count))
    ids = sorted(collection.ids(rows), key=_is_easy, reverse=True)
    payload = next(iter(collection.payload(rows[:1])), None)
    columns = [*(payload or {})] if collection.payload_kind == "json" else [*collection.payload_types]
    return ShownCollection(
        name=collection.name,
        version=collection.version,
        ids=ids[:2] or [POINT if collection.manifest.id_type == "string" else POINT_NUMBER],
        vector=_vector(collection, rows[:1]),
        text=_text(collection, payload or {}),
        filter={"field": columns[0], "exists": True} if columns else None,
        column=columns[0] if columns else None,
        cursor=write_cursor(collection, 1, None) if collection.count > 1 else None,
    )


def _vector(collection: hubless.Collection, rows: I64) -> list[float]:
    """That of the first target; without targets, one of length 1."""
    stored = collection.vectors(rows) if len(rows) else np.full((1, collection.dim), collection.dim**-0.5)
    numbers: list[float] = stored[0].astype(np.float64).round(_DIGITS).tolist()
    return numbers


def bodies(about: ShownCollection) -> dict[str, dict[str, Json]]:
    """Examples of each body, by the name of its model."""
    queries = _queries(about)
    extras = [f"payload.{about.column}"] if about.column else []
    scroll: Json = {"limit": 1, "with": extras}
    some = {"some": {"filter": about.filter}} if about.filter else {}
    new = POINT if isinstance(about.ids[0], str) else POINT_NUMBER
    patches: dict[str, Json] = {"nothing": {"points": [{"id": about.ids[0], "payload": {}}]}} if about.column else {}
    following = {"next": {**scroll, "cursor": about.cursor}} if about.cursor else {}
    return {
        "QueryRequest": queries,
        "BatchRequest": {"two": {"queries": [queries["id"], queries["vector"]]}},
        "CountRequest": {"all": {}, **some},
        "PointsRequest": {"two": {"ids": [*about.ids], "with": extras}},
        "ScrollRequest": {"first": scroll, **following, **some},
        "PutPointsRequest": {"one": {"points": [{"id": new, "vector": [*about.vector]}]}},
        "PatchPointsRequest": patches,
        "DeletePointsRequest": {"one": {"ids": [new]}},
        "PutBankRequest": {"one": {"vectors": [[*about.vector]], "mode": "append", "fit": False}},
        "CreateCollectionRequest": {
            "typed": {
                "dim": len(about.vector),
                "metric": "cosine",
                "id_type": "string",
                "payload_schema": {"title": "string", "price": "float64"},
            },
        },
        "AliasRequest": {"alias": {"collection": about.name}},
    }


def parameters(about: ShownCollection, aliases: Sequence[str]) -> dict[str | tuple[str, ...], Any]:
    """Examples of parameters, as `openapi.with_examples` takes them.

    Parameters
    ----------
    aliases : all that exist
    """
    filled: dict[str | tuple[str, ...], Any] = {
        "collection": about.name,
        "id": about.ids[0],
        "version": about.version,
        "number": 0,
        "since": about.version,
        "alias": ALIAS,
        ("put", _COLLECTION, "collection"): NEW_COLLECTION,
        ("delete", _COLLECTION, "collection"): NEW_COLLECTION,
        ("delete", "If-Match"): "*",
    }
    if ALIAS in aliases:
        filled["put", "/v1/aliases/{alias}", "If-Match"] = "*"
    elif aliases:
        filled["get", "alias"] = aliases[0]
    return filled


def _queries(about: ShownCollection) -> dict[str, Json]:
    data = np.asarray(about.vector, "<f4").tobytes()
    queries: dict[str, Json] = {
        "id": {"id": about.ids[0], "limit": 2, "explain": True},
        "vector": {"vector": [*about.vector], "limit": 2, "strength": 1.0},
        "base64": {"vector": base64.b64encode(data).decode(), "limit": 2, "with": ["payload", "vector"]},
    }
    if about.text:
        queries["text"] = {"text": about.text, "limit": 2, "with": ["payload"]}
    if about.filter:
        queries["filtered"] = {"id": about.ids[0], "filter": about.filter, "with": [f"payload.{about.column}"]}
    return queries


def _is_easy(id_: str | int) -> bool:
    """Whether a browser takes an id as it is, in JSON and in a path."""
    return abs(id_) <= _LARGEST if isinstance(id_, int) else _PLAIN.fullmatch(id_) is not None


def _text(collection: hubless.Collection, payload: Json) -> str | None:
    """A text of a target that the encoder takes. An endpoint is not tried, as that may cost money."""
    texts = [value for value in payload.values() if isinstance(value, str) and value]
    if not collection.has_encoder:
        return None
    if not collection.encodes_quickly:
        return (texts or ["something to search for"])[0]
    for text in texts:
        try:
            collection.encode([text])
        except HublessError:
            continue
        return text
    return None


_HITS: list[dict[str, Any]] = [
    {
        "id": "str.split",
        "score": 0.55,
        "similarity": 0.5,
        "offset": -0.05,
        "payload": {"module": "builtins", "line": None},
    },
    {"id": "re.split", "score": 0.375, "similarity": 0.5, "offset": 0.125, "payload": {"module": "re", "line": 197}},
]
QUERY_ANSWER = {"hits": _HITS, "collection": "stdlib", "version": _VERSION}
BATCH_ANSWER = {"results": [{"hits": _HITS}, {"hits": []}], "collection": "stdlib", "version": _VERSION}
POINT_ANSWER = {
    "id": "str.split",
    "offset": -0.05,
    "seq": 42,
    "payload": _HITS[0]["payload"],
    "collection": "stdlib",
    "version": _VERSION,
}
_TARGET = {"id": "str.split", "offset": -0.05, "seq": 42, "payload": {"module": "builtins"}}
POINTS_ANSWER = {"points": [_TARGET], "missing": ["str.spilt"], "collection": "stdlib", "version": _VERSION}
SCROLL_ANSWER = {"points": [_TARGET], "cursor": _CURSOR, "collection": "stdlib", "version": _VERSION}
HUBNESS_ANSWER = {
    "k": 10,
    "window": 2048,
    "seen": 14426,
    "served": {
        "queries": 2048,
        "skewness": 1.2,
        "top_hub_share": 0.004,
        "antihub_share": 0.03,
        "chance": {"skewness": 0.2, "antihub_share": 0.0},
        "hubs": [{"id": "re.split", "occurrence": 82, "share": 0.004}],
    },
    "corrected": None,
    "raw": None,
    "drift": {"drift": 0.3, "queries": 512, "advice": None},
    "collection": "stdlib",
    "version": _VERSION,
}
COLLECTION_ANSWER = {
    "name": "stdlib",
    "version": _VERSION,
    "created": "2026-01-01T10:15:00Z",
    "count": 5214,
    "dim": 256,
    "metric": "cosine",
    "correction": {
        "name": "auto",
        "parameters": {},
        "details": {"correction": "dbsn", "temperature": 0.031, "shrunk_by": 0.97},
    },
    "index": {
        "type": "flat",
        "parameters": {},
        "precision": "float32",
        "aims": None,
        "curve": [],
        "notes": [],
    },
    "measured": {
        "queries": 1000,
        "held_out": True,
        "fitted_queries": 9000,
        "recall_at_10": 1.0,
        "strength": 1.0,
        "hubness_raw": {"skewness": 9.6, "most": 412, "antihubs": 0.42},
        "hubness_corrected": {"skewness": 0.5, "most": 31, "antihubs": 0.04},
        "hubness_chance": {"skewness": 0.7, "most": 9, "antihubs": 0.15},
    },
    "strength": 1.0,
    "live": {"recommended_strength": 1.0, "queries": 488, "state": "enough"},
    "query_sample": {"queries": 3120, "asked": 41877, "since": "2026-01-01T00:00:00+00:00"},
    "bank": {
        "queries": 10000,
        "repeated": 0.02,
        "among_targets": 0.0,
        "apart_from_targets": 0.98,
        "related_to_targets": 0.99,
        "relative_length": None,
        "coverage": 0.97,
    },
    "id_type": "string",
    "payload": "columns",
    "payload_columns": ["module", "line"],
    "payload_types": {"module": "string", "line": "int64"},
    "text": True,
    "writes": {"seq": 42, "log_bytes": 81920, "added": 3, "removed": 1, "frozen_share": 0.002},
    "versions": [_OLDER, _VERSION],
    "aliases": ["functions"],
}
VERSIONS_ANSWER = {
    "versions": [
        {
            "version": _OLDER,
            "created": "2025-12-01T09:30:00Z",
            "count": 5198,
            "current": False,
            "state": "stored",
            "detail": None,
        },
        {
            "version": _VERSION,
            "created": "2026-01-01T10:15:00Z",
            "count": 5214,
            "current": True,
            "state": "served",
            "detail": None,
        },
    ],
    "collection": "stdlib",
}
ALIAS_ANSWER = {"alias": "functions", "collection": "stdlib", "etag": '"7"'}
PUT_ANSWER = {"seq": 42, "inserted": 1, "updated": 0, "collection": "stdlib", "version": _VERSION}
DELETED_COLLECTION_ANSWER = {"collection": "example-collection", "deleted": True}
DELETE_ANSWER = {"seq": 43, "deleted": 1, "collection": "stdlib", "version": _VERSION}
COUNT_ANSWER = {"count": 5214, "collection": "stdlib", "version": _VERSION}
READY_ANSWER = {
    "status": "ready",
    "collections": {"stdlib": {"status": "ready", "version": _VERSION, "count": 5214}},
}
