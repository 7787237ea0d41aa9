import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import softmax
from support import naive
from support.hubs import captions, unit
from support.problems import centred, normal, with_hubs

from hubless import CORRECTIONS
from hubless.corrections.folded import counted_once
from hubless.corrections.folded.auto import overdispersion
from hubless.corrections.folded.counted_once import query_weights, unevenness
from hubless.corrections.folded.sinkhorn import SinkhornNormalisation
from hubless.kernels.together import in_step
from hubless.measures.repeats import without_copies
from hubless.vectors.sources import ArrayVectors, sampled_rows

rng = np.random.default_rng(5)
TARGETS, IMAGES, CAPTIONS, LOOSE = captions(rng, 0.01, 0.1)


def weights_of(bank, targets=TARGETS, offsets=None, temperature=0.1, share=1.0, **more):
    given = np.zeros(len(targets), np.float32) if offsets is None else offsets
    sources = ArrayVectors(bank, "bank"), ArrayVectors(targets, "targets")
    near = bank[sampled_rows(len(bank), counted_once.MOST_COMPARED)] @ targets.T
    return query_weights(*sources, near, given, temperature, share, **more)


def naive_weights(bank, targets, offsets, temperature, spread):
    scores = bank.astype(np.float64) @ targets.T.astype(np.float64) - offsets

    def spread_at(log_temperature):
        p = softmax(scores / np.exp(log_temperature), axis=1)
        return -np.sum(p * np.log(np.maximum(p, 1e-300)), axis=1).mean() - np.log(spread)

    sharp = min(temperature / 2, np.exp(brentq(spread_at, -9, 3)))
    p = softmax(scores / sharp, axis=1)
    away = unit(bank - bank.mean(axis=0))
    answers_alike, alike = (
        naive.rise(similarities, 0.2, 0.5) for similarities in (np.sqrt(p) @ np.sqrt(p).T, away @ away.T)
    )
    return 1 / np.sum(answers_alike * alike, axis=1)


@pytest.mark.parametrize("temperature", [0.05, 1.0], ids=["half", "spread"])
@pytest.mark.parametrize("bank", [CAPTIONS, LOOSE, IMAGES], ids=["captions", "loose", "images"])
def test_weights_are_those_of_whole_matrices(bank, temperature):
    offsets = (0.1 * np.random.default_rng(1).normal(size=600)).astype(np.float32)
    expected = naive_weights(bank, TARGETS, offsets, temperature, 30)
    np.testing.assert_allclose(weights_of(bank, TARGETS, offsets, temperature), expected, rtol=2e-3)


def test_of_a_sample_of_the_targets_answers_are_spread_over_fewer():
    for share, spread in ((0.4, 12), (0.01, 5)):
        expected = naive_weights(LOOSE, TARGETS, 0, 1.0, spread)
        np.testing.assert_allclose(weights_of(LOOSE, temperature=1.0, share=share), expected, rtol=2e-3)


def test_five_captions_of_an_image_count_as_one_in_other_words_nearly_and_images_all():
    count = [weights_of(bank, temperature=0.05).sum() for bank in (CAPTIONS, LOOSE, IMAGES)]
    assert count[0] == pytest.approx(count[2], rel=0.02)
    assert 0.9 * count[2] < count[1] < 0.6 * len(LOOSE)
    assert count[2] > 35


def test_sample_of_a_large_bank_gives_about_the_same(monkeypatch):
    whole = weights_of(CAPTIONS, temperature=0.05).sum()
    monkeypatch.setattr(counted_once, "MOST_COMPARED", 100)
    assert whole < weights_of(CAPTIONS, temperature=0.05).sum() < 1.4 * whole


def test_one_target_or_endless_offsets_tell_nothing():
    assert weights_of(IMAGES, TARGETS[:1]).tolist() == [1] * 40
    assert weights_of(IMAGES, TARGETS, np.full(600, np.inf)).tolist() == [1] * 40


