"""Drift: a sample of the live queries beside one of the query bank."""

import time

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support import catalogs

import hubless
from hubless_service.observing.drift_sample import FEWEST, DriftSample

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
        assert "hubless build --query-bank" in found["advice"]


def test_log_says_once_that_queries_left_the_bank_and_what_to_do_though_nobody_asks(serve, words, caplog):
    caplog.set_level("INFO", "hubless.live")

    def lines():
        return [record.getMessage() for record in caplog.records if record.name == "hubless.live"]

    with serve({"words": words}, drift_sample=300, hubness_half_life=5) as (client, _):
        ask(client, texts(300, VOCABULARY[:8]))
        while not lines():
            time.sleep(0.01)
        (warned,) = lines()
        assert warned.startswith('collection "words", version ')
        assert "hubless build --query-bank" in warned
        client.get(HUBNESS)
        assert lines() == [warned]
        for seed in range(8):
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


def test_nothing_is_kept_where_it_is_switched_off(serve, words):
    with serve({"words": words}, drift_sample=0) as (client, _):
        ask(client, texts(300, VOCABULARY))
        assert client.get(HUBNESS).json()["drift"] is None


def test_bundle_without_a_sample_of_its_bank_gives_none(serve, catalog, monkeypatch):
    old = hubless.open(catalog, "words")
    monkeypatch.setattr(type(old), "bank_sample", None)
    with serve({"words": old}) as (client, _):
        ask(client, texts(300, VOCABULARY))
        assert client.get(HUBNESS).json()["drift"] is None


def test_old_queries_fade_from_the_sample_which_stays_as_large_as_it_may(numbers):
    sample = DriftSample(size=100, window=1000)
    ages = np.arange(20_000, dtype=np.float32)
    sample.observe(np.repeat(ages[:, np.newaxis] + 1, numbers.dim, axis=1))
    held = sample.vectors()[:, 0]
    assert len(held) == 100
    assert np.mean(20_000 - held) == pytest.approx(1000, rel=0.5)


def test_comparison_is_made_anew_when_the_sample_has_changed(numbers):
    rng = np.random.default_rng(0)
    sample = DriftSample(size=FEWEST, window=FEWEST)
    sample.observe(numbers.bank_sample[:FEWEST])
    before = sample.drift(numbers)
    assert before.drift < 1
    sample.observe(numbers.bank_sample[:1])
    assert sample.drift(numbers) is before
    sample.observe(5 + rng.normal(size=(FEWEST * 5, numbers.dim)).astype(np.float32))
    assert sample.drift(numbers).drift > 3


def test_sample_of_the_bank_has_queries_of_the_bank_as_they_are_compared(words):
    bank = {row.tobytes() for row in words.prepare(catalogs.words().query_bank)}
    assert len(words.bank_sample) == len(catalogs.words().query_bank)
    assert {row.tobytes() for row in words.bank_sample} <= bank
