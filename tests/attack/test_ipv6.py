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


def test_wrong_keys_shut_out_the_network_of_their_address_alone(server):
    by = {"X-Forwarded-For": "2001:db8:1:2::77"}  # this machine is a trusted proxy
    for number in range(5):
        answer = httpx.post(f"{server.url}{QUERY}", headers={**by, "X-API-Key": f"wrong-{number}-0123456789"})
        assert answer.status_code == 401

    def status(address):
        headers = {"X-Forwarded-For": address, "X-API-Key": KEY}
        return httpx.post(f"{server.url}{QUERY}", json={"text": "amber"}, headers=headers).status_code

    assert status("2001:db8:1:2::77") == status("2001:db8:1:2:ffff::1") == 429
    assert status("2001:db8:1:3::77") == 200
    assert query(server, KEY) == 200
    assert any("2001:db8:1:2::/64" in line for line in server.log)
