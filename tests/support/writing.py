"""A collection that is written to, beside what it must come to: a dict, and the ranking by NumPy."""

import itertools
from contextlib import contextmanager

import httpx
import numpy as np
from support import small
from support.serving import serving_catalog

import hubless

NAME = "photos"


def build(catalog, **options):
    """The collection, with hubness to correct, string ids and payload."""
    return small.build_full(catalog, NAME, correction="csls", parameters={"k": 3}, index="flat", **options)


def model():
    """What is stored at first: id → (vector as it is compared, payload)."""
    vectors = small.targets()
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return dict(zip(small.IDS, zip(vectors, small.payload(), strict=True), strict=True))


def point(wanted, seed, **payload):
    sent = {"id": wanted, "vector": np.random.default_rng(seed).normal(size=small.DIM).round(4).tolist()}
    return sent | ({"payload": payload} if payload else {})


def put(stored, *points):
    """The same in the model."""
    for sent in points:
        vector = np.array(sent["vector"], np.float32)
        row = {"title": None, "tags": None, **sent.get("payload", {})}
        stored.pop(sent["id"], None)
        stored[sent["id"]] = vector / np.linalg.norm(vector), row


def put_points(client, *points, to="", headers=None, **more):
    return client.put(f"{to}/points", json={"points": points, **more}, headers=headers)


def count_of(client, **body):
    return client.post("/count", json=body).json()["count"]


@contextmanager
def writable(catalog, name=NAME, **settings):
    """A client of a server over the collection."""
    with (
        serving_catalog(catalog, hubness=False, **settings) as url,
        httpx.Client(base_url=f"{url}/v1/collections/{name}", timeout=60) as client,
    ):
        yield client


def check(client, stored, correction, page=7):
    """Fail unless count, scroll, points, filters and searches agree with the model."""
    assert client.post("/count").json()["count"] == len(stored)
    pages = scrolled(client, limit=page, **{"with": ["payload", "vector"]})
    found = {each["id"]: each for each in pages}
    assert len(pages) == len(found)
    assert found.keys() == stored.keys()
    vectors = np.array([vector for vector, _ in stored.values()])
    offsets = correction.offsets(hubless.vectors.sources.ArrayVectors(vectors, "vectors"))
    for (wanted, (vector, payload)), offset in zip(stored.items(), offsets.tolist(), strict=True):
        assert found[wanted]["payload"] == payload
        np.testing.assert_allclose(found[wanted]["vector"], vector, atol=1e-6)
        assert abs(found[wanted]["offset"] - offset) < 1e-5
    for seed in range(3):
        query = np.random.default_rng(100 + seed).normal(size=small.DIM).astype(np.float32)
        query /= np.linalg.norm(query)
        scores = vectors @ query - offsets
        expected = [[*stored][row] for row in np.argsort(-scores, kind="stable")[:10]]
        hits = client.post("/query", json={"vector": query.tolist(), "limit": 10}).json()["hits"]
        assert [hit["id"] for hit in hits] == expected
    titles = sorted({payload["title"] for _, payload in stored.values()} - {None})
    for title in titles[::5]:
        asked = {"filter": {"field": "title", "eq": title}}
        expected = {wanted for wanted, (_, payload) in stored.items() if payload["title"] == title}
        assert client.post("/count", json=asked).json()["count"] == len(expected)
        assert {each["id"] for each in scrolled(client, limit=page, **asked)} == expected
        hits = client.post("/query", json={"vector": [1.0] * small.DIM, "limit": 1000, **asked}).json()["hits"]
        assert {hit["id"] for hit in hits} == expected


def scrolled(*clients, page=None, **options):
    """All points, each page asked from the next of some clients; with a page, it and those after it."""
    found = [*page["points"]] if page else []
    for client in itertools.cycle(clients):
        page = client.post("/scroll", json={**options, "cursor": page and page["cursor"]}).raise_for_status().json()
        found += page["points"]
        if not page["cursor"]:
            return found
    return found
