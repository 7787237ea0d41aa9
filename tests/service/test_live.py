"""What is measured of live queries: hubness, drift from the query bank, and the strength that they speak for."""

import logging
import re
import time
from types import SimpleNamespace

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support import catalogs, versions
from support.hubs import foreign, pairs

import hubless
from hubless import measures
from hubless.measures.chance import antihubs_by_chance, skewness_by_chance
from hubless_service.observing import live
from hubless_service.observing.live import FEWEST, MOST, WINDOW, Answered, LiveVersion

QUERIES = catalogs.words().query_bank[:40]
HUBNESS = "/v1/collections/words/hubness"
BATCH = "/v1/collections/words/query/batch"
RANKINGS = ("served", "corrected", "raw")


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
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


def gauges(client, pattern):
    """(what a pattern's group finds in the name of a gauge, its ranking or None) → value."""
    samples = [each for one in text_string_to_metric_families(client.get("/metrics").text) for each in one.samples]
    return {
        (found[1], sample.labels.get("ranking")): sample.value
        for sample in samples
        if (found := re.fullmatch(pattern, sample.name))
    }


def test_figures_and_hubs_are_those_of_the_answers_and_of_the_raw_ranking(serve, words):
    with serve({"words": words}, hubness_compared=512) as (client, _):
        ask(client, limit=25)
        found = until(client, "raw", len(QUERIES))
        shown = gauges(client, "hubless_live_(.*)")
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


def test_hits_that_were_chosen_do_not_count_as_they_do_not_follow_the_ranking(serve, words):
    with serve({"words": words}) as (client, _):
        ask(client, diversity=0.5)
        ask(client, group_by="title")
        assert client.get(HUBNESS).json()["seen"] == 0


def test_filtered_queries_are_compared_under_their_filter_and_those_that_find_nothing_are_not(serve, words, caplog):
    with serve({"words": words}, hubness_compared=512) as (client, _):
        ask(client, filter={"field": "rank", "eq": -1})
        ask(client, filter={"field": "rank", "lt": 50})
        found = until(client, "raw", len(QUERIES))
    few = set(words.ids(np.arange(50)))
    for ranking in RANKINGS:
        assert {hub["id"] for hub in found[ranking]["hubs"]} <= few
    assert "failed" not in caplog.text


@pytest.mark.parametrize(("off", "left"), [({"hubness_compared": 0}, {"served"}), ({"hubness": False}, set())])
def test_what_is_switched_off_is_neither_measured_nor_recommended(serve, words, off, left):
    with serve({"words": words}, **{"hubness_compared": 512, **off}) as (client, _):
        ask(client)
        found = client.get(HUBNESS).json()
        assert {ranking for ranking in RANKINGS if found[ranking]} == left
        assert {ranking for _, ranking in gauges(client, "hubless_live_(.*)")} == left
        assert client.get("/v1/collections/words").json()["live"] is None


def test_only_the_last_answers_count(serve, words):
    with serve({"words": words}, hubness_compared=0) as (client, _):
        ask(client, limit=1)
        for _ in range(WINDOW // len(QUERIES) + 1):
            client.post(BATCH, json={"queries": [{"vector": QUERIES[0].tolist()}] * len(QUERIES)})
        found = client.get(HUBNESS).json()
    assert found["served"]["queries"] == found["window"] == WINDOW
    assert found["seen"] > WINDOW
    assert {hub["occurrence"] for hub in found["served"]["hubs"]} == {WINDOW}


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


VOCABULARY = list(catalogs.VOCABULARY)


def texts(count, words, seed=5):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(words, 3)) for _ in range(count)]


def ask_texts(client, asked):
    assert client.post(BATCH, json={"queries": [{"text": text} for text in asked]}).status_code == 200


def test_queries_like_those_of_the_bank_are_no_drift(serve, words):
    with serve({"words": words}) as (client, _):
        ask_texts(client, texts(300, VOCABULARY))
        found = client.get(HUBNESS).json()["drift"]
        assert found["drift"] < 1
        assert found["advice"] is None
        assert 250 < found["queries"] <= 300
        assert gauges(client, "hubless_(drift)") == {("drift", None): found["drift"]}


def test_log_says_once_that_queries_left_the_bank_and_what_to_do_though_nobody_asks(serve, words, caplog):
    caplog.set_level("INFO", "hubless.live")

    def lines():
        return [record.getMessage() for record in caplog.records if record.name == "hubless.live"]

    with serve({"words": words}) as (client, _):
        ask_texts(client, texts(300, VOCABULARY[:8]))
        while not lines():
            time.sleep(0.01)
        (warned,) = lines()
        assert warned.startswith('collection "words", version ')
        assert "recent queries as the bank" in warned
        client.get(HUBNESS)
        assert lines() == [warned]
        for seed in range(2):
            ask_texts(client, texts(300, VOCABULARY, seed))
        assert client.get(HUBNESS).json()["drift"]["advice"] is None
        while len(lines()) < 2:
            time.sleep(0.01)
        assert lines()[1] == 'collection "words": the queries are like those of the query bank again'


