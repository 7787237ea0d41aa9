"""Points without a vector, and points with a text in its place."""

import pytest
from support import writing
from support.writing import count_of, put_points

import hubless
from hubless.builder.lifecycle import create

VECTOR = [0.5, 1.0, -0.25]
POINTS = [
    {"id": "a", "vector": VECTOR, "payload": {"kind": "x"}},
    {"id": "b", "payload": {"kind": "x"}},
    {"id": "c", "vector": [1.0, 0.0, 0.0]},
    {"id": "d", "vector": None, "payload": {"kind": "y"}},
]


@pytest.fixture
def catalog(tmp_path):
    create(tmp_path, writing.NAME, dim=3, metric="cosine", id_type="string")
    return tmp_path


def check(client, missing=("b", "d")):
    """Fail unless targets without a vector are found by all but queries."""
    found = client.post("/query", json={"vector": VECTOR, "limit": 10, "explain": True}).json()["hits"]
    assert {hit["id"] for hit in found} == set("abcd") - set(missing)
    batch = {"queries": [{"vector": VECTOR}, {"vector": [0, 1, 0], "params": {"exact": True}}, {"id": "a"}]}
    lengths = [len(result["hits"]) for result in client.post("/query/batch", json=batch).json()["results"]]
    assert lengths == [4 - len(missing)] * 2 + [3 - len(missing)]
    kind = {"filter": {"field": "kind", "eq": "x"}}
    hits = client.post("/query", json={"vector": VECTOR, **kind}).json()["hits"]
    assert {hit["id"] for hit in hits} == {"a", "b"} - set(missing)
    assert count_of(client) == 4
    assert count_of(client, **kind) == 2
    points = writing.scrolled(client, limit=3, **{"with": ["vector", "payload"]})
    assert {point["id"] for point in points if point["vector"] is None} == set(missing)
    assert all(point["offset"] == 0 for point in points)


def test_points_without_a_vector_are_stored_merged_and_found_by_all_but_queries(catalog):
    with writing.writable(catalog) as client:
        assert put_points(client, *POINTS).json()["inserted"] == 4
        check(client)
        refused = client.post("/query", json={"id": "b"})
        assert refused.status_code == 422
        assert "vector" in refused.json()["detail"]
        patch = {"points": [{"id": "d", "payload": {"kind": "z"}}]}
        assert client.patch("/points", json=patch).status_code == 200
        check(client)
    made = hubless.merge(catalog, writing.NAME, progress=False)
    assert (made.count, made.vectorless) == (4, 2)
    with writing.writable(catalog) as client:
        check(client)
        assert client.get("/points/d").json()["payload"] == {"kind": "z"}
        later = {"points": [{"id": "b", "vector": VECTOR, "payload": {"kind": "x"}}, {"id": "c"}]}
        assert client.put("/points", json=later).json()["updated"] == 2
        check(client, missing=("c", "d"))
    assert hubless.merge(catalog, writing.NAME, progress=False).vectorless == 2
    with writing.writable(catalog) as client:
        check(client, missing=("c", "d"))
        client.post("/points/delete", json={"ids": ["a", "b"]})
        assert client.post("/query", json={"vector": VECTOR}).json()["hits"] == []
    assert hubless.merge(catalog, writing.NAME, progress=False).vectorless == 2
    with writing.writable(catalog) as client:
        assert client.post("/query", json={"vector": VECTOR}).json()["hits"] == []
        assert count_of(client) == 2


@pytest.mark.parametrize("key", ["vectors", "embedding", "values", "Vector"])
def test_point_whose_vector_has_another_name_is_refused_by_it(catalog, key):
    with writing.writable(catalog) as client:
        misspelt = put_points(client, {"id": "a", key: VECTOR})
        assert (misspelt.status_code, misspelt.json()["parameter"]) == (422, f"points[0].{key}")
        inside = [{"id": "a", "vector": VECTOR}, {"id": "b", "payload": {"kind": "x", key: VECTOR}}]
        refused = put_points(client, *inside)
        assert (refused.status_code, refused.json()["parameter"]) == (422, "points[1].vector")
        assert f"payload.{key} could be meant" in refused.json()["detail"]
        assert count_of(client) == 0
        inside[1]["vector"] = None
        assert put_points(client, *inside).json()["inserted"] == 2
        patch = {"points": [{"id": "a", "payload": {key: VECTOR}}]}
        assert client.patch("/points", json=patch).status_code == 200