@pytest.mark.parametrize("sampled", [False, True])
def test_sinkhorn_with_weights_is_that_of_as_many_copies(sampled, monkeypatch):
    if sampled:  # the last steps are over all targets then
        monkeypatch.setattr("hubless.corrections.folded.sinkhorn.QUICK_EXACT", 0)
        monkeypatch.setattr("hubless.kernels.truncated.LEAST_ENTRY", 0)
        monkeypatch.setattr("hubless.kernels.truncated.MOST_A_TARGET", 1000)
    problem, copies = with_hubs(targets=400, bank=60), np.random.default_rng(2).integers(1, 9, size=60)
    method = SinkhornNormalisation(0.1, iterations=6, fit_sample=40 if sampled else "all")
    (weighted,), _ = in_step([method.fitting(problem.bank, problem.targets, None, None, copies.astype(np.float64))])
    repeated = method.fit(np.repeat(problem.bank, copies, axis=0), problem.targets)
    expected = centred(repeated.offsets(problem.targets))
    np.testing.assert_allclose(centred(weighted.offsets(problem.targets)), expected, atol=2e-5)
    plain = centred(method.fit(problem.bank, problem.targets).offsets(problem.targets))
    assert np.abs(plain - expected).max() > 0.01


def test_unevenness_is_one_where_all_queries_have_as_many_copies():
    assert unevenness(np.full(9, 0.2)) == pytest.approx(1)
    # one query of 90 copies among 10: the mean of the weights is 11/100, that of the copies (90·90 + 10)/100
    assert unevenness(np.array([1 / 90] * 90 + [1.0] * 10)) == pytest.approx(11 / 100 * 81.1)


def test_auto_of_jittered_copies_is_nearly_that_of_each_query_once():
    problem = with_hubs(targets=600, bank=100, dim=32)
    copies = np.random.default_rng(3).zipf(1.5, size=100).clip(max=200)
    log = np.repeat(problem.bank, copies, axis=0)
    exact = without_copies(ArrayVectors(log.copy(), "query bank"))
    log += 0.01 * np.random.default_rng(4).normal(size=log.shape).astype(np.float32)
    once, careful, plain = (
        CORRECTIONS[name]().fit(bank, problem.targets) for name, bank in (("auto", exact), ("auto", log), ("sn", log))
    )
    assert once.details["unevenness"] < 3 < 4.5 < careful.details["unevenness"]
    assert careful.details["distinct_queries"] < 110 < len(log) / 3
    found = [centred(fitted.offsets(problem.targets)) for fitted in (once, careful, plain)]
    apart = [1 - np.corrcoef(found[0], other)[0, 1] for other in found[1:]]
    assert apart[0] < 0.1 * apart[1]


def test_overdispersion_is_that_of_how_often_targets_are_found():
    problem = with_hubs()
    near = problem.bank @ problem.targets.T
    occurrence = naive.occurrence(near, 8)  # a tenth of 80 targets
    expected = (occurrence.var() - occurrence.mean()) / occurrence.mean() ** 2
    assert overdispersion(near) == pytest.approx(expected)
    assert expected > 0.5


def test_auto_corrects_nothing_where_there_are_no_hubs():
    bank, targets = normal(2000, 4, 1), normal(500, 4, 2)
    fitted = CORRECTIONS["auto"]().fit(unit(bank), unit(targets))
    assert fitted.details["overdispersion"] < 0.1
    assert not fitted.offsets(unit(targets)).any()
    assert "so 0 % of that is left" in fitted.details["why"]


def test_weights_of_the_sample_are_those_that_its_queries_have_among_all(monkeypatch):
    monkeypatch.setattr(counted_once, "MOST_COMPARED", 100)
    whole, some = (weights_of(LOOSE, sampled=each) for each in (False, True))
    np.testing.assert_allclose(some, whole[sampled_rows(200, 100)], rtol=1e-5)
