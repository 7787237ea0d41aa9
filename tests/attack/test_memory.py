"""The address space runs short: what does not fit is 503, and the server lives and answers again."""

import resource
from pathlib import Path

import httpx
import pytest
from support import catalogs
from support.server_process import served

QUERY = "/v1/collections/words/query"
VECTOR = catalogs.words().query_bank[0].tolist()
LARGE = {"queries": [{"vector": VECTOR, "limit": catalogs.COUNT, "with": ["payload", "vector"]}] * 120}


@pytest.mark.parametrize("left", [60, 20, 5])
def test_batch_that_memory_does_not_suffice_for_is_503_and_ends_nothing(catalog, left):
    with served(catalog) as server:
        assert httpx.post(f"{server.url}{QUERY}", json={"vector": VECTOR}, timeout=60).status_code == 200
        pages = int(Path(f"/proc/{server.pid}/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + left * 2**20
        resource.prlimit(server.pid, resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        for _ in range(3):
            answer = httpx.post(f"{server.url}{QUERY}/batch", json=LARGE, timeout=60)
            assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
        assert server.process.poll() is None
        resource.prlimit(server.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert httpx.post(f"{server.url}{QUERY}/batch", json=LARGE, timeout=60).status_code == 200
