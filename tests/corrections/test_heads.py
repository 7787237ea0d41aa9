"""What a log asks most keeps its first answer, and nothing else changes."""

import json

import numpy as np
import pytest
from support.problems import with_hubs

import hubless
from hubless import CORRECTIONS
from hubless.corrections import registered
from hubless.corrections.folded import auto
from hubless.corrections.folded.heads import LEAST_COPIES, SURE, Heads
from hubless.measures.repeats import copies_of, with_copies
from hubless.vectors.sources import HeldVectors

PROBLEM = with_hubs(targets=400, bank=600, dim=16, seed=3)


def fit(bank, counts=None):
    return CORRECTIONS["auto"]().fit(with_copies(HeldVectors(bank, "query bank"), counts), PROBLEM.targets)


def firsts(queries, offsets):
    return (queries @ PROBLEM.targets.T - offsets).argmax(axis=1)


PLAIN = fit(PROBLEM.bank).offsets(PROBLEM.targets)
RAW = firsts(PROBLEM.bank, 0)
LOSING = np.flatnonzero(firsts(PROBLEM.bank, PLAIN) != RAW)
CHANGED = LOSING[np.sort(np.unique(RAW[LOSING], return_index=True)[1])]
"""Bank queries that lose their first answer where each is asked once, one for each answer."""


def log_of(*heads, times):
    return np.concatenate([PROBLEM.bank, *(np.repeat(PROBLEM.bank[[row]], times, axis=0) for row in heads)])


@pytest.mark.parametrize("heads", [CHANGED[:1], CHANGED[:3], CHANGED[[5, 9]]], ids=["one", "three", "two"])
def test_heads_keep_their_first_answer_at_each_strength(heads):
    found = fit(log_of(*heads, times=100))
    assert found.details["heads"] == len(heads)
    offsets = found.offsets(PROBLEM.targets)
    for strength in (0.25, 0.5, 1):
        np.testing.assert_array_equal(firsts(PROBLEM.bank[heads], strength * offsets), RAW[heads])


def test_only_offsets_of_kept_answers_change_and_they_fall_no_further_than_they_must():
    (head,) = CHANGED[:1]
    found = fit(log_of(head, times=100)).offsets(PROBLEM.targets)
    (lowered,) = np.flatnonzero(np.abs(found - PLAIN) > 1e-5)
    assert lowered == RAW[head]
    scores = PROBLEM.bank[head] @ PROBLEM.targets.T - found
    assert 0 <= scores[lowered] - np.delete(scores, lowered).max() < 1e-4


@pytest.mark.parametrize(
    ("rows", "asked", "heads"),
    [(590, 31, 1), (590, 30, 0), (100, LEAST_COPIES, 1), (100, LEAST_COPIES - 1, 0)],
    ids=["a twentieth", "a smaller share", "ten times", "a few times"],
)
def test_query_is_a_head_from_a_twentieth_and_ten_times_on(rows, asked, heads):
    bank = PROBLEM.bank[:rows]
    plain = fit(bank).offsets(PROBLEM.targets)
    head = np.flatnonzero(firsts(bank, plain) != RAW[:rows])[0]
    found = fit(np.concatenate([bank, np.repeat(bank[[head]], asked - 1, axis=0)]))
    assert found.details["heads"] == heads
    changed = np.abs(found.offsets(PROBLEM.targets) - plain) > 1e-5
    assert changed.sum() == heads


@pytest.mark.parametrize("most", [1000, 50])
def test_paraphrases_of_a_head_count_together_where_the_bank_is_uneven(most, monkeypatch):
    monkeypatch.setattr("hubless.corrections.folded.heads.MOST_HEADS", most)  # of more a sample stands for all
    rng = np.random.default_rng(0)
    (head,) = CHANGED[:1]
    asked = PROBLEM.bank[head] + 0.1 * rng.normal(size=(900, 16)).astype(np.float32)
    found = fit(np.concatenate([PROBLEM.bank, asked]))
    assert found.details["unevenness"] > 4.5
    assert found.details["heads"] >= 1
    offsets = found.offsets(PROBLEM.targets)
    assert firsts(PROBLEM.bank[[head]], offsets)[0] == RAW[head]
    alike = firsts(asked, 0) == RAW[head]
    assert 200 < alike.sum() < 900
    assert (firsts(asked[alike], offsets) == RAW[head]).mean() >= (1 if most > 900 else 0.9)


HUBS = np.argsort(PLAIN[RAW] + PLAIN[firsts(PROBLEM.bank, PLAIN)], kind="stable")[::-1][:60]
COUNTS = np.ones(600, np.int64)
COUNTS[HUBS] = 110 - np.arange(60)
"""A tenth of the queries is asked often, those that find the largest hubs."""
MOST_ASKED = HUBS[:30]


