"""Addresses that try one wrong key after the other."""

import logging
import re

import httpx
import pytest
from support.contract import code_of
from support.serving import serving_catalog

from hubless_service.access.attempts import ADDRESSES, REMEMBERED_SECONDS, Attempts

READ = "reader-0123456789"
MOST = 3
COLLECTIONS = "/v1/collections"


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def attempts(clock):
    return Attempts(MOST, clock)


def exhaust(attempts, host):
    for number in range(MOST):
        attempts.note(host, b"%d" % number)


def test_address_is_refused_after_its_last_try_until_the_minute_is_over(attempts, clock):
    for number in range(MOST):
        assert attempts.seconds_left("192.0.2.1") == 0
        attempts.note("192.0.2.1", b"%d" % number)
        clock.now += 1
    assert attempts.seconds_left("192.0.2.1") == REMEMBERED_SECONDS - MOST
    clock.now += REMEMBERED_SECONDS - MOST
    assert attempts.seconds_left("192.0.2.1") == 0
    attempts.note("192.0.2.1", b"again")
    assert attempts.seconds_left("192.0.2.1") == 0


def test_same_wrong_key_again_and_again_counts_once(attempts):
    for _ in range(100):
        attempts.note("192.0.2.1", b"revoked")
    assert attempts.seconds_left("192.0.2.1") == 0


@pytest.mark.parametrize(
    ("tried", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("", "unknown", False),
    ],
)
def test_others_are_refused_only_where_they_cannot_be_told_apart(attempts, tried, other, same):
    exhaust(attempts, tried)
    assert (attempts.seconds_left(other) > 0) is same


def test_remembered_addresses_are_bounded_and_the_oldest_give_way(attempts):
    addresses = [f"198.18.{number // 256}.{number % 256}" for number in range(ADDRESSES + 10)]
    for address in addresses:
        exhaust(attempts, address)
    assert sum(attempts.seconds_left(address) > 0 for address in addresses) == ADDRESSES
    assert attempts.seconds_left(addresses[9]) == 0
    assert attempts.seconds_left(addresses[10]) > 0


@pytest.fixture
def ask(catalog, contract):
    """Ask a server behind a proxy on this machine that names the client's address."""
    settings = {"read_keys": READ, "metrics_public": True, "max_wrong_keys": MOST}
    with serving_catalog(catalog, **settings) as base_url, httpx.Client(base_url=base_url) as client:

        def ask(key, *forwarded, path=COLLECTIONS):
            named = {"X-Forwarded-For": ", ".join(forwarded)} if forwarded else {}
            answer = client.get(path, headers={"X-API-Key": key, **named} if key else named)
            contract.check(answer)
            return answer

        yield ask


def test_too_many_wrong_keys_are_429_for_a_right_one_too_and_for_that_address_alone(ask, caplog):
    with caplog.at_level(logging.WARNING, "hubless.keys"):
        assert {ask(f"wrong-{number}", "192.0.2.1").status_code for number in range(MOST)} == {401}
        refused = [ask(key, "192.0.2.1") for key in ("wrong-again", READ)]
    for answer in refused:
        assert code_of(answer) == (429, "too_many_wrong_keys")
        assert 0 < int(answer.headers["retry-after"]) <= REMEMBERED_SECONDS
    assert ask(READ, "192.0.2.2").status_code != 429
    assert ask(READ).status_code != 429
    assert [record.args[0] for record in caplog.records] == ["192.0.2.1"]


def test_address_that_a_client_writes_itself_is_not_believed(ask):
    for number in range(MOST):
        ask(f"wrong-{number}", f"198.51.100.{number}", "192.0.2.1")
    assert ask(READ, "198.51.100.200", "192.0.2.1").status_code == 429
    assert ask(READ, "198.51.100.0").status_code != 429


def test_tries_on_public_paths_count_and_the_paths_stay_open(ask):
    for number in range(MOST):
        assert ask(f"wrong-{number}", path="/livez").status_code == 200
    assert ask(READ).status_code == 429
    assert ask(READ, path="/livez").status_code == 200
    assert "collections" not in ask(READ, path="/readyz").json()


def test_failures_are_counted_by_reason(ask):
    ask(None)
    ask(None, path="/livez")
    for number in range(MOST):
        ask(f"wrong-{number}")
    ask(READ)
    page = ask(None, path="/metrics").text
    found = re.findall(r'(?m)^hubless_failed_authentications_total\{reason="(\w+)"\} (\d+)', page)
    assert dict(found) == {"no_key": "1", "wrong_key": str(MOST), "too_many": "1"}
