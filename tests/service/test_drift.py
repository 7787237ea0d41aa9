"""Drift: a sample of the live queries beside one of the query bank."""

import time

import numpy as np
from prometheus_client.parser import text_string_to_metric_families
from support import catalogs

import hubless
from hubless_service.observing.live import FEWEST, MOST, LiveVersion

BATCH = "/v1/collections/words/query/batch"
HUBNESS = "/v1/collections/words/hubness"
VOCABULARY = list(catalogs.VOCABULARY)


def texts(count, words, seed=5):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(words, 3)) for _ in range(count)]


def ask(client, asked):
    assert client.post(BATCH, json={"queries": [{"text": text} for text in asked]}).status_code == 200


def gauge(client):
    return {
        sample.labels["collection"]: sample.value
        for family in text_string_to_metric_families(client.get("/metrics").text)
        for sample in family.samples
        if sample.name == "hubless_drift"
    }


def test_queries_like_those_of_the_bank_are_no_drift(serve, words):
    with serve({"words": words}) as (client, _):
        ask(client, texts(300, VOCABULARY))
        found = client.get(HUBNESS).json()["drift"]
        assert found["drift"] < 1
        assert found["advice"] is None
        assert 250 < found["queries"] <= 300
        assert gauge(client) == {"words": found["drift"]}


def test_queries_about_something_else_are(serve, words):
    with serve({"words": words}) as (client, _):
        ask(client, texts(300, VOCABULARY[:8]))
        found = client.get(HUBNESS).json()["drift"]
        assert found["drift"] > 3
        assert "recent queries as the bank" in found["advice"]


def test_log_says_once_that_queries_left_the_bank_and_what_to_do_though_nobody_asks(serve, words, caplog):
    caplog.set_level("INFO", "hubless.live")

    def lines():
        return [record.getMessage() for record in caplog.records if record.name == "hubless.live"]

    with serve({"words": words}) as (client, _):
        ask(client, texts(300, VOCABULARY[:8]))
        while not lines():
            time.sleep(0.01)
        (warned,) = lines()
        assert warned.startswith('collection "words", version ')
        assert "recent queries as the bank" in warned
        client.get(HUBNESS)
        assert lines() == [warned]
        for seed in range(2):
            ask(client, texts(300, VOCABULARY, seed))
        assert client.get(HUBNESS).json()["drift"]["advice"] is None
        while len(lines()) < 2:
            time.sleep(0.01)
        assert lines()[1] == 'collection "words": the queries are like those of the query bank again'


def test_too_few_different_queries_say_nothing(serve, words):
    with serve({"words": words}) as (client, _):
        ask(client, texts(10, VOCABULARY) * 30)
        assert client.get(HUBNESS).json()["drift"] is None
        assert gauge(client) == {}


def test_bundle_without_a_sample_of_its_bank_gives_none(serve, catalog):
    old = hubless.open(catalog, "words")
    object.__setattr__(old.parts, "bank_sample", None)
    with serve({"words": old}) as (client, _):
        ask(client, texts(300, VOCABULARY))
        assert client.get(HUBNESS).json()["drift"] is None


def observe(live, collection, vectors):
    rows = np.zeros((len(vectors), 1), np.int64)
    live.observe(collection, vectors, [(rows, line) for line in range(len(rows))], {"limit": 1, "strength": 1.0})


def test_only_the_last_queries_are_compared_and_again_once_some_are_new(numbers):
    rng = np.random.default_rng(0)
    live = LiveVersion(numbers, compared=0)
    observe(live, numbers, numbers.parts.bank_sample[:FEWEST])
    before = live.drift(numbers)
    assert before.drift < 1
    observe(live, numbers, numbers.parts.bank_sample[:1])
    assert live.drift(numbers) is before
    observe(live, numbers, 5 + rng.normal(size=(2 * MOST, numbers.dim)).astype(np.float32))
    assert live.drift(numbers).drift > 3
    assert live.drift(numbers).queries == MOST


def test_sample_of_the_bank_has_queries_of_the_bank_as_they_are_compared(words):
    bank = {row.tobytes() for row in words.prepare(catalogs.words().query_bank)}
    assert len(words.parts.bank_sample) == len(catalogs.words().query_bank)
    assert {row.tobytes() for row in words.parts.bank_sample} <= bank
