"""Examples for the OpenAPI document."""

from typing import Any

FILTER: dict[str, Any] = {
    "and": [{"field": "module", "in": ["builtins", "re"]}, {"not": {"field": "line", "gte": 1000}}]
}
OLDER, VERSION = "20251201T093000Z-77aa", "20260101T101500Z-1f0c"
QUERIES: dict[str, Any] = {
    "id": {"id": "str.split", "limit": 2, "skip": 2, "explain": True},
    "text": {"text": "split a string at a separator", "limit": 2, "with": ["payload"]},
    "vector": {"vector": [0.12, -0.5, 0.33, 0.08], "limit": 2, "strength": 1.0},
    "filtered": {
        "text": "split a string at a separator",
        "filter": FILTER,
        "with": ["payload.module"],
    },
    "base64": {"vector": "j8L1PQAAAL/D9ag+CtejPQ==", "limit": 2, "with": ["payload", "vector"]},
}
HITS: list[dict[str, Any]] = [
    {
        "id": "str.split",
        "score": 0.55,
        "similarity": 0.5,
        "offset": -0.05,
        "payload": {"module": "builtins", "line": None},
    },
    {"id": "re.split", "score": 0.375, "similarity": 0.5, "offset": 0.125, "payload": {"module": "re", "line": 197}},
]
QUERY_ANSWER = {"hits": HITS, "collection": "stdlib", "version": VERSION}
BATCHES = {"two": {"queries": [QUERIES["text"], QUERIES["vector"]]}}
BATCH_ANSWER = {"results": [{"hits": HITS}, {"hits": []}], "collection": "stdlib", "version": VERSION}
POINT = {"id": "str.split", "offset": -0.05, "payload": HITS[0]["payload"], "collection": "stdlib", "version": VERSION}
_TARGET = {"id": "str.split", "offset": -0.05, "payload": {"module": "builtins"}}
POINTS = {"points": [_TARGET], "missing": ["str.spilt"], "collection": "stdlib", "version": VERSION}
CURSOR = "WyIyMDI2MDEwMVQxMDE1MDBaLTFmMGMiLDEsIjQ3REVRcGo4SEJTYSJd"
SCROLLS: dict[str, Any] = {
    "first": {"filter": FILTER, "limit": 1, "with": ["payload.module"]},
    "next": {"filter": FILTER, "limit": 1, "with": ["payload.module"], "cursor": CURSOR},
}
PAGE = {"points": [_TARGET], "cursor": CURSOR, "collection": "stdlib", "version": VERSION}
HUBNESS = {
    "k": 10,
    "half_life": 10000,
    "window": 14426.95,
    "served": {
        "queries": 8120.5,
        "skewness": 1.2,
        "top_hub_share": 0.004,
        "antihub_share": 0.03,
        "hubs": [{"id": "re.split", "occurrence": 324.8, "share": 0.004}],
    },
    "drift": {"drift": 0.3, "queries": 512},
    "collection": "stdlib",
    "version": VERSION,
}
COLLECTION = {
    "name": "stdlib",
    "version": VERSION,
    "created": "2026-01-01T10:15:00Z",
    "count": 5214,
    "dim": 256,
    "metric": "cosine",
    "correction": {
        "name": "auto",
        "parameters": {},
        "details": {"correction": "dbsn", "temperature": 0.031, "shrunk_by": 0.97},
    },
    "index": {"type": "flat", "parameters": {}},
    "measured": {
        "queries": 1000,
        "held_out": True,
        "recall_at_10": 1.0,
        "hubness_raw": {"skewness": 9.6, "most": 412, "antihubs": 0.42},
        "hubness_corrected": {"skewness": 0.5, "most": 31, "antihubs": 0.04},
    },
    "id_type": "string",
    "payload_columns": ["module", "line"],
    "payload_types": {"module": "string", "line": "int64"},
    "text": True,
    "versions": [OLDER, VERSION],
    "aliases": ["functions"],
}
VERSIONS = {
    "versions": [
        {
            "version": OLDER,
            "created": "2025-12-01T09:30:00Z",
            "count": 5198,
            "current": False,
            "state": "stored",
        },
        {
            "version": VERSION,
            "created": "2026-01-01T10:15:00Z",
            "count": 5214,
            "current": True,
            "state": "served",
        },
    ],
    "collection": "stdlib",
}
ALIAS = {"alias": "functions", "collection": "stdlib", "etag": '"7"'}
