"""Live hubness: of what is served, and of a share of the queries with the correction and without it."""

import time

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support import catalogs, versions

import hubless
from hubless import measures
from hubless.measures.chance import antihubs_by_chance, skewness_by_chance
from hubless_service.observing import live
from hubless_service.observing.live import WINDOW

QUERIES = catalogs.words().query_bank[:40]
HUBNESS = "/v1/collections/words/hubness"
BATCH = "/v1/collections/words/query/batch"
RANKINGS = ("served", "corrected", "raw")


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    """Look at queries often."""
    monkeypatch.setattr(live, "_SECONDS", 0.01)
    monkeypatch.setattr(live, "_RESTS", 0)


def ask(client, **fields):
    queries = [{"vector": query.tolist(), **fields} for query in QUERIES]
    assert client.post(BATCH, json={"queries": queries}).status_code == 200


def until(client, ranking, queries):
    """The live hubness, as soon as a ranking has so many queries."""
    while True:
        found = client.get(HUBNESS).json()
        if found[ranking] and found[ranking]["queries"] == queries:
            return found
        time.sleep(0.01)


def gauges(client):
    """(figure, ranking) → value, of the collection of words."""
    return {
        (sample.name.removeprefix("hubless_live_"), sample.labels["ranking"]): sample.value
        for family in text_string_to_metric_families(client.get("/metrics").text)
        for sample in family.samples
        if sample.name.startswith("hubless_live_")
    }


def test_figures_and_hubs_are_those_of_the_answers_and_of_the_raw_ranking(serve, words):
    with serve({"words": words}, hubness_compared=512) as (client, _):
        ask(client, limit=25)
        found = until(client, "raw", len(QUERIES))
        shown = gauges(client)
    assert (found["collection"], found["version"], found["k"]) == ("words", words.version, 10)
    for ranking, strength in zip(RANKINGS, (1, 1, 0), strict=True):
        counts = measures.k_occurrence(words.query(QUERIES, limit=10, strength=strength).rows, words.count)
        hubs, chance = found[ranking].pop("hubs"), found[ranking].pop("chance")
        assert chance["skewness"] == pytest.approx(skewness_by_chance(len(QUERIES), words.count, 10))
        assert chance["antihub_share"] == pytest.approx(antihubs_by_chance(len(QUERIES), words.count, 10))
        expected = {
            "queries": len(QUERIES),
            "skewness": measures.skewness(counts),
            "top_hub_share": counts.max() / counts.sum(),
            "antihub_share": np.mean(counts == 0),
        }
        assert found[ranking] == pytest.approx(expected, rel=1e-6)
        assert {name: shown[name, ranking] for name in expected} == pytest.approx(expected, rel=1e-6)
        assert [hub["occurrence"] for hub in hubs] == np.sort(counts)[::-1][:10].tolist()
        by_id = dict(zip(words.ids(np.arange(words.count)), counts, strict=True))
        assert all(by_id[hub["id"]] == hub["occurrence"] for hub in hubs)
    assert found["raw"]["skewness"] > found["corrected"]["skewness"] + 1


def test_only_as_many_places_count_as_were_asked_for(serve, words):
    with serve({"words": words}, hubness_compared=512) as (client, _):
        ask(client, limit=1)
        found = until(client, "raw", len(QUERIES))
    assert [sum(hub["occurrence"] for hub in found[ranking]["hubs"]) <= 40 for ranking in RANKINGS] == [True] * 3


def test_queries_that_are_not_corrected_are_not_compared(serve, words):
    with serve({"words": words}, hubness_compared=512) as (client, _):
        ask(client, strength=0)
        ask(client)
        found = until(client, "raw", len(QUERIES))
    assert found["served"]["queries"] == 2 * len(QUERIES)


def test_filtered_queries_are_compared_under_their_filter_and_those_that_find_nothing_are_not(serve, words, caplog):
    with serve({"words": words}, hubness_compared=512) as (client, _):
        ask(client, filter={"field": "rank", "eq": -1})
        ask(client, filter={"field": "rank", "lt": 50})
        found = until(client, "raw", len(QUERIES))
    few = set(words.ids(np.arange(50)))
    for ranking in RANKINGS:
        assert {hub["id"] for hub in found[ranking]["hubs"]} <= few
    assert "failed" not in caplog.text


def test_without_a_share_nothing_is_searched_twice(serve, words):
    with serve({"words": words}, hubness_compared=0) as (client, _):
        ask(client)
        found = client.get(HUBNESS).json()
        assert (found["corrected"], found["raw"]) == (None, None)
        assert {ranking for _, ranking in gauges(client)} == {"served"}


def test_only_the_last_answers_count(serve, words):
    with serve({"words": words}, hubness_compared=0) as (client, _):
        ask(client, limit=1)
        for _ in range(WINDOW // len(QUERIES) + 1):
            client.post(BATCH, json={"queries": [{"vector": QUERIES[0].tolist()}] * len(QUERIES)})
        found = client.get(HUBNESS).json()
    assert found["served"]["queries"] == found["window"] == WINDOW
    assert found["seen"] > WINDOW
    assert {hub["occurrence"] for hub in found["served"]["hubs"]} == {WINDOW}


def test_nothing_is_counted_where_it_is_switched_off(serve, words):
    with serve({"words": words}, hubness=False) as (client, _):
        ask(client)
        found = client.get(HUBNESS).json()
        assert [found[ranking] for ranking in RANKINGS] == [None] * 3
        assert gauges(client) == {}


def test_new_version_begins_anew(serve, tmp_path):
    names = versions.build(tmp_path, 2)
    old, new = (hubless.open(tmp_path, versions.NAME, version=version) for version in names)
    with serve({"songs": old}, poll_seconds=0.02) as (client, source):
        query = {"vector": [1.0] * old.dim}
        client.post("/v1/collections/songs/query", json=query)
        before = client.get("/v1/collections/songs/hubness").json()
        source.served = {"songs": new}
        while (after := client.get("/v1/collections/songs/hubness").json())["version"] == old.version:
            time.sleep(0.005)
    assert before["served"]["queries"] == 1
    assert after["served"] is None