def test_too_few_different_queries_say_nothing(serve, words):
    with serve({"words": words}) as (client, _):
        ask_texts(client, texts(10, VOCABULARY) * 30)
        assert client.get(HUBNESS).json()["drift"] is None
        assert gauges(client, "hubless_(drift)") == {}


def test_bundle_without_a_sample_of_its_bank_gives_none(serve, catalog):
    old = hubless.open(catalog, "words")
    object.__setattr__(old.parts, "bank_sample", None)
    with serve({"words": old}) as (client, _):
        ask_texts(client, texts(300, VOCABULARY))
        assert client.get(HUBNESS).json()["drift"] is None


def observe(live, collection, vectors, limit=10):
    results = collection.query(vectors, limit, prepared=True)
    asked = [SimpleNamespace(asked=vector[np.newaxis], options={"limit": limit}) for vector in vectors]
    live.observe(collection, [Answered(query, results, line) for line, query in enumerate(asked)])


def test_only_the_last_queries_are_compared_and_again_once_some_are_new(numbers):
    rng = np.random.default_rng(0)
    live = LiveVersion(numbers, compared=0)
    observe(live, numbers, numbers.parts.bank_sample[:FEWEST])
    before = live.drift(numbers)
    assert before["drift"] < 1
    observe(live, numbers, numbers.parts.bank_sample[:1])
    assert live.drift(numbers) is before
    observe(live, numbers, 5 + rng.normal(size=(2 * MOST, numbers.dim)).astype(np.float32))
    assert live.drift(numbers)["drift"] > 3
    assert live.drift(numbers)["queries"] == MOST


PEOPLE, ITEMS, _ = pairs(1100, apart=1.0, common=1.0)
LIVE, BANK, TARGETS = PEOPLE[:500], PEOPLE[500:800], ITEMS[600:]
ABOUT = "/v1/collections/c"


@pytest.fixture(scope="module")
def banks(tmp_path_factory):
    """Collections of the same targets, by their banks."""
    folder = tmp_path_factory.mktemp("banks")
    for name, bank in (("fitting", BANK), ("foreign", foreign())):
        hubless.build(folder / name, "c", TARGETS, bank, progress=False)
    return {name: hubless.open(folder / name, "c") for name in ("fitting", "foreign")}


def ask_each(client, queries=LIVE, **fields):
    asked = [{"vector": query.tolist(), **fields} for query in queries]
    answer = client.post(f"{ABOUT}/query/batch", json={"queries": asked})
    assert answer.status_code == 200
    return answer.json()["results"]


def until_recommended(client, queries):
    """The document of the collection, as soon as the recommendation is made of so many queries."""
    while True:
        found = client.get(ABOUT).json()
        if found["live"] and found["live"]["queries"] >= queries:
            return found
        time.sleep(0.01)


@pytest.mark.parametrize(("bank", "low", "high"), [("fitting", 1, 1), ("foreign", 0, 0.25)])
def test_recommendation_falls_with_a_foreign_bank_only(serve, banks, bank, low, high, caplog):
    caplog.set_level(logging.INFO, "hubless.live")
    with serve({"c": banks[bank]}, hubness_compared=512) as (client, _):
        assert client.get(ABOUT).json()["live"] is None
        ask_each(client)
        found = until_recommended(client, 350)  # of 413 different ones; the last few make no new recommendation
        shown = gauges(client, "hubless_(.*strength)")
    assert found["live"]["state"] == "enough"
    assert low <= found["live"]["recommended_strength"] <= high
    assert found["strength"] == shown["strength", None] == 1
    assert low <= shown["recommended_strength", None] <= high
    assert "different live queries speak for strength" in caplog.text


def test_few_live_queries_recommend_nothing_in_the_metrics(serve, banks):
    with serve({"c": banks["foreign"]}, hubness_compared=512) as (client, _):
        ask_each(client, LIVE[:10])
        live = until_recommended(client, 5)["live"]
        shown = gauges(client, "hubless_(.*strength)")
    assert (live["recommended_strength"], live["state"]) == (1, "too_few")
    assert shown == {("strength", None): 1}


def test_answers_of_fewer_hits_than_k_count_as_they_are(banks):
    collection = banks["fitting"]
    live = LiveVersion(collection, compared=0)
    observe(live, collection, LIVE[:2], limit=3)
    found = live.rankings(collection)["served"]
    assert (found["queries"], sum(hub["occurrence"] for hub in found["hubs"])) == (2, 6)


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


def test_version_is_looked_at_only_while_queries_are_new(serve, words, monkeypatch):
    looked, look = [], LiveVersion.look

    def noting(version, collection, others_wait):
        looked.append(collection.name)
        look(version, collection, others_wait)

    monkeypatch.setattr(LiveVersion, "look", noting)
    with serve({"words": words, "others": words}, hubness_compared=512) as (client, _):
        client.get("/metrics").raise_for_status()  # which makes figures of all
        ask(client)
        until(client, "raw", len(QUERIES))
    assert set(looked) == {"words"}
