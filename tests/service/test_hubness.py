"""Live hubness: of what is served, and of a share of the queries with the correction and without it."""

import errno
import time

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support import catalogs, versions

import hubless
from hubless import measures
from hubless.measures.chance import antihubs_by_chance, skewness_by_chance
from hubless_service.observing.decayed import DecayedOccurrence, window
from hubless_service.observing.decayed_chance import ANTIHUB, decayed_by_chance
from hubless_service.processes.folder import remove_counts_of

QUERIES = catalogs.words().query_bank[:40]
HUBNESS = "/v1/collections/words/hubness"
BATCH = "/v1/collections/words/query/batch"
LASTING = 10**9  # a half-life in which nothing is lost
RANKINGS = ("served", "corrected", "raw")


def decayed(finds, targets, half_life):
    """Counts in the plainest way: one query after the other."""
    counts = np.zeros(targets)
    for rows in finds:
        counts *= 0.5 ** (1 / half_life)
        np.add.at(counts, rows, 1)
    return counts


def ask(client, **fields):
    queries = [{"vector": query.tolist(), **fields} for query in QUERIES]
    assert client.post(BATCH, json={"queries": queries}).status_code == 200


def until(client, ranking, queries):
    """The live hubness, as soon as a ranking has so many queries."""
    while True:
        found = client.get(HUBNESS).json()
        if found[ranking] and found[ranking]["queries"] == pytest.approx(queries):
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


@pytest.mark.parametrize("half_life", [1, 3, 40, 1000])
@pytest.mark.parametrize("together", [1, 7, 200])
def test_counts_decay_as_if_all_of_them_shrank_with_each_query(half_life, together):
    finds = np.random.default_rng(0).permuted(np.tile(np.arange(12), (200, 1)), axis=1)[:, :5]
    occurrence = DecayedOccurrence(12, half_life)
    for start in range(0, len(finds), together):
        occurrence.add(finds[start : start + together])
    counts, queries = occurrence.together()
    np.testing.assert_allclose(counts, decayed(finds, 12, half_life), rtol=1e-4, atol=1e-9)
    assert queries == pytest.approx(decayed([[0]] * 200, 1, half_life)[0])


def test_decayed_queries_come_to_the_window():
    occurrence = DecayedOccurrence(1, 50)
    occurrence.add(np.zeros((5000, 1), np.int64))
    assert occurrence.together()[1] == pytest.approx(window(50), rel=0.01)


def test_counts_of_other_processes_are_added_until_those_are_buried(tmp_path):
    paths = [tmp_path / f"words-served-{pid}.counts" for pid in (1, 2)]
    ours, theirs = (DecayedOccurrence(3, 1000, path) for path in paths)
    ours.add(np.array([[0]]))
    theirs.add(np.array([[2], [2]]))
    counts, queries = ours.together(paths[1:])
    np.testing.assert_allclose(counts, [1, 0, 2], atol=0.01)
    assert queries == pytest.approx(3, abs=0.01)
    remove_counts_of(tmp_path, 2)
    assert ours.together(paths[1:])[1] == pytest.approx(1)


def test_figures_and_hubs_are_those_of_the_answers_and_of_the_raw_ranking(serve, words):
    with serve({"words": words}, hubness_share=1, hubness_half_life=LASTING) as (client, _):
        ask(client, limit=25)
        found = until(client, "raw", len(QUERIES))
        shown = gauges(client)
    assert (found["collection"], found["version"], found["k"]) == ("words", words.version, 10)
    for ranking, strength in zip(RANKINGS, (1, 1, 0), strict=True):
        counts = measures.k_occurrence(words.query(QUERIES, limit=10, strength=strength).rows, words.count)
        hubs, chance = found[ranking].pop("hubs"), found[ranking].pop("chance")
        assert chance["skewness"] == pytest.approx(skewness_by_chance(len(QUERIES), words.count, 10), rel=1e-3)
        assert chance["antihub_share"] == pytest.approx(antihubs_by_chance(len(QUERIES), words.count, 10), abs=0.02)
        expected = {
            "queries": len(QUERIES),
            "skewness": measures.skewness(counts),
            "top_hub_share": counts.max() / counts.sum(),
            "antihub_share": np.mean(counts == 0),
        }
        assert found[ranking] == pytest.approx(expected, rel=1e-5)
        assert {name: shown[name, ranking] for name in expected} == pytest.approx(expected, rel=1e-5)
        assert [round(hub["occurrence"]) for hub in hubs] == np.sort(counts)[::-1][:10].tolist()
        by_id = dict(zip(words.ids(np.arange(words.count)), counts, strict=True))
        assert all(by_id[hub["id"]] == round(hub["occurrence"]) for hub in hubs)
    assert found["raw"]["skewness"] > found["corrected"]["skewness"] + 1


