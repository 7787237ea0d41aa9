"""Filters over HTTP: the hits of the library, also where queries of other filters wait beside them."""

import threading

import hubless
from hubless.search.segments.targets import Targets

WORDS = "/v1/collections/words"
FILTERS = [
    {"field": "tags", "contains": "amber"},
    {"field": "rank", "gte": 40, "lt": 60},
    {"and": [{"field": "title", "prefix": "a"}, {"not": {"field": "rank", "in": [0, 18]}}]},
    {"field": "rank", "eq": 299},
    {"field": "rank", "gt": 299},
    {"rank": [7, 40, 41]},
    None,
]


def stages(answer):
    return [stage.partition(";")[0] for stage in answer.headers["server-timing"].split(", ")]


def test_filter_that_has_to_be_evaluated_is_a_stage_and_one_that_is_known_is_not(serve, words):
    with serve({"words": words}) as (client, _):
        for path, body, wanted in (("query", {"text": "amber"}, 1), ("count", {}, 0), ("scroll", {}, 5)):
            asked = body | {"filter": FILTERS[wanted]}
            first, second = (stages(client.post(f"{WORDS}/{path}", json=asked)) for _ in range(2))
            assert first.index("queue") < first.index("filter") < first.index("total")
            assert second == [stage for stage in first if stage != "filter"]
        assert "filter" not in stages(client.post(f"{WORDS}/query", json={"text": "amber"}))


def test_filter_is_never_evaluated_in_the_event_loop(serve, catalog, monkeypatch):
    threads = []

    matches = Targets.matches

    def evaluate(*arguments):
        threads.append(threading.current_thread().name)
        return matches(*arguments)

    monkeypatch.setattr(Targets, "matches", evaluate)
    monkeypatch.setattr("hubless_service.searching.work_queue.SHORT", 1e9)  # whatever was seen once
    forgetful = hubless.open(catalog, "words", filter_cache=0)
    with serve({"words": forgetful}, search_threads=1) as (client, _):
        for _ in range(10):
            assert client.post(f"{WORDS}/query", json={"text": "amber", "filter": FILTERS[1]}).status_code == 200
    assert threads == ["search-0"] * 10
