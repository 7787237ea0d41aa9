"""What is made of live queries: hubness, drift from the query bank, and the strength that they speak for."""

import asyncio
import time
from types import SimpleNamespace

import numpy as np
import pytest
from support import catalogs, versions
from support.contract import gauges
from support.hubs import foreign, pairs

import hubless
from hubless import measures
from hubless.errors import EngineUnavailable
from hubless.measures.chance import antihubs_by_chance, skewness_by_chance
from hubless_service.http.problems import HttpProblem
from hubless_service.observing.live import FEWEST, MOST, LiveVersion

QUERIES = catalogs.words().query_bank[:40]
HUBNESS = "/v1/collections/words/hubness"
BATCH = "/v1/collections/words/query/batch"
RANKINGS = ("served", "corrected", "raw")


def ask(client, **fields):
    queries = [{"vector": query.tolist(), **fields} for query in QUERIES]
    assert client.post(BATCH, json={"queries": queries}).status_code == 200


def test_figures_and_hubs_are_those_of_the_answers_and_of_the_raw_ranking(serve, words):
    with serve({"words": words}) as (client, _):
        ask(client, limit=25)
        found = client.get(HUBNESS).json()
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
        assert [hub["occurrence"] for hub in hubs] == np.sort(counts)[::-1][:10].tolist()
        by_id = dict(zip(words.ids(np.arange(words.count)), counts, strict=True))
        assert all(by_id[hub["id"]] == hub["occurrence"] for hub in hubs)
    assert shown == pytest.approx(found["served"], rel=1e-6)
    assert found["raw"]["skewness"] > found["corrected"]["skewness"] + 1


@pytest.mark.parametrize("chosen", [{"diversity": 0.5}, {"group_by": "title"}])
def test_hits_that_were_chosen_do_not_count_as_they_do_not_follow_the_ranking(serve, words, chosen):
    with serve({"words": words}) as (client, _):
        ask(client, **chosen)
        found = client.get(HUBNESS).json()
    assert found["seen"] == 0
    assert {found[each] for each in (*RANKINGS, "live", "drift")} == {None}


def test_filtered_queries_are_compared_under_their_filter_and_those_that_find_nothing_are_not(serve, words, caplog):
    few, no_hubs = ({"field": "rank", **limit} for limit in ({"lt": 50}, {"gte": catalogs.HUBS}))
    with serve({"words": words}) as (client, _):
        for each in ({"field": "rank", "eq": -1}, few, no_hubs):
            ask(client, filter=each)
        found = client.get(HUBNESS).json()
    for ranking, strength in zip(RANKINGS, (1, 1, 0), strict=True):
        rows = [words.query(QUERIES, limit=10, strength=strength, filter=each).rows for each in (few, no_hubs)]
        skewness = measures.skewness(measures.k_occurrence(np.concatenate(rows), words.count))
        assert found[ranking]["skewness"] == pytest.approx(skewness, rel=1e-6)
    assert found["raw"]["queries"] == 2 * len(QUERIES)
    assert "searched again" not in caplog.text


def test_answers_are_counted_though_no_time_is_left_to_search_again(serve, words, monkeypatch):
    monkeypatch.setattr("hubless_service.routes.analysis._SHARE", 0)
    with serve({"words": words}) as (client, _):
        ask(client)
        found = client.get(HUBNESS).json()
    assert found["served"]["queries"] == len(QUERIES)
    assert {found[each] for each in ("corrected", "raw", "live")} == {None}


def test_nothing_is_kept_where_it_is_switched_off(serve, words):
    with serve({"words": words}, hubness=False) as (client, _):
        ask(client)
        found = client.get(HUBNESS).json()
        assert {found[each] for each in (*RANKINGS, "live", "drift")} == {None}
        assert gauges(client, "hubless_live_(.*)") == {}


def test_only_the_last_answers_count(serve, words, monkeypatch):
    window = 5 * len(QUERIES)
    monkeypatch.setattr("hubless_service.observing.live.WINDOW", window)
    with serve({"words": words}) as (client, _):
        ask(client, limit=1)
        for _ in range(6):
            client.post(BATCH, json={"queries": [{"vector": QUERIES[0].tolist()}] * len(QUERIES)})
        found = client.get(HUBNESS).json()
    assert found["served"]["queries"] == found["window"] == window
    assert found["seen"] > window
    assert {hub["occurrence"] for hub in found["served"]["hubs"]} == {window}


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


def test_drift_from_the_bank_is_told_with_what_to_do_until_the_queries_are_like_it_again(serve, words):
    rng = np.random.default_rng(5)
    vocabulary = list(catalogs.VOCABULARY)
    with serve({"words": words}) as (client, _):
        for known, drifts in ((vocabulary, False), (vocabulary[:8], True), (vocabulary, False)):
            texts = [{"text": " ".join(rng.choice(known, 3))} for _ in range(MOST)]
            assert client.post(BATCH, json={"queries": texts}).status_code == 200
            shown = gauges(client, "hubless_(drift)")  # made for whoever asks first
            found = client.get(HUBNESS).json()["drift"]
            assert shown == {"drift": found["drift"]}
            assert (found["drift"] > 3) == drifts
            assert ("recent queries as the bank" in (found["advice"] or "")) == drifts


