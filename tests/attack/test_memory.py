"""The address space runs short: what does not fit is 503, and the server lives and answers again."""

import resource
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from support import catalogs
from support.contract import code_of
from support.server_process import served

pytestmark = pytest.mark.slow  # it starts and ends servers for a minute; `make attack` runs it

QUERY = "/v1/collections/words/query"
VECTOR = catalogs.words().query_bank[0].tolist()
LARGE = {"queries": [{"vector": VECTOR, "limit": catalogs.COUNT, "with": ["payload", "vector"]}] * 120}


def leave(server, megabytes):
    """Let a server have so much more address space than it has now; None for any."""
    pages = int(Path(f"/proc/{server.pid}/statm").read_text().split()[0])
    most = resource.RLIM_INFINITY
    limit = most if megabytes is None else pages * resource.getpagesize() + megabytes * 2**20
    resource.prlimit(server.pid, resource.RLIMIT_AS, (limit, most))


@pytest.mark.parametrize("left", [60, 20, 5])
def test_batch_that_memory_does_not_suffice_for_is_503_and_ends_nothing(catalog, left):
    with served(catalog) as server:
        assert httpx.post(f"{server.url}{QUERY}", json={"vector": VECTOR}, timeout=60).status_code == 200
        leave(server, left)
        for _ in range(3):
            answer = httpx.post(f"{server.url}{QUERY}/batch", json=LARGE, timeout=60)
            assert code_of(answer) == (503, "not_ready")
        assert server.process.poll() is None
        leave(server, None)
        assert httpx.post(f"{server.url}{QUERY}/batch", json=LARGE, timeout=60).status_code == 200


@pytest.mark.parametrize("left", [60, 30, 10])
def test_first_writes_that_threads_cannot_start_for_are_503_and_hold_up_nothing(catalog, tmp_path, left):
    """A thread that ends while it starts would be waited for by the event loop, under a lock of all pools."""
    path = shutil.copytree(catalog, tmp_path / "catalog")
    points = {"points": [{"id": f"new{number}", "vector": VECTOR} for number in range(50)]}
    with served(path) as server, ThreadPoolExecutor(6) as clients:
        leave(server, left)
        for name in ("words", "words", "none"):
            url = f"{server.url}/v1/collections/{name}/points"
            answers = clients.map(lambda url: httpx.put(url, json=points, timeout=60), [url] * 6)
            assert {answer.status_code for answer in answers} <= {200, 503, 404}
            assert httpx.get(f"{server.url}/livez", timeout=20).status_code == 200
        leave(server, None)
        assert httpx.put(f"{server.url}/v1/collections/words/points", json=points, timeout=60).status_code == 200
