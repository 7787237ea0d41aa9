"""More collections than descriptors: those that fit are served, the others are named, and everybody gets an answer."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from attack.test_holding import FEW_DESCRIPTORS
from support import small
from support.raw import connect
from support.server_process import served
from support.until import until
from support.writing import point

COUNT = 100
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """A catalog of collections with a log each."""
    catalog = tmp_path_factory.mktemp("crowded")
    small.merged(catalog, "c0")
    for number in range(1, COUNT):
        shutil.copytree(catalog / "c0", catalog / f"c{number}")
    return catalog


def states(server):
    seen = httpx.get(f"{server.url}/readyz", timeout=60).json()["collections"]
    return {status: [name for name in seen if seen[name]["status"] == status] for status in ("ready", "failed")}


@pytest.mark.parametrize("workers", [1, 3])
def test_more_collections_than_descriptors_leave_room_for_clients_and_writes(crowded, tmp_path, workers):
    catalog = shutil.copytree(crowded, tmp_path / "catalog")
    with served(catalog, before=FEW_DESCRIPTORS, workers=workers, poll_seconds=0.2) as server:
        found = states(server)
        assert len(found["ready"]) > COUNT / 2
        assert len(found["failed"]) > 1
        crowd = [connect(server.url) for _ in range(300)]

        def write(name):
            sent = {"points": [point("new", 7)]}
            return httpx.put(f"{server.url}/v1/collections/{name}/points", json=sent, timeout=60).status_code

        with ThreadPoolExecutor(16) as pool:
            assert {*pool.map(write, found["ready"])} == {200}
        for name in found["failed"]:
            answer = httpx.get(f"{server.url}/v1/collections/{name}", timeout=60)
            assert (answer.status_code, answer.json()["code"]) == (503, "storage")
            assert "raise the limit (ulimit -n" in answer.json()["detail"]
        for connection in crowd:
            connection.close()
        assert sum("not opened" in line for line in server.log) == workers
        shutil.rmtree(catalog / found["ready"][0])
        until(lambda: len(states(server)["failed"]) < len(found["failed"]))
        assert httpx.get(f"{server.url}/livez").status_code == 200


def test_server_takes_as_many_descriptors_as_it_may_have(crowded):
    before = FEW_DESCRIPTORS.replace("(256, 256)", "(256, 1024)")
    with served(crowded, before=before) as server:
        assert len(states(server)["ready"]) == COUNT
