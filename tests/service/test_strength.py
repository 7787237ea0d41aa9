"""The strength that live queries speak for, on a real server: told for a bank that is not like them."""

import logging
import time

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.hubs import pairs, unit

import hubless
from hubless_service.observing import live
from hubless_service.observing.live import LiveVersion

QUERIES, ITEMS, _ = pairs(1100, apart=1.0, common=1.0)
LIVE, BANK, TARGETS = QUERIES[:500], QUERIES[500:800], ITEMS[600:]
COLLECTION = "/v1/collections/c"


def foreign_bank():
    """Queries about three other things."""
    rng = np.random.default_rng(3)
    return unit(rng.normal(size=(300, 64)) * 0.6 + 2 * rng.normal(size=(3, 64))[rng.integers(3, size=300)])


@pytest.fixture(scope="module")
def banks(tmp_path_factory):
    """Collections of the same targets, by their banks."""
    folder = tmp_path_factory.mktemp("banks")
    for name, bank in (("fitting", BANK), ("foreign", foreign_bank())):
        hubless.build(folder / name, "c", TARGETS, bank, progress=False)
    return {name: hubless.open(folder / name, "c") for name in ("fitting", "foreign")}


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    """Look at queries often."""
    monkeypatch.setattr(live, "_SECONDS", 0.01)
    monkeypatch.setattr(live, "_RESTS", 0)


def ask(client, queries=LIVE, **fields):
    asked = [{"vector": query.tolist(), **fields} for query in queries]
    answer = client.post(f"{COLLECTION}/query/batch", json={"queries": asked})
    assert answer.status_code == 200
    return answer.json()["results"]


def until(client, queries):
    """The document of the collection, as soon as the recommendation is made of so many queries."""
    while True:
        found = client.get(COLLECTION).json()
        if found["live"] and found["live"]["queries"] >= queries:
            return found
        time.sleep(0.01)


def gauges(client):
    return {
        sample.name.removeprefix("hubless_"): sample.value
        for family in text_string_to_metric_families(client.get("/metrics").text)
        for sample in family.samples
        if sample.name.endswith("strength")
    }


@pytest.mark.parametrize(("bank", "low", "high"), [("fitting", 1, 1), ("foreign", 0, 0.25)])
def test_recommendation_falls_with_a_foreign_bank_only(serve, banks, bank, low, high, caplog):
    caplog.set_level(logging.INFO, "hubless.live")
    with serve({"c": banks[bank]}, hubness_compared=512) as (client, _):
        assert client.get(COLLECTION).json()["live"] is None
        ask(client)
        found = until(client, 350)  # of 413 different ones; the last few make no new recommendation
        shown = gauges(client)
    assert found["live"]["state"] == "enough"
    assert low <= found["live"]["recommended_strength"] <= high
    assert found["strength"] == shown["strength"] == 1
    assert low <= shown["recommended_strength"] <= high
    assert "different live queries speak for strength" in caplog.text


def test_few_live_queries_recommend_nothing_in_the_metrics(serve, banks):
    with serve({"c": banks["foreign"]}, hubness_compared=512) as (client, _):
        ask(client, LIVE[:10])
        live = until(client, 5)["live"]
        shown = gauges(client)
    assert (live["recommended_strength"], live["state"]) == (1, "too_few")
    assert shown == {"strength": 1}


@pytest.mark.parametrize("off", [{"hubness_compared": 0}, {"hubness": False}])
def test_nothing_is_recommended_where_it_is_switched_off(serve, banks, off):
    with serve({"c": banks["foreign"]}, **{"hubness_compared": 512, **off}) as (client, _):
        ask(client)
        client.get(f"{COLLECTION}/hubness")  # counts what was answered
        assert client.get(COLLECTION).json()["live"] is None


def observe(live, collection, queries, limit=10):
    options = {"limit": limit, "strength": 1.0, "parameters": None, "filter": None, "prepared": True}
    rows = collection.query(queries, **options).rows
    live.observe(collection, queries, [(rows, line) for line in range(len(rows))], options)


def test_strength_is_chosen_anew_only_if_answers_have_changed(banks):
    collection = banks["fitting"]
    live = LiveVersion(collection, compared=512)
    chosen = [live.choose(1.0)]
    for begin, end in ((0, 100), (100, 102), (102, 110)):
        observe(live, collection, LIVE[begin:end])
        live.compare(collection, lambda: False)
        chosen.append(live.choose(1.0))
    assert chosen == [False, True, False, True]


def test_of_queries_that_come_too_fast_some_are_compared_and_none_while_others_wait(banks):
    collection = banks["fitting"]
    live = LiveVersion(collection, compared=100)
    observe(live, collection, LIVE)
    live.compare(collection, lambda: True)
    live.choose(1.0)
    assert live.chosen.queries < 100
    live.compare(collection, lambda: False)
    live.choose(1.0)
    assert live.chosen.queries == 100


def test_answers_of_fewer_hits_than_k_count_as_they_are(banks):
    collection = banks["fitting"]
    live = LiveVersion(collection, compared=0)
    observe(live, collection, LIVE[:2], limit=3)
    found = live.rankings(collection)["served"]
    assert (found["queries"], sum(hub["occurrence"] for hub in found["hubs"])) == (2, 6)
