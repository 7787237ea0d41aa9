"""Confidence and presence over HTTP: as the library says them, and answers that are cut there."""

import re

import numpy as np
import pytest
from support.problems import with_hubs

import hubless
from hubless_service.observing.certainty import COMPARED, LiveConfidence

WORDS = "/v1/collections/words"


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


def test_version_without_a_model_sends_no_confidence(serve, without_model):
    with serve({"plain": without_model}) as (client, _):
        answer = client.post("/v1/collections/plain/query", json={"vector": [1.0] * 8}).json()
        assert answer.keys() == {"hits", "collection", "version"}
        assert "share" not in answer["hits"][0]
