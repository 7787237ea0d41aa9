"""Examples of the answers in `http.insights`, for the OpenAPI document."""

from typing import Any

from hubless_service.routes.examples import COLLECTION_ANSWER

ACCESS_ANSWER = {"keys": True, "role": "read", "collections": ["stdlib"], "bank_queries": False}
BANK_QUERY_ANSWER = {
    "number": 17,
    "stored": 512,
    "vector": [0.12, -0.5, 0.33, 0.08],
    "collection": "stdlib",
    "version": "20260101T101500Z-1f0c",
}
BANK_ANSWER = {
    "queries": 1200,
    "stored": 512,
    "coverage": 0.94,
    "correction": "auto",
    "frozen_share": 0.0,
    "waiting": None,
    "work": {
        "work": "bank",
        "state": "done",
        "step": "writing",
        "done": 0,
        "total": None,
        "began": "2026-01-01T10:15:00.000+00:00",
        "ended": "2026-01-01T10:15:04.250+00:00",
        "version": "20260101T101500Z-1f0c",
        "problem": None,
    },
    "collection": "stdlib",
    "version": "20260101T101500Z-1f0c",
}
_SERVED = {"collection": "stdlib", "version": "20260101T101500Z-1f0c"}
_HUB = {"id": "codecs.Codec.encode", "offset": 0.21, "raw": 201, "corrected": 12}
OCCURRENCE_ANSWER = {
    "k": 10,
    "queries": 371,
    "held_out": True,
    "source": "build",
    "raw": {
        "skewness": 9.6,
        "most": 201,
        "antihub_share": 0.61,
        "histogram": [{"occurrence": 0, "targets": 3180}, {"occurrence": 201, "targets": 1}],
        "hubs": [_HUB],
    },
    "corrected": {
        "skewness": 0.5,
        "most": 12,
        "antihub_share": 0.2,
        "histogram": [{"occurrence": 0, "targets": 1040}, {"occurrence": 12, "targets": 3}],
        "hubs": [_HUB],
    },
    "chance": {"skewness": 1.0, "most": 6, "antihub_share": 0.49},
    "never": {"raw": 3180, "corrected": 1040, "both": 990, "ids": ["str.split"]},
    **_SERVED,
}
FINDINGS_ANSWER = {
    "id": "codecs.Codec.encode",
    "queries": 512,
    "raw": [{"query": 17, "rank": 1, "first": "str.split"}],
    "corrected": [],
    **_SERVED,
}
SCAN_ANSWER = {
    "scan": {
        "version": "20260101T101500Z-1f0c",
        "made": "2026-01-02T03:00:00+00:00",
        "queries": 2000,
        "threshold": 0.6,
        "alerts": 1,
        "notes": [],
        "findings": [
            {
                "place": 1,
                "id": "codecs.Codec.encode",
                "score": 0.93,
                "why": "among the first 10 of 1,710 queries, 3.84 by chance",
                "occurrence": 1710,
                "stability": 0.97,
                "copies": 0,
            }
        ],
    },
    "collection": "stdlib",
}
PROJECTION_ANSWER = {
    "count": 5214,
    "method": "pca",
    "explained": [0.11, 0.07],
    "targets": {
        "id": ["str.split"],
        "x": [0.1],
        "y": [-0.2],
        "offset": [-0.05],
        "raw": [0],
        "corrected": [3],
        "value": ["builtins"],
    },
    "queries": {"x": [0.12], "y": [-0.1]},
    **_SERVED,
}
_SHARED = ("count", "dim", "metric", "correction", "index", "measured", "bank", "strength", "payload_columns")
VERSION_ANSWER: dict[str, Any] = {
    **_SERVED,
    "created": "2026-01-01T10:15:00Z",
    **{name: COLLECTION_ANSWER[name] for name in _SHARED},
    "notes": [],
    "log_seq": 0,
    "bytes": 12_345_678,
    "seed": 0,
    "versions": {"hubless": "0.2.0"},
    "inputs": {"targets": {"name": "images.npy", "size": 5_339_264, "sha256": "9f86d0"}},
}
DIFF_ANSWER = {
    **_SERVED,
    "since": "20251201T093000Z-77aa",
    "fields": [{"field": "count", "before": 5198, "after": 5214}],
    "added": {"count": 16, "ids": ["str.split"]},
    "removed": {"count": 0, "ids": []},
    "canaries": [{"before": ["re.split"], "after": ["str.split"], "kept": 0}],
}
