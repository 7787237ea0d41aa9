from dataclasses import replace

import numpy as np
import pytest
from support import naive
from support.hubs import unit
from support.problems import additive, centred, with_hubs

from hubless import CORRECTIONS
from hubless.corrections import registered
from hubless.corrections.folded.topic import find_topic
from hubless.vectors.sources import ArrayVectors

TOPICS, DIM = 8, 48


def made(count, seed, topic=None):
    """Pairs of targets and queries around eight topics, or one. Each topic varies in directions of its own."""
    rng = np.random.default_rng(seed)
    fixed = np.random.default_rng(99)
    centres, lean = 2 * fixed.normal(size=(TOPICS, DIM)), fixed.normal(size=DIM)
    directions = fixed.normal(size=(TOPICS, 5, DIM))
    topics = np.full(count, topic) if topic is not None else rng.integers(TOPICS, size=count)
    meant = centres[topics] + np.einsum("ij,ijk->ik", rng.normal(size=(count, 5)), directions[topics])
    hub = 0.6 * rng.normal(size=(count, 1))
    noise = rng.normal(size=(2, count, DIM))
    return unit(meant + hub * lean + noise[0]), unit(meant + 0.5 * lean + noise[1])


TARGETS, QUERIES = made(600, 1)
WIDE, NARROW = made(400, 2)[1], made(400, 2, topic=0)[1]


def topic_of(bank, targets=TARGETS):
    offsets = naive.softmax_offsets(bank, targets, 0.05)
    return find_topic(ArrayVectors(bank, "bank"), ArrayVectors(targets, "targets"), offsets), offsets


@pytest.mark.parametrize("bank", [WIDE, NARROW], ids=["wide", "narrow"])
def test_likeness_locality_and_linearity_are_those_of_the_whole_matrix(bank):
    topic, offsets = topic_of(bank)
    left = offsets - offsets.mean() - naive.linear_part(offsets, TARGETS)
    n, p = len(TARGETS), 10
    assert topic.linearity == pytest.approx(1 - left.var() / offsets.var() * (n - 1) / (n - p - 1), abs=1e-5)
    assert topic.likeness == pytest.approx(naive.likeness(bank, TARGETS), abs=1e-5)
    assert topic.locality == pytest.approx(naive.locality(bank, TARGETS), abs=1e-5)


def test_nothing_is_taken_from_a_wide_bank():
    topic, _ = topic_of(WIDE)
    assert topic.likeness < 0.3
    assert topic.removed == 0
    assert topic.direction is None


def test_direction_of_a_narrow_bank_is_the_linear_part_of_its_offsets():
    topic, offsets = topic_of(NARROW)
    assert topic.removed == pytest.approx(0.8)
    expected = 0.8 * naive.linear_part(offsets, TARGETS)
    np.testing.assert_allclose(centred(TARGETS @ topic.direction), centred(expected), atol=1e-5)


def test_share_falls_smoothly_as_the_bank_widens():
    topics = [topic_of(np.vstack([WIDE[:wide], NARROW]))[0] for wide in range(0, 41, 8)]
    shares = [topic.removed for topic in topics]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == pytest.approx(0.8)
    assert len(set(shares)) >= 3


@pytest.mark.parametrize("dim", [12, 32, 64])
def test_direction_that_all_queries_share_is_no_topic(dim):
    """These queries are as alike as those of a topic. What leans to their direction is a hub, and stays one."""
    problem = with_hubs(targets=500, bank=500, dim=dim)
    found = CORRECTIONS["auto"]().fit(problem.bank, problem.targets).details
    assert found["likeness"] > 0.5
    assert abs(found["locality"]) < 0.1
    assert found["clumping"] < 0.05
    assert found["topic_removed"] == 0
    assert found["distinct_queries"] == 500


def test_queries_that_differ_alike_everywhere_have_no_locality():
    bank, targets = additive(np.linspace(-0.4, 0.6, 30), np.linspace(0, 1, 7))
    topic, _ = topic_of(bank, targets)
    assert topic.likeness > 0.6
    assert topic.locality == 0
    assert topic.removed == 0


def in_clusters():
    """Pictures of few pixels: what is of a topic is alike in many ways, and cannot be much more alike."""
    rng = np.random.default_rng(2)
    kinds = np.abs(rng.normal(size=(8, 40)))
    return unit(np.repeat(kinds, 100, axis=0) + 0.35 * np.abs(rng.normal(size=(800, 40))))


def test_clumping_is_the_mean_cosine_of_what_is_pushed_down_without_the_topic():
    targets = in_clusters()
    topic, offsets = topic_of(targets[:100] + 0.01, targets)
    top = np.argsort(-offsets)[:80]
    centred_rows = targets.astype(np.float64) - targets.mean(axis=0, dtype=np.float64)
    way = topic.direction / np.linalg.norm(topic.direction)
    left = centred_rows[top] - np.outer(centred_rows[top] @ way, way)
    cosines = unit(left) @ unit(left).T
    assert topic.clumping == pytest.approx((cosines.sum() - 80) / (80 * 79), abs=1e-5)
    assert topic.clumping > 0.08
    assert topic.apart == 1


def test_auto_with_a_narrow_bank_is_the_shrunk_sn_less_the_topic():
    auto = CORRECTIONS["auto"]().fit(NARROW, TARGETS)
    offsets = replace(auto, shrinkage=1.0, topic=None).offsets(TARGETS).astype(np.float64)
    expected = auto.details["shrinkage"] * (offsets - 0.8 * naive.linear_part(offsets, TARGETS))
    np.testing.assert_allclose(centred(auto.offsets(TARGETS)), centred(expected), atol=1e-5)
    assert auto.details["likeness"] == pytest.approx(naive.likeness(NARROW, TARGETS), abs=1e-5)
    assert auto.details["topic_removed"] == pytest.approx(0.8)
    assert "80 % of the bank's topic is taken out" in auto.details["why"]


def test_offset_of_a_later_target_is_the_same_alone_and_after_storing():
    fitted = CORRECTIONS["auto"]().fit(NARROW, TARGETS)
    restored = registered("auto").fitted.from_state(fitted.state(), fitted.details)
    later = made(50, 3)[0]
    together = fitted.offsets(later)
    np.testing.assert_array_equal(restored.offsets(later), together)
    np.testing.assert_allclose([fitted.offsets(row[np.newaxis])[0] for row in later], together, atol=1e-6)
