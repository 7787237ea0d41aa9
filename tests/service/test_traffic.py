"""What is traffic: live hubness, the query sample and lists that learn hear of what people ask, and of nothing else."""

from contextlib import contextmanager

import httpx
import numpy as np
import pytest
from support.model_pairs import DIM
from support.photos import IDS, build_photos, in_base64, solid
from support.serving import serving_catalog

USUAL = 0.5
"""The strength that is served."""
ABOUT, LEARNER, RERANK = "/v1/collections/photos", "/v1/scores/learner", "/v1/rerank"
QUERY, BATCH = f"{ABOUT}/query", f"{ABOUT}/query/batch"
VECTORS = np.random.default_rng(0).normal(size=(3, DIM)).astype(np.float32)
VECTOR, TEXT = {"vector": VECTORS[0].tolist()}, {"text": "red"}
PUT = {"learn": True, "lists": [{"ids": ["a", f"b{number}"], "scores": [3.0, 2.0]} for number in range(2)]}
LISTS = [{"correction": "learner", **each} for each in PUT["lists"]]
DOORS = [
    (QUERY, None, [VECTOR]),
    (QUERY, None, [TEXT]),
    (QUERY, None, [{"image": in_base64(solid("red"))}]),
    (QUERY, "body", VECTORS[:1]),
    (BATCH, "body", VECTORS),
    (BATCH, "queries", [VECTOR, TEXT]),
    (RERANK, "lists", [{"collection": "photos"} | TEXT]),
    (RERANK, "lists", LISTS),
]
"""Paths, what is asked there, and the field that it stands in."""
ASKS = [{}, {"strength": 1}, {"strength": 1, "explain": False, "skip": 0}]
LOOKS = [{"strength": 0}, {"strength": 2}, {"skip": 2}, {"explain": True}]
"""Fields of a query; the strength in units of the usual one."""


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return build_photos(tmp_path_factory.mktemp("photos"), strength=USUAL)


@pytest.fixture
def serve(photos, tmp_path):
    @contextmanager
    def serve(**headers):
        with (
            serving_catalog(photos, query_sample=tmp_path / "sample") as url,
            httpx.Client(base_url=url, timeout=60, headers=headers) as client,
        ):
            yield client

    return serve


def request_of(field, asked, given):
    if field == "body":
        binary = {"Content-Type": "application/octet-stream"}
        return {"content": asked.tobytes(), "params": given, "headers": binary}
    each = [one | given for one in asked]
    return {"json": {field: each} if field else each[0]}


@pytest.mark.parametrize(
    ("fields", "mark", "counts"),
    [*((each, {}, 1) for each in ASKS), *((each, {}, 0) for each in LOOKS), ({}, {"X-No-Sample": ""}, 0)],
)
def test_only_what_people_ask_is_counted_and_learned_at_every_door(serve, fields, mark, counts):
    seen = learned = 0
    with serve(**mark) as client:
        client.put(LEARNER, json=PUT)
        for path, field, asked in DOORS:
            if path == RERANK and fields.keys() - {"strength"}:
                continue  # which it does not take
            usual = 1.0 if asked is LISTS else USUAL
            given = {name: value * usual if name == "strength" else value for name, value in fields.items()}
            assert client.post(path, **request_of(field, asked, given)).status_code == 200
            if asked is LISTS:
                learned += counts * len(asked)
            else:
                seen += counts * len(asked)
            assert client.get(f"{ABOUT}/hubness").json()["seen"] == seen, (path, field)
    with serve() as client:
        assert (client.get(ABOUT).json()["query_sample"] or {}).get("asked", 0) == seen
        assert client.get(LEARNER).json()["learning"] == learned


def test_of_a_batch_each_query_and_each_list_is_traffic_or_not_by_itself(serve):
    queries = [VECTOR, *(VECTOR | fields for fields in LOOKS), {"id": IDS[0], "strength": USUAL}, TEXT]
    with serve() as client:
        client.put(LEARNER, json=PUT)
        client.post(BATCH, json={"queries": [*queries, VECTOR | {"diversity": 0.5}]}).raise_for_status()
        client.post(RERANK, json={"lists": [LISTS[0] | {"strength": 0}, LISTS[1]]}).raise_for_status()
        assert client.post(BATCH, json={"queries": [VECTOR, {"vector": [1.0]}]}).status_code == 422
        assert client.get(f"{ABOUT}/hubness").json()["seen"] == 2  # hits that were chosen do not follow the ranking
    with serve() as client:
        assert client.get(ABOUT).json()["query_sample"]["asked"] == 3
        assert client.get(LEARNER).json()["learning"] == 1
