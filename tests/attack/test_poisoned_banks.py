"""Somebody who may ask wants a target to be found no more: his queries are all like it, and teach the correction."""

import json
import time
from contextlib import contextmanager

import httpx
import numpy as np
import pytest
from support.hubs import unit, with_victim
from support.serving import serving_catalog

from hubless_service.maintaining import maintainer
from hubless_service.observing import sampling

NAMES = ["evil", "app", *(f"person-{number}" for number in range(12))]
KEYS = {name: f"key-of-{name}".ljust(32, "x") for name in ("boss", *NAMES)}
NOTES = "/v1/collections/notes"
WANTED = 300
VICTIM = 7
TARGETS, HONEST, OF_VICTIM, POISON = with_victim(VICTIM)
DIM = TARGETS.shape[1]


class Attacked:
    """A server that samples queries, with keys for all."""

    def __init__(self, url):
        self.url = url

    def send(self, method, path, body=None, name="boss"):
        answer = httpx.request(
            method, f"{self.url}{NOTES}{path}", json=body, headers={"X-API-Key": KEYS[name]}, timeout=100
        )
        assert answer.status_code < 300, answer.text
        return answer.json()

    def ask(self, queries, name, limit=1, **headers):
        """Return the first hit of each query."""
        batch = {"queries": [{"vector": query.tolist(), "limit": limit} for query in queries]}
        headers |= {"X-API-Key": KEYS[name]}
        answer = httpx.post(f"{self.url}{NOTES}/query/batch", json=batch, headers=headers, timeout=100)
        return [each["hits"][0]["id"] for each in answer.json()["results"]]

    def found(self):
        """Return the share of the victim's queries that find it first."""
        return np.mean([found == VICTIM for found in self.ask(OF_VICTIM, "boss", **{"X-No-Sample": "1"})])

    def ask_as_people(self, people=12):
        for number, name in enumerate(NAMES[2 : 2 + people]):
            self.ask(HONEST[number::12], name)

    def counted(self, queries):
        """Wait until so many queries are sampled, and return what the waiting bank says."""
        while (kept := self.send("GET", "")["query_sample"]) is None or kept["queries"] < queries:
            time.sleep(0.05)
        return self.send("GET", "/bank")["waiting"]

    def fitted(self):
        while True:
            bank = self.send("GET", "/bank")
            if bank["waiting"] is None and bank["work"]["state"] != "running":
                return bank
            time.sleep(0.05)


@pytest.fixture
def attacked(tmp_path, monkeypatch):
    monkeypatch.setattr(sampling, "_WRITE_SECONDS", 0.0)
    monkeypatch.setattr(maintainer, "LOOK_SECONDS", 0.05)

    @contextmanager
    def started():
        keys = [{"key": key, "role": "admin" if name == "boss" else "read", "name": name} for name, key in KEYS.items()]
        (tmp_path / "keys.json").write_text(json.dumps({"keys": keys}))
        settings = {"keys_file": tmp_path / "keys.json", "query_sample": tmp_path / "sample", "merge_at": 0}
        with serving_catalog(tmp_path / "catalog", hubness=False, **settings) as url:
            server = Attacked(url)
            server.send("PUT", "", {"dim": DIM, "metric": "cosine", "id_type": "int64"})
            points = [{"id": row, "vector": vector.tolist()} for row, vector in enumerate(TARGETS)]
            server.send("PUT", "/points", {"points": points})
            assert server.found() == 1
            yield server

    (tmp_path / "catalog").mkdir()
    with started() as server:
        yield server


@pytest.mark.slow
def test_one_key_cannot_fill_a_bank_by_itself(attacked):
    attacked.send("PUT", "/bank", {"sampled": WANTED})
    attacked.ask(POISON, "evil")
    attacked.ask_as_people(people=3)
    waiting = attacked.counted(350)
    assert waiting["counted"] == {"queries": 4 * WANTED // 10, "clients": 4, "clients_needed": 10}
    assert attacked.send("GET", "/bank")["work"] is None
    assert attacked.found() == 1


@pytest.mark.slow
def test_key_that_asks_for_many_people_counts_without_limit_if_the_admin_names_it(attacked):
    attacked.send("PUT", "/bank", {"sampled": WANTED, "trusted": ["app"]})
    attacked.ask(HONEST[:200], "app")
    counted = attacked.counted(200)["counted"]
    assert counted == {"queries": 200, "clients": 1, "clients_needed": 1}
    attacked.ask(POISON, "evil")
    attacked.ask(HONEST[200:], "app")
    bank = attacked.fitted()
    assert (bank["work"]["state"], bank["correction"]) == ("done", "auto")
    assert 200 <= bank["queries"] <= 270


def test_one_key_among_many_cannot_bury_a_target(attacked):
    attacked.send("PUT", "/bank", {"sampled": WANTED})
    attacked.ask(POISON, "evil")
    attacked.ask_as_people()
    bank = attacked.fitted()
    assert (bank["work"]["state"], bank["correction"]) == ("done", "auto")
    assert bank["queries"] <= len(HONEST) + WANTED // 10
    assert attacked.found() >= 0.9  # which queries are sampled is drawn anew in each run


@pytest.mark.slow
def test_new_target_cannot_be_buried_before_it_comes(attacked):
    rng = np.random.default_rng(6)
    coming = unit(rng.normal(size=DIM))
    poison = unit(coming + 0.08 * rng.normal(size=(100, DIM)))
    body = {"vectors": np.concatenate([HONEST[:200], poison]).tolist(), "timeout_ms": 60_000}
    attacked.send("PUT", "/bank", body)
    attacked.send("PUT", "/points", {"points": [{"id": 1000, "vector": coming.tolist()}]})
    offsets = [attacked.send("GET", f"/points/{row}")["offset"] for row in (1000, *range(50))]
    assert offsets[0] <= 2 * max(offsets[1:])
