import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.catalogs import DIM

import hubless
from hubless.errors import BundleDamaged

QUERY = "/v1/collections/words/query"
TEMPLATE = "/v1/collections/{collection}/query"


def samples(client):
    """(name, labels) → value, of all samples that /metrics has."""
    page = client.get("/metrics")
    assert page.headers["content-type"].startswith("text/plain")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page.text)
        for sample in family.samples
    }


def value(found, name, **labels):
    return found.get((name, frozenset(labels.items())), 0)


@pytest.fixture
def client(serve, words, tmp_path):
    with serve({"words": words, "broken": BundleDamaged(tmp_path, "missing")}) as (client, _):
        yield client


def test_requests_are_counted_by_route_method_and_status(client):
    for _ in range(3):
        client.post(QUERY, json={"text": "amber"})
    client.post(QUERY, json={"text": "zzz"})
    client.get(QUERY)
    client.head("/livez")
    client.get("/v1/collections/words/points/target-50")
    found = samples(client)
    counted = {
        (TEMPLATE, "POST", "200"): 3,
        (TEMPLATE, "POST", "422"): 1,
        (TEMPLATE, "GET", "405"): 1,
        ("/livez", "HEAD", "200"): 1,
        ("/v1/collections/{collection}/points/{id}", "GET", "200"): 1,
    }
    for (route, method, status), count in counted.items():
        assert value(found, "hubless_requests_total", route=route, method=method, status=status) == count
    assert value(found, "hubless_request_seconds_count", route=TEMPLATE) == 5
    assert value(found, "hubless_errors_total", code="unknown_words") == 1
    assert value(found, "hubless_errors_total", code="method_not_allowed") == 1


def test_stages_are_timed_and_collections_counted_by_state(client):
    client.post(QUERY, json={"text": "amber"})
    client.post(QUERY, json={"vector": [0.5] * DIM, "with": ["payload"]})
    found = samples(client)
    counts = {
        stage: value(found, "hubless_stage_seconds_count", stage=stage) for stage in ("encode", "search", "payload")
    }
    assert counts == {"encode": 1, "search": 2, "payload": 1}
    for stage in ("parse", "queue", "serialise"):
        assert value(found, "hubless_stage_seconds_count", stage=stage) == 2
    states = {state: value(found, "hubless_collections", state=state) for state in ("ready", "failed", "loading")}
    assert states == {"ready": 1, "failed": 1, "loading": 0}
    assert value(found, "hubless_load_seconds", collection="words") > 0
    assert ("hubless_load_seconds", frozenset({("collection", "broken")})) not in found


def test_clients_cannot_make_new_series(client):
    def series():
        return {key for key in samples(client) if key[0] == "hubless_requests_total"}

    client.get("/nowhere/0")
    client.post("/v1/collections/none-0/query", json={})
    client.request("PURGE", "/livez")
    before = series()
    for number in range(1, 5):
        client.get(f"/nowhere/{number}")
        client.post(f"/v1/collections/none-{number}/query", json={})
        client.request("REPORT", "/livez")
    assert series() - before == {
        ("hubless_requests_total", frozenset({("route", "/metrics"), ("method", "GET"), ("status", "200")}))
    }


def test_one_line_is_logged_for_each_request(client, caplog):
    client.get("/metrics")  # which waits for the lines before it
    with caplog.at_level("INFO", "hubless.requests"):
        client.post(QUERY, json={"text": "zzz"}, headers={"x-request-id": "mine"})
        client.get("/nowhere/%0aforged?secret=1")
        client.get("/livez")
        client.get("/metrics")
    lines = (line.getMessage() for line in caplog.records if line.name == "hubless.requests")
    first, second, third = (line for line in lines if "GET /metrics" not in line)
    assert first.startswith(f"POST {QUERY} 422 ")
    assert first.endswith("ms id=mine code=unknown_words")
    assert second.startswith("GET /nowhere/%0aforged 404 ")  # no new line, and no parameters
    assert third.startswith("GET /livez 200 ")


def test_coverage_is_that_of_the_bank_and_absent_where_the_bank_is_too_small(serve, words, tmp_path):
    rows = [np.random.default_rng(0).normal(size=(count, 8)).astype(np.float32) for count in (30, 10)]
    hubless.build(tmp_path, "small", *rows, correction="csls", parameters={"k": 5}, progress=False)
    covered = words.manifest.bank.coverage
    assert 0 < covered <= 1
    with serve({"small": hubless.open(tmp_path, "small"), "words": words}) as (other, _):
        found = samples(other)
        assert other.get("/v1/collections/words").json()["bank"]["coverage"] == covered
    assert value(found, "hubless_bank_coverage", collection="words") == covered
    assert ("hubless_bank_coverage", frozenset({("collection", "small")})) not in found
