"""A diagnosis of targets alone: each asks, and is no answer of its own."""

import json

import numpy as np
import pytest
from support.hubs import planted

import hubless
from hubless.diagnosing import corpus
from hubless.measures import k_occurrence, skewness

COUNT = 300


def of_length_one(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def targets():
    return of_length_one(np.random.default_rng(0).normal(size=(COUNT, 24)))


def by_hand(targets, k):
    similarities = targets @ targets.T
    np.fill_diagonal(similarities, -np.inf)
    return k_occurrence(np.argsort(-similarities, axis=1)[:, :k], len(targets))


def test_counts_are_those_of_all_other_targets_and_none_finds_itself(targets):
    found = hubless.diagnose(targets, metric="cosine", progress=False)
    for depth in found.depths:
        counts = by_hand(targets, depth.k)
        assert depth.raw.skewness == pytest.approx(skewness(counts), abs=1e-6)
        assert depth.raw.most == counts.max()
        assert depth.raw.antihubs == pytest.approx((counts == 0).mean())
    np.testing.assert_array_equal(found.occurrences, by_hand(targets, 10))
    assert [hub.count for hub in found.hubs] == sorted(by_hand(targets, 10), reverse=True)[:10]
    assert found.asked == found.targets == COUNT


def test_chance_is_that_of_random_finds(targets):
    assert np.isclose(hubless.diagnose(targets, metric="cosine").main.chance.antihubs, (1 - 10 / COUNT) ** COUNT)
    many = np.random.default_rng(1).normal(size=(4000, 3)).astype(np.float32)
    found = hubless.diagnose(many, metric="cosine")
    assert found.level == "none"
    assert found.verdict[0].startswith("Targets find each other about as evenly as chance would have it")


def test_hub_is_named_with_its_payload_and_no_gain_is_promised(targets):
    everything = planted(targets + 0.2, (targets + 0.2).mean(axis=0), 1)
    titles = {"title": [f"item {row}" for row in range(COUNT)] + ["fits all"]}
    found = hubless.diagnose(everything, metric="cosine", payload=titles, ids=[f"a{row}" for row in range(COUNT + 1)])
    assert found.hubs[0].target.payload == {"title": "fits all"}
    assert found.hubs[0].target.id == f"a{COUNT}"
    assert found.hubs[0].count == by_hand(of_length_one(everything), 10).max()
    assert "nothing here tells what a correction gains" in found.verdict[-1]
    assert "R@1" not in " ".join(found.verdict)
    assert {named.row for named in found.never} <= set(np.flatnonzero(found.occurrences == 0))


@pytest.mark.parametrize("metric", ["cosine", "dot"])
def test_near_duplicates_are_grouped_the_largest_first(targets, metric):
    copied = targets.copy()
    copied[[10, 20, 30]] = copied[5] + 1e-3
    copied[50] = 1.001 * copied[40]
    found = hubless.diagnose(copied, metric=metric)
    assert [[named.row for named in group] for group in found.near_duplicates] == [[5, 10, 20, 30], [40, 50]]
    assert found.repeated == 6
    assert "6 of 300 targets have a near-duplicate" in " ".join(found.verdict)


def test_many_copies_do_not_find_themselves():
    same = np.ones((40, 4), np.float32)
    found = hubless.diagnose(same, metric="cosine")
    assert found.repeated == 40
    assert found.occurrences.sum() == 40 * 10
    assert found.symptoms[0].name == "identical-target-vectors"
    assert "identical-target-vectors" in found.verdict[0]


def test_of_many_targets_some_ask_among_all(targets, monkeypatch):
    monkeypatch.setattr(corpus, "MOST_ASKED", 50)
    found = hubless.diagnose(targets, metric="cosine")
    assert found.asked == 50
    assert found.occurrences.sum() == 500
    assert len(found.occurrences) == COUNT
    assert np.isclose(found.main.chance.antihubs, (1 - 10 / COUNT) ** 50)


def test_longest_vectors_that_all_find_are_a_symptom(targets):
    longer = targets + 0.1
    longer[:10] *= 9
    found = hubless.diagnose(longer, metric="dot")
    assert "wrong-metric" in [each.name for each in found.symptoms]


def test_collection_without_a_bank_is_diagnosed_by_its_targets_and_json_holds_it(targets, tmp_path):
    hubless.build(tmp_path, "c", targets, correction="none", progress=False)
    found = hubless.diagnose(hubless.open(tmp_path, "c"))
    np.testing.assert_array_equal(found.occurrences, by_hand(targets, 10))
    assert json.loads(json.dumps(found.as_json()))["asked"] == COUNT
    assert "skewness of N_10" in found._repr_html_()
