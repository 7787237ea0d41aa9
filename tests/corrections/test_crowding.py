import numpy as np
import pytest
from support.hubs import captions, unit

from hubless import CORRECTIONS
from hubless.corrections.folded.crowding import crowding
from hubless.vectors.sources import ArrayVectors

rng = np.random.default_rng(5)
TARGETS, IMAGES, CAPTIONS = captions(rng, 0.07)
WITH_IMAGES = np.vstack([TARGETS, IMAGES])


def crowding_of(bank, targets, offsets=None):
    given = np.zeros(len(targets), np.float32) if offsets is None else offsets
    return crowding(ArrayVectors(bank, "bank"), bank @ targets.T, given)


def naive_crowding(bank, targets, offsets):
    first = np.argmax(bank @ targets.T - offsets / 2, axis=1)
    alike = bank @ bank.T
    np.fill_diagonal(alike, -np.inf)
    nearest = np.argsort(-alike, axis=1)[:, :4]
    return (first[nearest] == first[:, np.newaxis]).sum(axis=1).mean() - (len(bank) - 1) / len(targets)


def test_crowding_is_that_of_whole_matrices():
    offsets = (0.5 * rng.normal(size=len(WITH_IMAGES))).astype(np.float32)
    for bank in (CAPTIONS, IMAGES, unit(5 * CAPTIONS)):
        assert crowding_of(bank, WITH_IMAGES, offsets) == pytest.approx(naive_crowding(bank, WITH_IMAGES, offsets))


def test_captions_that_want_the_same_target_crowd_and_queries_of_one_each_do_not():
    assert crowding_of(CAPTIONS, WITH_IMAGES) > 3
    assert crowding_of(IMAGES, WITH_IMAGES) < 0.1
    clumpy = unit(CAPTIONS + 0.01 * rng.normal(size=CAPTIONS.shape))
    assert crowding_of(clumpy, np.vstack([TARGETS, CAPTIONS])) < 0.1


def test_crowding_of_one_query_or_of_endless_offsets_is_none():
    assert crowding_of(IMAGES[:1], TARGETS) == 0
    assert crowding_of(CAPTIONS, TARGETS, np.full(600, np.nan, np.float32)) == 0


def test_auto_counts_captions_of_an_image_once_in_shrinkage_and_perplexity():
    alike = unit(np.repeat(IMAGES, 5, axis=0) + 0.02 * rng.normal(size=CAPTIONS.shape))
    fitted = CORRECTIONS["auto"]().fit(alike, WITH_IMAGES)
    crowded, plain = fitted.details, CORRECTIONS["sn"]().fit(alike, WITH_IMAGES).details
    assert crowded["crowding"] > 3
    distinct = crowded["distinct_queries"]
    assert distinct == pytest.approx(40, rel=0.05)
    assert fitted.shrinkage == pytest.approx(distinct / (distinct + 100))
    assert f"count as {distinct:.0f}; so offsets are shrunk by {distinct:.0f}/({distinct:.0f}+100)" in crowded["why"]
    assert plain["perplexity"] == pytest.approx(20, rel=0.01)
    assert crowded["perplexity"] == pytest.approx(100, rel=0.01)
    with_bank = CORRECTIONS["auto"]().fit(alike, TARGETS, IMAGES).details
    assert with_bank["crowding"] == pytest.approx(crowded["crowding"], abs=0.3)


def test_auto_of_a_fair_bank_counts_all_its_queries():
    details = CORRECTIONS["auto"]().fit(IMAGES, WITH_IMAGES).details
    assert details["distinct_queries"] == 40