@pytest.mark.parametrize(
    ("half_life", "queries", "targets", "k", "streams"),
    [(20, 15, 100, 5, 1), (20, 60, 100, 2, 1), (20, 400, 150, 3, 1), (50, 500, 400, 4, 3)],
)
def test_chance_is_what_random_finds_give(half_life, queries, targets, k, streams):
    rng = np.random.default_rng(0)
    skewness, antihubs, given = [], [], []
    for _ in range(60):
        processes = [DecayedOccurrence(targets, half_life) for _ in range(streams)]
        for process in processes:
            process.add(np.argsort(rng.random((queries, targets)), axis=1)[:, :k])
        together = [process.together() for process in processes]
        counts, weight = sum(counts for counts, _ in together), sum(weight for _, weight in together)
        skewness.append(measures.skewness(counts))
        antihubs.append(np.mean(counts < ANTIHUB))
        given.append(decayed_by_chance(weight, counts.sum(), targets, half_life, streams))
    assert given[0]["skewness"] == pytest.approx(np.mean(skewness), rel=0.15)
    assert given[0]["antihub_share"] == pytest.approx(np.mean(antihubs), abs=0.02)
    assert given[0] == pytest.approx(given[-1], rel=1e-3)


def test_where_nothing_is_left_to_chance_it_is_zero():
    assert decayed_by_chance(40, 400, 10, 100) == {"skewness": 0.0, "antihub_share": 0.0}
    assert decayed_by_chance(40, 0, 10, 100) == {"skewness": 0.0, "antihub_share": 1.0}


def test_only_as_many_places_count_as_were_asked_for(serve, words):
    with serve({"words": words}, hubness_share=1, hubness_half_life=LASTING) as (client, _):
        ask(client, limit=1)
        found = until(client, "raw", len(QUERIES))
    assert [sum(hub["occurrence"] for hub in found[ranking]["hubs"]) <= 40.1 for ranking in RANKINGS] == [True] * 3


def test_queries_that_are_not_corrected_are_not_compared(serve, words):
    with serve({"words": words}, hubness_share=1, hubness_half_life=LASTING) as (client, _):
        ask(client, strength=0)
        ask(client)
        found = until(client, "raw", len(QUERIES))
    assert found["served"]["queries"] == pytest.approx(2 * len(QUERIES))


def test_filtered_queries_are_compared_under_their_filter_and_those_that_find_nothing_are_not(serve, words, caplog):
    with serve({"words": words}, hubness_share=1, hubness_half_life=LASTING) as (client, _):
        ask(client, filter={"field": "rank", "eq": -1})
        ask(client, filter={"field": "rank", "lt": 50})
        found = until(client, "raw", len(QUERIES))
    few = set(words.ids(np.arange(50)))
    for ranking in RANKINGS:
        assert {hub["id"] for hub in found[ranking]["hubs"]} <= few
    assert "failed" not in caplog.text


def test_without_a_share_nothing_is_searched_twice(serve, words):
    with serve({"words": words}, hubness_share=0) as (client, _):
        ask(client)
        found = client.get(HUBNESS).json()
        assert (found["corrected"], found["raw"]) == (None, None)
        assert {ranking for _, ranking in gauges(client)} == {"served"}


@pytest.mark.parametrize("full", ["os.posix_fallocate", "shutil.disk_usage"])
def test_counts_for_which_a_disk_has_no_room_are_the_process_s_own(tmp_path, monkeypatch, caplog, full):
    """Were they in a file with holes, the first count that falls into one would kill the process."""

    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(full, refuse)
    occurrence = DecayedOccurrence(3, 1000, tmp_path / "counts")
    occurrence.add(np.array([[2, 0]]))
    assert occurrence.together()[0].round(2).tolist() == [1, 0, 1]
    assert list(tmp_path.iterdir()) == []
    assert "no room for" in caplog.text


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
        source.collections = {"songs": new}
        while (after := client.get("/v1/collections/songs/hubness").json())["version"] == old.version:
            time.sleep(0.005)
    assert before["served"]["queries"] == pytest.approx(1, abs=0.01)
    assert after["served"] is None