def test_twentieth_that_is_asked_most_keeps_its_first_answers_where_these_are_hubs():
    found = fit(PROBLEM.bank, COUNTS)
    assert found.details["asked_at_hubs"] > SURE
    assert 1 < found.details["heads"] <= len(np.unique(RAW[MOST_ASKED]))
    offsets = found.offsets(PROBLEM.targets)
    np.testing.assert_array_equal(firsts(PROBLEM.bank[MOST_ASKED], offsets), RAW[MOST_ASKED])
    assert (firsts(PROBLEM.bank[MOST_ASKED], PLAIN) != RAW[MOST_ASKED]).mean() > 0.3
    assert set(np.flatnonzero(np.abs(offsets - PLAIN) > 1e-5)) <= set(RAW[MOST_ASKED])


@pytest.mark.parametrize(("times", "kept"), [(LEAST_COPIES, True), (LEAST_COPIES - 1, False)])
def test_what_is_asked_most_was_asked_ten_times_at_least(times, kept):
    assert bool(fit(PROBLEM.bank, np.where(COUNTS > 1, times, 1)).details["heads"]) == kept


def test_state_has_how_often_each_query_was_asked():
    found = fit(PROBLEM.bank, 1 + np.arange(600) % 2)
    restored = registered("auto").fitted.from_state(found.state(), found.details)
    np.testing.assert_array_equal(copies_of(restored.bank), copies_of(found.bank))


def test_sample_of_a_large_log_knows_what_lies_at_hubs_too(monkeypatch):
    monkeypatch.setattr(auto, "_SAMPLE", 300)
    assert fit(PROBLEM.bank, COUNTS).details["asked_at_hubs"] > SURE / 2


def test_what_is_asked_most_by_chance_keeps_nothing():
    kept = [fit(PROBLEM.bank, np.random.default_rng(seed).permutation(COUNTS)).details["heads"] for seed in range(8)]
    assert kept.count(0) >= 6


def test_counts_repeated_rows_and_a_log_given_to_the_builder_are_one():
    log = np.repeat(PROBLEM.bank, COUNTS, axis=0)
    plain = fit(PROBLEM.bank, COUNTS).offsets(PROBLEM.targets)
    np.testing.assert_array_equal(fit(log).offsets(PROBLEM.targets), plain)
    made = hubless.offsets(PROBLEM.targets, log[::-1].copy(), metric="dot")
    np.testing.assert_allclose(made, plain - plain.mean(), atol=1e-5)


def test_limits_are_those_of_each_head_in_turn():
    rng = np.random.default_rng(0)
    queries = np.vstack([np.eye(1, 16, dtype=np.float32), PROBLEM.bank[:39]])
    heads = Heads(queries, *rng.normal(size=(2, 40)))
    heads.reached[0], heads.most[0] = np.median(PROBLEM.targets[:399, 0]), -9  # that of a target, which is held
    expected = np.full(400, np.inf)
    for query, reached, most in zip(*vars(heads).values(), strict=True):
        expected = np.where(PROBLEM.targets @ query >= reached, np.minimum(expected, most), expected)
    found = heads.limits(HeldVectors(PROBLEM.targets, "targets"))
    np.testing.assert_array_equal(found, expected)


def test_paraphrases_are_alike_by_their_vectors_and_not_by_how_distance_is_folded():
    def fitted(bank):
        return hubless.Index("auto", "euclidean", index="flat").fit(bank, PROBLEM.targets)

    plain = fitted(PROBLEM.bank)
    raw, corrected = (plain.query(PROBLEM.bank, 1, strength=strength).rows[:, 0] for strength in (0, 1))
    head = np.flatnonzero(raw != corrected)[2]
    asked = PROBLEM.bank[head] + 0.05 * np.random.default_rng(0).normal(size=(2700, 16)).astype(np.float32)[1800:]
    assert fitted(np.concatenate([PROBLEM.bank, asked])).query(PROBLEM.bank[[head]], 1).rows[0] == raw[head]


def test_state_has_them_and_a_later_target_that_is_nearer_is_capped_too():
    (head,) = CHANGED[:1]
    found = fit(log_of(head, times=100))
    restored = registered("auto").fitted.from_state(found.state(), json.loads(json.dumps(found.details)))
    assert restored.offsets(PROBLEM.targets).tobytes() == found.offsets(PROBLEM.targets).tobytes()
    assert restored.state().keys() == found.state().keys()
    nearer = 1.01 * PROBLEM.targets[RAW[head]]
    assert restored.offsets(nearer[np.newaxis])[0] == found.offsets(PROBLEM.targets[RAW[[head]]])[0]
