import numpy as np
import pytest
from support.hubs import unit

from hubless import CORRECTIONS
from hubless.corrections.folded import distinct
from hubless.corrections.folded.distinct import crowding, distinct_queries
from hubless.vectors.sources import ArrayVectors

DIM = 64
rng = np.random.default_rng(5)


TARGETS = unit(rng.normal(size=(600, DIM)))
IMAGES = unit(rng.normal(size=(40, DIM)))
CAPTIONS = unit(np.repeat(IMAGES, 5, axis=0) + 0.01 * rng.normal(size=(200, DIM)))
"""Five captions each of 40 images, which have nearly the same finds."""


LOOSE = unit(np.repeat(IMAGES, 5, axis=0) + 0.07 * rng.normal(size=(200, DIM)))
"""The same, in other words: they want the same target, and share few of the other finds."""


def count(bank, targets=TARGETS, offsets=None, crowded=0.0):
    given = np.zeros(len(targets), np.float32) if offsets is None else offsets
    return distinct_queries(ArrayVectors(bank, "bank"), ArrayVectors(targets, "targets"), given, crowded)


def crowding_of(bank, targets, offsets=None):
    given = np.zeros(len(targets), np.float32) if offsets is None else offsets
    return crowding(ArrayVectors(bank, "bank"), ArrayVectors(targets, "targets"), given)


def naive_crowding(bank, targets, offsets):
    first = np.argmax(bank @ targets.T - offsets / 2, axis=1)
    alike = bank @ bank.T
    np.fill_diagonal(alike, -np.inf)
    nearest = np.argsort(-alike, axis=1)[:, :4]
    return (first[nearest] == first[:, np.newaxis]).sum(axis=1).mean() - (len(bank) - 1) / len(targets)


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
    plain = CORRECTIONS["sn"](temperature=fitted.temperature).fit(CAPTIONS, TARGETS)
    assert fitted.details["distinct_queries"] == pytest.approx(40, rel=0.01)
    assert "200 bank queries, 40 distinct, so offsets are shrunk by 40/(40+100)" in fitted.details["why"]
    np.testing.assert_allclose(fitted.offsets(TARGETS), 40 / 140 * plain.offsets(TARGETS), atol=1e-3)


def test_crowding_is_that_of_whole_matrices():
    targets = np.vstack([TARGETS, IMAGES])
    offsets = (0.1 * rng.normal(size=len(targets))).astype(np.float32)
    for bank in (LOOSE, IMAGES, unit(5 * LOOSE)):
        assert crowding_of(bank, targets, offsets) == pytest.approx(naive_crowding(bank, targets, offsets))


def test_captions_that_want_the_same_target_crowd_and_queries_of_one_each_do_not():
    targets = np.vstack([TARGETS, IMAGES])
    assert crowding_of(LOOSE, targets) > 3
    assert crowding_of(IMAGES, targets) < 0.1
    clumpy = unit(np.repeat(IMAGES, 5, axis=0) + 0.07 * rng.normal(size=(200, DIM)))
    assert crowding_of(unit(clumpy + 0.01 * rng.normal(size=clumpy.shape)), np.vstack([TARGETS, clumpy])) < 0.1


def test_crowding_of_few_large_or_endless_banks_is_none(monkeypatch):
    assert crowding_of(IMAGES[:1], TARGETS) == 0
    assert crowding_of(LOOSE, TARGETS, np.full(600, np.nan, np.float32)) == 0
    monkeypatch.setattr(distinct, "COMPARED", 199)
    assert crowding_of(LOOSE, TARGETS) == 0


def test_crowded_bank_counts_more_near_duplicates_up_to_five():
    assert 45 < count(LOOSE, crowded=1) < count(LOOSE, crowded=0.33) < count(LOOSE) < 200
    assert count(CAPTIONS[:50].repeat(4, axis=0), crowded=1) == pytest.approx(10)


def test_auto_counts_near_duplicates_once_in_the_perplexity_of_a_crowded_bank():
    targets = np.vstack([TARGETS, IMAGES])
    crowded, plain = (CORRECTIONS[name]().fit(LOOSE, targets).details for name in ("auto", "sn"))
    assert crowded["crowding"] > 3
    assert crowded["distinct_queries"] < 70
    assert plain["perplexity"] == pytest.approx(20, rel=0.01)
    assert 60 < crowded["perplexity"] <= 100
    with_bank = CORRECTIONS["auto"]().fit(LOOSE, TARGETS, IMAGES).details
    assert with_bank["crowding"] == pytest.approx(crowded["crowding"], abs=0.3)
