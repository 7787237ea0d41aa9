"""What is traffic: live hubness, the query sample and lists that learn hear of what people ask, and of nothing else."""

import httpx
import numpy as np
import pytest
from support.photos import DIM, IDS, built_photos, in_base64, solid
from support.serving import serving_catalog

USUAL = 0.5
"""The strength that is served."""
ABOUT, LEARNER, RERANK = "/v1/collections/photos", "/v1/scores/learner", "/v1/rerank"
QUERY, BATCH = f"{ABOUT}/query", f"{ABOUT}/query/batch"
VECTORS = np.random.default_rng(0).normal(size=(3, DIM)).astype(np.float32)
VECTOR, TEXT = {"vector": VECTORS[0].tolist()}, {"text": "red"}
PUT = [{"ids": ["a", f"b{number}"], "scores": [3.0, 2.0]} for number in range(4)]
LISTS = [{"correction": "learner", **each} for each in PUT]
ASKS = [{}, {"strength": 1}, {"strength": 1, "explain": False, "skip": 0}]
LOOKS = [{"strength": 0}, {"strength": 2}, {"skip": 2}, {"explain": True}]
"""Fields of a query; the strength in units of the usual one."""
DOORS = [
    (QUERY, None, [VECTOR], 1),
    (QUERY, None, [TEXT], 1),
    (QUERY, None, [{"image": in_base64(solid("red"))}], 1),
    (QUERY, "body", VECTORS[:1], 1),
    (BATCH, "body", VECTORS, 3),
    (BATCH, "queries", [VECTOR, TEXT], 2),
    (RERANK, "lists", [{"collection": "photos"} | TEXT], 1),
    (RERANK, "lists", LISTS[:2], 2),
]
"""Paths, the field that something stands in, what is asked, and how much of it is traffic."""
MIXED = [
    (BATCH, "queries", [VECTOR, *(VECTOR | each for each in LOOKS), {"id": IDS[0], "strength": USUAL}, TEXT], 2),
    (RERANK, "lists", [LISTS[2] | {"strength": 0}, LISTS[3]], 1),
]


def request_of(field, asked, given):
    if field == "body":
        binary = {"Content-Type": "application/octet-stream"}
        return {"content": asked.tobytes(), "params": given, "headers": binary}
    each = [one | given for one in asked]
    return {"json": {field: each} if field else each[0]}


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    with built_photos(tmp_path_factory.mktemp("photos"), strength=USUAL) as catalog:
        yield catalog


@pytest.mark.parametrize(
    ("fields", "mark", "share"),
    [*((each, {}, 1) for each in ASKS), *((each, {}, 0) for each in LOOKS), ({}, {"X-No-Sample": ""}, 0)],
)
def test_only_what_people_ask_is_counted_and_learned_at_every_door(photos, tmp_path, fields, mark, share):
    counts = {True: 0, False: 0}  # of lists, and of queries
    settings = {"query_sample": tmp_path / "sample"}
    with serving_catalog(photos, **settings) as url, httpx.Client(base_url=url, headers=mark) as client:
        client.put(LEARNER, json={"lists": PUT, "learn": True})
        for path, field, asked, traffic in DOORS if fields else DOORS + MIXED:
            if path == RERANK and fields.keys() - {"strength"}:
                continue  # which it does not take
            of_lists = path == RERANK and "correction" in asked[0]
            usual = 1.0 if of_lists else USUAL
            given = {name: value * usual if name == "strength" else value for name, value in fields.items()}
            assert client.post(path, **request_of(field, asked, given)).status_code == 200
            counts[of_lists] += share * traffic
            assert client.get(f"{ABOUT}/hubness").json()["seen"] == counts[False], (path, field)
    with serving_catalog(photos, **settings) as url:
        assert (httpx.get(f"{url}{ABOUT}").json()["query_sample"] or {}).get("asked", 0) == counts[False]
        assert httpx.get(f"{url}{LEARNER}").json()["learning"] == counts[True]
