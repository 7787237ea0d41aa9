import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support import naive
from support.problems import centred, normal, with_hubs

from hubless import CORRECTIONS
from hubless.corrections.temperature import default_perplexity, resolve_temperature
from hubless.errors import InputError
from hubless.vectors.sources import ArrayVectors

PROBLEM = with_hubs()


def found(bank, targets, perplexity=None):
    return resolve_temperature("auto", perplexity, ArrayVectors(bank, "bank"), ArrayVectors(targets, "targets"))


@settings(max_examples=40, deadline=None)
@given(
    share=st.floats(0.02, 0.98),
    b=st.integers(20, 120),
    n=st.integers(1, 40),
    scale=st.sampled_from([1e-6, 0.1, 1.0, 1e6]),
    seed=st.integers(0, 2**32 - 1),
)
def test_perplexity_over_the_bank_is_the_one_asked_for_to_one_percent(share, b, n, scale, seed):
    wanted = 1 + share * (b - 1)
    bank, targets = normal(b, 5, seed, scale), normal(n, 5, seed + 1)
    temperature = found(bank, targets, wanted)
    assert naive.perplexity(bank, targets, temperature.value) == pytest.approx(wanted, rel=0.01)
    assert temperature.perplexity == pytest.approx(wanted, rel=0.01)


@pytest.mark.parametrize(
    ("bank_queries", "perplexity"),
    [(2, 1), (10, 5), (30, 15), (40, 20), (100, 20), (200, 20), (300, 30), (1000, 100), (50_000, 100)],
)
def test_default_perplexity_is_a_tenth_of_the_bank_from_20_to_100_and_at_most_half_of_it(bank_queries, perplexity):
    assert default_perplexity(bank_queries) == perplexity


@pytest.mark.parametrize("method", ["is", "sn", "dbsn", "auto"])
def test_temperature_that_was_chosen_is_told_with_its_perplexity(method):
    details = CORRECTIONS[method]().fit(PROBLEM.bank, PROBLEM.targets, PROBLEM.target_bank).details
    measured = naive.perplexity(PROBLEM.bank, PROBLEM.targets, details["temperature"])
    assert details["perplexity"] == pytest.approx(measured, rel=1e-3)
    assert measured == pytest.approx(default_perplexity(150), rel=0.01)


@pytest.mark.parametrize("size", [1e-42, 1e-36, 1e-32])
def test_products_too_small_for_float32_are_refused_and_nothing_searches_for_ever(size):
    with pytest.raises(InputError, match=r"differ by 1e-30 or more: scale the vectors"):
        found(normal(50, 5, 1, 1.0), np.float32(size) * normal(20, 5, 2, 1.0))


def test_bank_of_one_query_again_and_again_gives_its_similarities():
    bank = np.repeat(PROBLEM.bank[:1], 50, axis=0)
    offsets = CORRECTIONS["is"]().fit(bank, PROBLEM.targets).offsets(PROBLEM.targets)
    np.testing.assert_allclose(centred(offsets), centred(PROBLEM.targets @ bank[0]), atol=1e-6)


def test_targets_without_direction_have_no_hubs():
    targets = np.zeros_like(PROBLEM.targets)
    for method in ("is", "sn", "dbsn", "auto"):
        offsets = CORRECTIONS[method]().fit(PROBLEM.bank, targets, targets).offsets(targets)
        np.testing.assert_allclose(centred(offsets), 0, atol=1e-6)


def test_perplexity_not_below_the_bank_is_refused_naming_both():
    with pytest.raises(InputError, match="perplexity: expected less than the 150 rows of the query bank, got 150"):
        CORRECTIONS["is"](perplexity=150).fit(PROBLEM.bank, PROBLEM.targets)


@pytest.mark.parametrize(("target_bank", "chosen"), [(None, "sn"), (PROBLEM.target_bank, "dbsn")])
@pytest.mark.parametrize("b", [20, 150])
def test_auto_is_sn_or_dbsn_shrunk_by_the_size_of_the_bank(target_bank, chosen, b):
    bank = PROBLEM.bank[:b]
    auto = replace(CORRECTIONS["auto"]().fit(bank, PROBLEM.targets, target_bank), topic=None)
    plain = CORRECTIONS[chosen]().fit(bank, PROBLEM.targets, target_bank)
    np.testing.assert_allclose(
        auto.offsets(PROBLEM.targets), b / (b + 100) * plain.offsets(PROBLEM.targets), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize(
    ("target_bank", "chosen", "reason"),
    [(None, "sn", "no target bank was given"), (PROBLEM.target_bank, "dbsn", "a target bank was given")],
)
def test_auto_says_what_it_took_and_why(target_bank, chosen, reason):
    details = CORRECTIONS["auto"]().fit(PROBLEM.bank, PROBLEM.targets, target_bank).details
    assert details["chosen"] == chosen
    assert details["shrinkage"] == pytest.approx(150 / 250)
    assert details["bank_queries"] == 150
    for part in (reason, f"{details['temperature']:.4g}", "20 effective bank queries", "150/(150+100)"):
        assert part in details["why"]
    assert json.loads(json.dumps(details)) == details
