"""A million targets with ids and payload: built by the command, served, asked by id, filter, scroll and query."""

import json
import subprocess
import sys

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.server_process import resources, served

import hubless
from hubless.errors import PointNotFound

COUNT, DIM = 1_000_000, 32
GROUPS = 1000
NAMES = [f"item-{row:07}" for row in range(COUNT)]


@pytest.fixture(scope="module")
def million(tmp_path_factory):
    """A catalog, and the targets in it."""
    folder = tmp_path_factory.mktemp("million")
    rng = np.random.default_rng(12)
    rows = rng.normal(size=(COUNT, DIM)).astype(np.float32)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), DIM)
    columns = {
        "vector": lists,
        "id": NAMES,
        "group": np.arange(COUNT) % GROUPS,
        "title": [f"a {name}" for name in NAMES],
    }
    pq.write_table(pa.table(columns), folder / "targets.parquet")
    np.save(folder / "bank.npy", rng.normal(size=(500, DIM)).astype(np.float32))
    command = [sys.executable, "-m", "hubless", "build", "--catalog", folder / "catalog", "--collection", "items"]
    command += ["--targets", folder / "targets.parquet", "--query-bank", folder / "bank.npy", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["count"] == COUNT
    return folder / "catalog", rows


pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def test_million_targets_are_found_by_id_filter_scroll_and_query(million, attack):
    catalog, rows = million
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    some = np.random.default_rng(1).choice(COUNT, 100, replace=False)
    asked = 0
    with served(catalog) as server, httpx.Client(base_url=f"{server.url}/v1/collections/items") as client:
        before = resources(server.pid)["memory"]
        for row in some.tolist():
            point = client.get(f"/points/{NAMES[row]}", params={"with": "vector,payload"}).json()
            assert point["payload"] == {"group": row % GROUPS, "title": f"a {NAMES[row]}"}
            np.testing.assert_allclose(point["vector"], unit[row], atol=1e-3)
        for name in ("", "item-1000000", "item-", "nothing"):
            assert client.get(f"/points/{name}").status_code == 404
        found = client.post("/points", json={"ids": [NAMES[row] for row in some]}, timeout=60).json()
        asked += 105
        assert [point["id"] for point in found["points"]] == [NAMES[row] for row in some]
        for row in some[:50].tolist():
            body = {"vector": rows[row].tolist(), "limit": 10, "strength": 0}
            hits = client.post("/query", json=body, timeout=60).json()["hits"]
            assert hits[0]["id"] == NAMES[row]
            group = {"filter": {"field": "group", "eq": row % GROUPS}, "limit": 10}
            hits = client.post("/query", json={**body, **group}, timeout=60).json()["hits"]
            inside = np.arange(row % GROUPS, COUNT, GROUPS)
            best = inside[np.argsort(-(unit[inside] @ unit[row]))[:10]]
            assert [hit["id"] for hit in hits[:1]] == [NAMES[row]]
            assert len({hit["id"] for hit in hits} & {NAMES[other] for other in best}) >= 9
            assert client.post("/count", json={"filter": group["filter"]}).json()["count"] == COUNT // GROUPS
            asked += 3
        seen, cursor = [], None
        while True:
            body = {"filter": {"field": "group", "in": [7, 8]}, "limit": 100, "cursor": cursor}
            page = client.post("/scroll", json=body).json()
            seen += [point["id"] for point in page["points"]]
            asked += 1
            if not (cursor := page["cursor"]):
                break
        assert seen == [name for row, name in enumerate(NAMES) if row % GROUPS in (7, 8)]
        assert resources(server.pid)["memory"] - before < 700 * 2**20
    attack("requests to a million targets", asked)
    assert not [line for line in server.log if "Traceback" in line or " ERROR " in line]


def test_every_thousandth_id_is_at_its_row(million, attack):
    collection = hubless.open(million[0], "items")
    assert [collection.point(NAMES[row]).row for row in range(0, COUNT, 1000)] == list(range(0, COUNT, 1000))
    with pytest.raises(PointNotFound):
        collection.point("item-1000000")
    attack("ids among a million", COUNT // 1000 + 1)
