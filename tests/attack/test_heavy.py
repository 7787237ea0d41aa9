"""Requests that cost much: refused by what they hold, and answered without keeping others waiting."""

import httpx
import numpy as np
import pytest
from support import busy, catalogs
from support.server_process import served

WORDS = "/v1/collections/words"
JSON = {"content-type": "application/json"}
MIB = 2**20
LARGEST = 16 * MIB
VECTOR = str(catalogs.words().query_bank[0].tolist())


def listed(item, size=LARGEST - 1024):
    """A JSON list of one item again and again, of nearly so many bytes."""
    return "[" + ",".join([item] * (size // (len(item) + 1))) + "]"


def batch(query, count=1000):
    return '{"queries":' + "[" + ",".join([query] * count) + "]}"


def query(**members):
    return "{" + f'"vector":{VECTOR}' + "".join(f',"{name}":{value}' for name, value in members.items()) + "}"


CONDITIONS = '{"and":' + listed('{"field":"rank","eq":1}', 255 * 24) + "}"
VALUES = '{"field":"rank","in":' + listed("1", 2000) + "}"
COLUMN = '"payload.title"'

# path, body, statuses that may answer it
HEAVY = {
    "a batch of filters of 255 conditions": ("query/batch", batch(query(filter=CONDITIONS), 900), {422}),
    "a batch of filters of 1,000 values": ("query/batch", batch(query(filter=VALUES)), {422}),
    "a filter of 255 conditions": ("query", query(filter=CONDITIONS), {200}),
    "255 times 10,000 values": ("count", '{"filter":{"and":' + listed(VALUES, 2 * MIB - 1024) + "}}", {422}),
    "one column a million times": (
        "query/batch",
        batch(query(**{"with": listed(COLUMN, LARGEST // 1000 - 800)})),
        {422},
    ),
    "one column a million times, in one query": ("query", query(**{"with": listed(COLUMN, 2 * MIB - 2048)}), {422}),
    "lists of nothing": ("query/batch", '{"queries":' + listed("[]") + "}", {422}),
    "objects of nothing": ("query/batch", '{"queries":' + listed("{}") + "}", {422}),
    "nothing but lists": ("query/batch", listed("[]"), {422}),
    "lists in lists": ("query/batch", "[" * (LARGEST - 1), {422}),
    "short strings": ("query/batch", '{"queries":' + listed('""') + "}", {422}),
    "small numbers": ("query/batch", '{"queries":' + listed("1") + "}", {422}),
    "names": ("query/batch", "{" + ",".join(f'"{number:x}":1' for number in range(1_100_000)) + "}", {422}),
    "50,000 unknown fields": ("query/batch", "{" + ",".join(f'"{n:06x}":1' for n in range(50_000)) + "}", {422}),
    "800,000 numbers in a vector": (
        "query/batch",
        batch('{"vector":' + listed("0.123456789", 9 * MIB) + "}", 1),
        {422},
    ),
    "texts of 10,000 characters": ("query/batch", batch('{"text":"' + "amber " * 1600 + '"}'), {200, 504}),
    "a batch of 1,000 vectors": ("query/batch", batch(query()), {200}),
    "a batch of 100,000 hits with their payload": (
        "query/batch",
        batch(query(limit=100, **{"with": '["payload"]'})),
        {200},
    ),
    "a batch of 160,000 hits' vectors": (
        "query/batch",
        batch(query(limit=100, **{"with": '["vector"]'}), 1600 // 10),
        {200},
    ),
    "parameters without end": (
        "query",
        query(params="{" + ",".join(f'"{n:06x}":1' for n in range(50_000)) + "}"),
        {422},
    ),
    "ids without end": ("points", '{"ids":' + listed('"x"', 2 * MIB - 1024) + "}", {422}),
    "a body above the limit of its kind": ("count", " " * (2 * MIB + 1), {413}),
    "a large alias": ("../../aliases/new", " " * (2 * MIB + 1), {413}),
}


@pytest.fixture(scope="module")
def patient(catalog):
    """A server that waits long enough for large bodies."""
    with served(catalog) as server:
        yield server


@pytest.mark.parametrize("name", HEAVY)
def test_heavy_request_is_refused_or_answered(patient, attack, probed, name):
    path, body, statuses = HEAVY[name]
    method = "PUT" if "aliases" in path else "POST"
    with probed(patient) as probe:
        answer = httpx.request(method, f"{patient.url}{WORDS}/{path}", content=body, headers=JSON, timeout=120)
    attack(f"heavy request: {name}", 1, probe.longest)
    assert answer.status_code in statuses
    assert answer.status_code < 500 or answer.json()["code"] == "deadline_exceeded"


def test_light_requests_show_what_the_machine_itself_lets_wait(patient, attack, probed):
    with probed(patient) as probe, httpx.Client(base_url=patient.url) as client:
        for _ in range(500):
            assert client.post(f"{WORDS}/query", content=query(), headers=JSON).status_code == 200
    attack("none: light requests, for comparison", 500, probe.longest)


@pytest.mark.slow
def test_large_batches_of_vectors_keep_nobody_waiting(tmp_path, attack, probed):
    rows = np.random.default_rng(9).normal(size=(1000, busy.DIM)).astype("<f4")
    queries = [{"vector": row.tolist(), "limit": 100} for row in rows]
    with served(busy.build(tmp_path)) as server:
        with probed(server) as probe:
            for _ in range(5):
                answer = httpx.post(f"{server.url}{busy.BATCH}", json={"queries": queries}, timeout=120)
                assert answer.status_code == 200
        attack("batches of 1,000 queries for 100 hits", 5, probe.longest)
