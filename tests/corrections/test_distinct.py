import numpy as np
import pytest
from support.hubs import unit

from hubless import CORRECTIONS
from hubless.corrections.folded import distinct
from hubless.corrections.folded.distinct import distinct_queries
from hubless.vectors.sources import ArrayVectors

DIM = 64
rng = np.random.default_rng(5)


TARGETS = unit(rng.normal(size=(600, DIM)))
IMAGES = unit(rng.normal(size=(40, DIM)))
CAPTIONS = unit(np.repeat(IMAGES, 5, axis=0) + 0.01 * rng.normal(size=(200, DIM)))
"""Five captions each of 40 images, which have nearly the same finds."""


def count(bank, targets=TARGETS, offsets=None):
    given = np.zeros(len(targets), np.float32) if offsets is None else offsets
    return distinct_queries(ArrayVectors(bank, "bank"), ArrayVectors(targets, "targets"), given)


def naive(bank, targets):
    finds = [set(row) for row in np.argsort(-(bank @ targets.T), axis=1)[:, :10].tolist()]
    return sum(1 / sum(len(one & other) >= 5 for other in finds) for one in finds)


def test_five_captions_of_an_image_count_as_one():
    assert count(CAPTIONS) == pytest.approx(40)


def test_queries_with_other_finds_all_count():
    assert count(IMAGES) == pytest.approx(40)


def test_counts_are_those_of_sets_of_finds():
    mixed = unit(np.repeat(IMAGES, 5, axis=0) + 0.09 * rng.normal(size=(200, DIM)))
    assert 45 < count(mixed) < 195
    assert count(mixed) == pytest.approx(naive(mixed, TARGETS))


def test_hub_that_all_queries_find_makes_no_duplicates():
    hubs = unit(np.tile(IMAGES.mean(axis=0), (6, 1)) + 1e-3 * rng.normal(size=(6, DIM)))
    lean = unit(IMAGES + 3 * IMAGES.mean(axis=0))
    targets = np.vstack([TARGETS, hubs])
    offsets = np.zeros(len(targets), np.float32)
    assert count(lean, targets) == pytest.approx(1)
    offsets[-6:] = 2
    assert count(lean, targets, offsets) > 20


def test_sample_of_a_large_bank_gives_about_the_same(monkeypatch):
    monkeypatch.setattr(distinct, "COMPARED", 100)
    assert 40 < count(CAPTIONS) < 60


def test_with_few_targets_all_queries_count():
    assert count(CAPTIONS, TARGETS[:499]) == 200
    assert count(CAPTIONS, TARGETS[:500]) == pytest.approx(40)


def test_auto_shrinks_by_the_distinct_queries_and_says_so():
    fitted = CORRECTIONS["auto"]().fit(CAPTIONS, TARGETS)
    plain = CORRECTIONS["sn"]().fit(CAPTIONS, TARGETS)
    assert fitted.details["distinct_queries"] == pytest.approx(40, rel=0.01)
    assert "200 bank queries, 40 distinct, so offsets are shrunk by 40/(40+100)" in fitted.details["why"]
    np.testing.assert_allclose(fitted.offsets(TARGETS), 40 / 140 * plain.offsets(TARGETS), atol=1e-3)
