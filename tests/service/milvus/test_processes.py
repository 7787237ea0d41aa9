"""Processes of the service that ask Milvus: workers, and the one that merges."""

import httpx
import pytest
from support import small, writing
from support.server_process import served
from support.until import until

from hubless.search.collection import open_collection
from hubless_milvus.names import collection_name
from hubless_service.maintaining import maintainer

NAME = writing.NAME


@pytest.fixture
def catalog(tmp_path):
    writing.build(tmp_path, engine="milvus")
    return tmp_path


@pytest.mark.slow
def test_write_of_one_worker_is_read_through_any_other(catalog, milvus):
    query = {"vector": [1.0] * small.DIM, "limit": 5}
    with served(catalog, "--workers", 2, milvus_uri=milvus.uri) as server:
        server.wait_until_all_have_loaded(NAME, 2)
        url = f"{server.url}/v1/collections/{NAME}"
        for seed in range(8):
            sent = {"points": [writing.point(f"new-{seed}", seed)]}
            seq = httpx.put(f"{url}/points", json=sent, timeout=60).json()["seq"]
            assert httpx.get(f"{url}/points/new-{seed}?min_seq={seq}", timeout=60).status_code == 200
            assert len(httpx.post(f"{url}/query", json=query, timeout=60).json()["hits"]) == 5


def test_service_merges_what_was_written_into_a_new_collection_of_milvus(catalog, milvus, monkeypatch):
    monkeypatch.setattr(maintainer, "LOOK_SECONDS", 0.05)
    stored = writing.model()
    new = [writing.point("new", 1, title="new"), writing.point("target-8", 2), writing.point("more", 3)]
    writing.put(stored, *new)
    del stored["target-9"]
    with writing.writable(catalog, merge_at=3, poll_seconds=0.05) as client:
        first = client.post("/count").json()["version"]
        client.post("/points/delete", json={"ids": ["target-9"]})
        client.put("/points", json={"points": new})
        until(lambda: client.post("/count").json()["version"] != first)
        merged = open_collection(catalog, NAME)
        assert (merged.parts.added, merged.parts.removed, merged.count) == (0, 0, len(stored))
        assert merged.manifest.index.engine.name != collection_name(NAME, first)
        writing.check(client, stored, merged.correction())
