"""The same over IPv6: requests, limits, slow clients, and wrong keys by address."""

import socket

import httpx
import pytest
from support.raw import LAST, exchange, request
from support.server_process import served

ADDRESS = "::1"
QUERY = "/v1/collections/words/query"
KEY = "a-key-of-somebody"


def has_ipv6():
    try:
        socket.create_server((ADDRESS, 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


pytestmark = pytest.mark.skipif(not has_ipv6(), reason="needs IPv6 on this machine")


@pytest.fixture(scope="module")
def server(catalog):
    limits = {"receive_seconds": 4, "keep_alive_seconds": 4, "max_wrong_keys": 5}
    with served(catalog, "--host", ADDRESS, read_keys=KEY, **limits) as server:
        yield server
    assert not [line for line in server.log if "Traceback" in line or " ERROR " in line]


def query(server, key):
    return httpx.post(f"{server.url}{QUERY}", json={"text": "amber"}, headers={"X-API-Key": key}).status_code


def test_server_says_its_address_in_brackets_and_answers_there(server):
    assert server.url.startswith("http://[::1]:")
    assert {query(server, KEY) for _ in range(20)} == {200}
    hosts = request("GET", "/livez", f"Host: [{ADDRESS}]:{httpx.URL(server.url).port}", host=False)
    assert [answer.status for answer in exchange(server.url, hosts + LAST)] == [200, 200]
