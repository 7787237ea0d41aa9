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
BYTES = {"content": VECTORS.tobytes(), "headers": {"Content-Type": "application/octet-stream"}}
LISTS = [{"ids": ["a", f"b{number}"], "scores": [3.0, 2.0]} for number in range(4)]
LIST, OTHER_LIST = ({"correction": "learner", **each} for each in LISTS[:2])

DOORS = {
    "vector": (QUERY, 1, 0, lambda given: {"json": VECTOR | given}),
    "text": (QUERY, 1, 0, lambda given: {"json": TEXT | given}),
    "picture": (QUERY, 1, 0, lambda given: {"json": {"image": in_base64(solid("red"))} | given}),
    "bytes": (QUERY, 1, 0, lambda given: BYTES | {"content": VECTORS[0].tobytes(), "params": given}),
    "batch": (BATCH, 2, 0, lambda given: {"json": {"queries": [VECTOR | given, TEXT | given]}}),
    "batch of bytes": (BATCH, 3, 0, lambda given: BYTES | {"params": given}),
    "query to rerank": (RERANK, 1, 0, lambda given: {"json": {"lists": [{"collection": "photos"} | TEXT | given]}}),
    "lists to rerank": (RERANK, 0, 2, lambda given: {"json": {"lists": [LIST | given, OTHER_LIST | given]}}),
}
"""Where so many queries, or lists, are asked with some fields."""
ASKS = [{}, {"strength": 1}, {"strength": 1, "explain": False, "skip": 0}]
LOOKS = [{"strength": 0}, {"strength": 2}, {"skip": 2}, {"explain": True}]
"""Fields of a query; the strength in units of the usual one."""


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return build_photos(tmp_path_factory.mktemp("photos"), strength=USUAL)


@contextmanager
def serving(photos, tmp_path, headers):
    with (
        serving_catalog(photos, query_sample=tmp_path / "sample") as url,
        httpx.Client(base_url=url, timeout=60, headers=headers) as client,
    ):
        yield client


@pytest.mark.parametrize(
    ("fields", "headers", "counts"),
    [
        *((fields, {}, True) for fields in ASKS),
        *((fields, {}, False) for fields in LOOKS),
        *(({}, {"X-No-Sample": value}, False) for value in ("1", "")),
    ],
)
def test_only_what_people_ask_is_counted_and_learned_at_every_door(photos, tmp_path, fields, headers, counts):
    seen = learned = 0
    with serving(photos, tmp_path, headers) as client:
        client.put(LEARNER, json={"lists": LISTS, "learn": True})
        for door, (path, queries, lists, sent) in DOORS.items():
            if path == RERANK and fields.keys() - {"strength"}:
                continue  # which it does not take
            usual = 1.0 if lists else USUAL
            given = {name: value * usual if name == "strength" else value for name, value in fields.items()}
            assert client.post(path, **sent(given)).status_code == 200
            seen, learned = seen + queries * counts, learned + lists * counts
            assert client.get(f"{ABOUT}/hubness").json()["seen"] == seen, door
    with serving(photos, tmp_path, {}) as client:
        assert (client.get(ABOUT).json()["query_sample"] or {}).get("asked", 0) == seen
        assert client.get(LEARNER).json()["learning"] == learned


def test_of_a_batch_each_query_and_each_list_is_traffic_or_not_by_itself(photos, tmp_path):
    queries = [VECTOR, *(VECTOR | fields for fields in LOOKS), {"id": IDS[0], "strength": USUAL}, TEXT]
    with serving(photos, tmp_path, {}) as client:
        client.put(LEARNER, json={"lists": LISTS, "learn": True})
        client.post(BATCH, json={"queries": [*queries, VECTOR | {"diversity": 0.5}]}).raise_for_status()
        client.post(RERANK, json={"lists": [LIST | {"strength": 0}, OTHER_LIST]}).raise_for_status()
        assert client.post(BATCH, json={"queries": [VECTOR, {"vector": [1.0]}]}).status_code == 422
        assert client.get(f"{ABOUT}/hubness").json()["seen"] == 2  # hits that were chosen do not follow the ranking
    with serving(photos, tmp_path, {}) as client:
        assert client.get(ABOUT).json()["query_sample"]["asked"] == 3
        assert client.get(LEARNER).json()["learning"] == 1
