"""Confidence and presence over HTTP: as the library says them, and answers that are cut there."""

import re

import numpy as np
import pytest
from support.problems import with_hubs

import hubless
from hubless_client import Client, Query
from hubless_service.observing.certainty import COMPARED, LiveConfidence

WORDS = "/v1/collections/words"
OCTETS = {"content-type": "application/octet-stream"}


def test_answers_say_what_the_library_says(http, words, vector):
    expected = words.query(vector, limit=5)
    for answer in (
        http.post(f"{WORDS}/query", json={"vector": vector.tolist(), "limit": 5}),
        http.post(f"{WORDS}/query?limit=5", content=vector.tobytes(), headers=OCTETS),
    ):
        said = answer.json()
        assert said["confidence"] == pytest.approx(expected.confidence[0])
        assert said["presence"] == pytest.approx(expected.presence[0])
        assert [hit["share"] for hit in said["hits"]] == pytest.approx(expected.shares[0])
        assert said["hits"][0]["share"] == said["confidence"]
        assert (said["calibrated"], said["answered"]) == (False, True)
    assert http.get(WORDS).json()["confidence"]["calibrated"] is False


@pytest.mark.parametrize("threshold", ["confidence", "presence"])
def test_unsure_answers_of_a_batch_are_empty_and_the_others_are_as_they_were(http, words, threshold):
    vectors = np.random.default_rng(3).normal(size=(12, words.dim)).astype(np.float32)
    queries = [{"vector": row.tolist(), "limit": 3, "with": ["payload"]} for row in vectors]
    plain = http.post(f"{WORDS}/query/batch", json={"queries": queries}).json()["results"]
    least = float(np.median([result[threshold] for result in plain]))
    cut = [query | {f"min_{threshold}": least} for query in queries]
    results = http.post(f"{WORDS}/query/batch", json={"queries": cut}).json()["results"]
    assert {result["answered"] for result in results} == {True, False}
    for result, before in zip(results, plain, strict=True):
        assert result["answered"] == (before[threshold] >= least)
        assert result["hits"] == (before["hits"] if result["answered"] else [])
        assert result[threshold] == before[threshold]


def test_clients_read_all_of_it_and_send_the_thresholds(server, words, vector):
    with Client(server) as client:
        hits = client.query("words", vector, limit=4)
        expected = words.query(vector, limit=4)
        assert (hits.confidence, hits.presence) == pytest.approx((expected.confidence[0], expected.presence[0]))
        assert [hit.share for hit in hits] == pytest.approx(expected.shares[0])
        assert (hits.calibrated, hits.answered) == (False, True)
        for cut in (
            client.query("words", vector, min_confidence=1.0),
            client.query_batch("words", [vector], min_presence=1.0)[0],
            client.query_batch("words", queries=[Query(vector, min_confidence=1.0, explain=True)])[0],
        ):
            assert (len(cut), cut.answered) == (0, False)
        assert client.collection("words").confidence["calibrated"] is False


@pytest.fixture(scope="module")
def calibrated():
    """An index whose first hits are right where they are far ahead, and the queries."""
    problem = with_hubs(targets=60, bank=400, dim=16, seed=1)
    index = hubless.Index("none", "cosine").fit(problem.bank, problem.targets)
    best = index.query(problem.bank, 2)
    sure = best.confidence > np.quantile(best.confidence, 0.4)
    index.calibrate(problem.bank, np.where(sure, best.rows[:, 0], best.rows[:, 1]))
    return index, problem.bank


def test_accuracy_leaves_out_what_it_cannot_promise(serve, calibrated):
    index, queries = calibrated
    expected = index.query(queries, min_accuracy=0.9).answered
    assert 0.3 < expected.mean() < 0.7
    with serve({"words": index}) as (client, _):
        asked = [{"vector": query.tolist(), "min_accuracy": 0.9, "limit": 2} for query in queries[:50]]
        results = client.post(f"{WORDS}/query/batch", json={"queries": asked}).json()["results"]
        assert [result["answered"] for result in results] == expected[:50].tolist()
        assert [len(result["hits"]) for result in results] == [2 * int(each) for each in expected[:50]]
        left_out = queries[int(np.argmin(expected))].astype(np.float32)
        answer = client.post(f"{WORDS}/query?min_accuracy=0.9", content=left_out.tobytes(), headers=OCTETS).json()
        assert (answer["answered"], answer["hits"]) == (False, [])
        assert client.get(WORDS).json()["confidence"]["accuracies"][3:6] == [0.8, 0.85, 0.9]
        refused = client.post(f"{WORDS}/query/batch", json={"queries": [asked[0] | {"min_accuracy": 0.99}]}).json()
        assert refused["parameter"] == "queries[0].min_accuracy"
        assert refused["expected"].startswith("at most 0.95, or about 182 more labelled queries than the 400")
        with Client(str(client.base_url)) as caller:
            assert not caller.query("words", left_out, min_accuracy=0.9).answered
            assert caller.query("words", left_out, min_accuracy=0).answered
            cut = caller.query_batch("words", queries[:20], min_accuracy=0.9)
            assert [hits.answered for hits in cut] == expected[:20].tolist()


def test_metrics_have_mean_confidence_and_the_share_left_out(serve, words, vector):
    with serve({"words": words}) as (client, _):
        queries = [{"vector": vector.tolist(), "min_confidence": least} for least in (0, 0, 0, 1)]
        results = client.post(f"{WORDS}/query/batch", json={"queries": queries}).json()["results"]
        printed = client.get("/metrics").text
    values = dict(re.findall(r'(?m)^(hubless_\w+)\{collection="words"\} (\S+)$', printed))
    assert float(values["hubless_confidence"]) == pytest.approx(results[0]["confidence"])
    assert float(values["hubless_unanswered_share"]) == 0.25
    assert "hubless_confidence_drift" not in values


def test_answers_that_become_less_sure_drift():
    live, rng = LiveConfidence(), np.random.default_rng(0)
    assert live.figures() is None
    for number, mean in enumerate((0.6, 0.6, 0.5, 0.6)):
        for sure in rng.normal(mean, 0.1, COMPARED):
            live.observe(sure, sure > 0.3)
        found = live.figures()
        assert found.confidence == pytest.approx(mean, abs=0.02)
        assert (found.drift is not None and found.drift > 3) == (number == 2)


@pytest.fixture(scope="module")
def without_model():
    problem = with_hubs(targets=30, bank=60, dim=8)
    return hubless.Index(correction="none", metric="cosine").fit(None, problem.targets)


def test_version_without_a_model_sends_no_confidence_and_refuses_thresholds(serve, without_model):
    with serve({"plain": without_model}) as (client, _):
        path = "/v1/collections/plain/query"
        answer = client.post(path, json={"vector": [1.0] * 8}).json()
        assert answer.keys() == {"hits", "collection", "version"}
        assert "share" not in answer["hits"][0]
        refused = client.post(f"{path}/batch", json={"queries": [{"vector": [1.0] * 8, "min_presence": 0.5}]})
        assert refused.json()["parameter"] == "queries[0].min_presence"
        assert "has no model of confidence" in refused.json()["expected"]
        assert client.post(path, json={"vector": [1.0] * 8, "min_presence": 0}).status_code == 200
