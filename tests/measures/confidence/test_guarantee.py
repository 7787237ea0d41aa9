import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import binomtest

import hubless
from hubless.errors import InputError
from hubless.measures.confidence.guarantee import first_test, guaranteed_cut, labels_needed

RNG = np.random.default_rng(0)


@cache
def passes(wrong, count, accuracy, sure):
    """The upper end of Clopper and Pearson's interval, one-sided, by another implementation."""
    found = binomtest(wrong, count, alternative="less").proportion_ci(confidence_level=sure, method="exact")
    return found.high <= 1 - accuracy


def naive(confidence, right, accuracy, sure):
    """The lowest threshold of the fixed sequence, answer by answer."""
    best = sorted(zip(confidence, right, strict=True), key=lambda pair: -pair[0])
    first = next(count for count in range(1, 10_000) if passes(1, count, accuracy, sure))
    if first > len(best):
        first = next(count for count in range(1, 10_000) if passes(0, count, accuracy, sure))
    found = None
    count = max(first, len(best) // 10)
    while count <= len(best):
        while count < len(best) and best[count][0] == best[count - 1][0]:
            count += 1
        if not passes(sum(not known for _, known in best[:count]), count, accuracy, sure):
            break
        found = best[count - 1][0], count / len(best)
        count = max(count + 1, min(len(best), math.ceil(count * 1.1)))
    return found or (None, 0)


def labelled(m, steepness=6.0, seed=0):
    rng = np.random.default_rng(seed)
    confidence = rng.random(m)
    return confidence, rng.random(m) < 1 / (1 + np.exp(-steepness * (confidence - 0.3)))


@pytest.mark.parametrize("accuracy", [0.5, 0.6, 0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("digits", [1, 2, 9])
@pytest.mark.parametrize("sure", [0.9, 0.5])
def test_cut_is_that_of_the_naive_sequence_of_exact_tests(accuracy, digits, sure):
    for seed in range(5):
        confidence, right = labelled(309, 12, seed)
        confidence = confidence.round(digits)
        found = hubless.guaranteed_cut(confidence, right, accuracy, sure)
        assert (found.threshold, found.share) == pytest.approx(naive(confidence.tolist(), right, accuracy, sure))


U = (np.arange(20_000) + 0.5) / 20_000
WORLDS = {
    "most right": np.sort(np.random.default_rng(1).beta(2, 1, 20_000)),
    "few right": 0.1 + 0.65 * U**2,
    "the surest are copies of hubs": np.where(U > 0.98, 0.55, np.minimum(0.9, U)),
}
"""Answers are right with the probability p, here from the least sure on, so what a cut keeps is known exactly."""


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("accuracy", [0.5, 0.6, 0.7, 0.8, 0.9])
def test_promise_is_broken_in_no_more_draws_than_was_said_and_more_labels_answer_no_less(world, accuracy):
    p = WORLDS[world]
    kept = np.cumsum(p[::-1])[::-1] / np.arange(len(p), 0, -1)
    draws = 150
    before = 0.0
    for labels in (100, 200, 400, 800):
        answered = broken = 0.0
        for draw in range(draws):
            rng = np.random.default_rng([2, draw, labels])
            places = rng.integers(0, len(p), labels)
            found = guaranteed_cut(places, rng.random(labels) < p[places], accuracy, 0.9)
            if found.threshold is not None:
                answered += 1 - found.threshold / len(p)
                broken += kept[int(found.threshold)] < accuracy
        assert broken <= 0.1 * draws
        assert answered / draws > before - 0.03
        before = max(before, answered / draws)


@pytest.mark.parametrize(
    ("accuracy", "sure", "none_wrong", "one_wrong"),
    [(0.8, 0.9, 11, 18), (0.9, 0.9, 22, 38), (0.95, 0.9, 45, 77), (0.99, 0.9, 230, 388), (0.9, 0.95, 29, 46)],
)
def test_first_test_takes_as_many_answers_as_may_have_one_wrong(accuracy, sure, none_wrong, one_wrong):
    assert first_test(accuracy, sure, 10_000) == 1000  # a tenth of the labels, if that is more
    assert first_test(accuracy, sure, one_wrong) == one_wrong
    assert first_test(accuracy, sure, one_wrong - 1) == none_wrong
    assert guaranteed_cut(np.arange(none_wrong), np.ones(none_wrong, bool), accuracy, sure).share == 1
    assert guaranteed_cut(np.arange(none_wrong - 1), np.ones(none_wrong - 1, bool), accuracy, sure).threshold is None


def test_too_few_labels_are_told_with_how_many_more():
    assert labels_needed(0.9) == 57
    assert guaranteed_cut(RNG.random(20), np.ones(20, bool)).more == 37
    assert guaranteed_cut(-np.arange(30), np.arange(30) != 5).more == 27
    assert guaranteed_cut(RNG.random(300), np.zeros(300, bool)) == hubless.GuaranteedCut(None, 0, 0)
    assert guaranteed_cut([], np.zeros(0, bool)).more == 57


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([1.0], [True], 1.0, 0.9), "accuracy: expected a number above 0 and below 1"),
        (([1.0], [True], 0.9, 0.0), "sure: expected a number above 0 and below 1"),
        (([1.0], [True], 0.9, "x"), "sure: expected a number of at least 0"),
        (([1.0, 2.0], [True], 0.9, 0.9), "right: expected one for each of the 2 answers, got 1"),
        (([math.nan], [True], 0.9, 0.9), "confidence: expected finite numbers"),
    ],
)
def test_wrong_input_is_named(given, message):
    with pytest.raises(InputError, match=message):
        guaranteed_cut(*given)
