"""Examples of the answers in `http.insights`, for the OpenAPI document."""

ACCESS_ANSWER = {"keys": True, "role": "read", "collections": ["stdlib"]}
BANK_QUERY_ANSWER = {
    "number": 17,
    "stored": 512,
    "vector": [0.12, -0.5, 0.33, 0.08],
    "collection": "stdlib",
    "version": "20260101T101500Z-1f0c",
}
