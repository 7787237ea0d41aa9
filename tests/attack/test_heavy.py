"""Requests that cost much: refused by what they hold, and answered without keeping others waiting."""

import httpx
import pytest
from support import catalogs
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
    "texts of 10,000 characters": ("query/batch", batch('{"text":"' + "amber " * 1600 + '"}', 300), {200, 504}),
    "a batch of 1,000 vectors": ("query/batch", batch(query()), {200}),
    "a batch of 100,000 hits with their payload": (
        "query/batch",
        batch(query(limit=100, **{"with": '["payload"]'})),
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
    with served(catalog) as server:
        yield server


@pytest.mark.parametrize("name", HEAVY)
def test_heavy_request_is_refused_or_answered(patient, name):
    path, body, statuses = HEAVY[name]
    method = "PUT" if "aliases" in path else "POST"
    answer = httpx.request(method, f"{patient.url}{WORDS}/{path}", content=body, headers=JSON, timeout=120)
    assert answer.status_code in statuses
    assert answer.status_code < 500 or answer.json()["code"] == "deadline_exceeded"
