"""Processes of the service that ask Milvus: workers, and the one that merges."""

import pytest
from support import writing
from support.until import until

from hubless.search.collection import open_collection
from hubless_milvus.names import collection_name
from hubless_service.maintaining import maintainer

NAME = writing.NAME


@pytest.fixture
def catalog(tmp_path):
    writing.build(tmp_path, engine="milvus")
    return tmp_path


def test_service_merges_what_was_written_beside_the_collection_in_milvus(catalog, milvus, monkeypatch):
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
        # what was written stands beside the collection in Milvus
        assert merged.manifest.index.engine.name == collection_name(NAME, first)
        assert [each.index for each in merged.manifest.segments] == ["milvus", "flat"]
        writing.check(client, stored, merged.correction())