def observe(live, collection, vectors, limit=10):
    results = collection.query(vectors, limit, prepared=True)
    asked = [SimpleNamespace(asked=vector[np.newaxis], options={"limit": limit}) for vector in vectors]
    live.observe(collection, [(query, (results, line)) for line, query in enumerate(asked)])


def test_drift_is_of_the_last_queries_and_made_again_once_some_are_new(numbers):
    rng = np.random.default_rng(0)
    live, bank = LiveVersion(), numbers.parts.bank_sample
    observe(live, numbers, np.repeat(bank[:10], 5, axis=0))
    assert live.drift(numbers) is None  # too few different ones
    observe(live, numbers, bank[10:FEWEST])
    before = live.drift(numbers)
    assert (before["drift"] < 1, before["queries"]) == (True, FEWEST)
    observe(live, numbers, bank[:1])
    assert live.drift(numbers) is before
    observe(live, numbers, 5 + rng.normal(size=(2 * MOST, numbers.dim)).astype(np.float32))
    assert live.drift(numbers)["drift"] > 3
    assert live.drift(numbers)["queries"] == MOST
    object.__setattr__(numbers.parts, "bank_sample", None)
    without = LiveVersion()
    observe(without, numbers, bank)
    assert without.drift(numbers) is None


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


@pytest.mark.parametrize(
    ("bank", "asked", "low", "high", "state"),
    [("fitting", 500, 1, 1, "enough"), ("foreign", 500, 0, 0.25, "enough"), ("foreign", 10, 1, 1, "too_few")],
)
def test_live_queries_speak_for_less_with_a_foreign_bank_only_and_are_asked_only_at_a_request(
    serve, banks, bank, asked, low, high, state
):
    with serve({"c": banks[bank]}) as (client, _):
        queries = [{"vector": query.tolist()} for query in LIVE[:asked]]
        assert client.post(f"{ABOUT}/query/batch", json={"queries": queries}).status_code == 200
        client.get("/metrics")
        assert client.get(ABOUT).json()["live"] is None
        found = client.get(f"{ABOUT}/hubness").json()
        assert client.get(ABOUT).json()["live"] == found["live"]
    assert found["raw"]["queries"] == asked
    assert found["live"]["state"] == state
    assert low <= found["live"]["recommended_strength"] <= high


def test_strength_is_that_of_the_library_and_by_no_more_than_the_last_queries(banks):
    collection = banks["foreign"]
    live = LiveVersion()
    observe(live, collection, PEOPLE[: MOST + 100][::-1])
    asyncio.run(live.compare(collection, at_once))
    chosen = hubless.choose_strength(PEOPLE[:MOST], TARGETS, collection.offsets, metric="cosine")
    assert live.speaks_for == {
        "recommended_strength": chosen.strength,
        "queries": chosen.different,
        "state": chosen.state,
    }


def test_answers_of_fewer_hits_than_k_count_as_they_are(banks):
    collection = banks["fitting"]
    live = LiveVersion()
    observe(live, collection, LIVE[:2], limit=3)
    found = live.served(collection)
    assert (found["queries"], sum(hub["occurrence"] for hub in found["hubs"])) == (2, 6)
    assert found["chance"]["skewness"] == pytest.approx(skewness_by_chance(2, collection.count, 3))


async def at_once(work):
    return work()


def test_queries_are_searched_again_once_a_twentieth_is_new_and_it_has_rested(banks, monkeypatch):
    searched = []

    async def run(work):
        searched.append(work)
        return work()

    def look(new):
        if new:
            observe(live, banks["fitting"], LIVE[:new])
        asyncio.run(live.compare(banks["fitting"], run))
        return len(searched)

    live = LiveVersion()
    monkeypatch.setattr("hubless_service.observing.live._RESTS", 0)
    assert [look(64), look(0), look(3), look(1)] == [10, 10, 10, 25]  # blocks of 32 at five strengths
    monkeypatch.setattr("hubless_service.observing.live._RESTS", 1e6)
    assert [look(64), look(64)] == [50, 50]  # 132 queries; then it rests


@pytest.mark.parametrize("error", [HttpProblem("too_many_requests", "full"), EngineUnavailable("gone")])
def test_what_there_is_no_room_for_is_left_out_and_the_log_says_so(banks, caplog, error):
    collection, live, left = banks["fitting"], LiveVersion(), iter(range(7))

    async def run(work):
        if next(left, None) is None:
            raise error
        return work()

    caplog.set_level("INFO", "hubless.live")
    observe(live, collection, LIVE[:100])
    asyncio.run(live.compare(collection, run))
    found = live.describe(collection)
    assert (found["raw"]["queries"], found["corrected"]["queries"], found["served"]["queries"]) == (32, 32, 100)
    assert f'collection "c": of 100 live queries 32 were searched again: {error}' in caplog.text
