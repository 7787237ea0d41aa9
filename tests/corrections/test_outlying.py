import numpy as np
import pytest
from support.hubs import unit
from support.problems import centred, with_hubs

from hubless import CORRECTIONS
from hubless.corrections import FITTED
from hubless.corrections.folded.outlying import Outlying, find_outlying
from hubless.lab.matrices import vectorless

SPREAD = np.linspace(-1, 1, 101)
"""Median 0, and .5 is the median absolute deviation."""
DEVIATION = 1.4826 * 0.5


def with_planted_hub(bank=30, dim=128):
    """Queries lean one way, and the last target lies at their centroid."""
    rng = np.random.default_rng(3)
    lean = 2 * rng.normal(size=dim)
    targets, queries = unit(rng.normal(size=(300, dim))), unit(rng.normal(size=(bank + 200, dim)) + lean)
    hub = unit(queries[:bank].mean(axis=0, keepdims=True))
    return np.vstack([targets, hub]), queries[:bank], queries[bank:]


def found_among_ten(queries, targets, offsets, row):
    scores = queries @ targets.T - offsets
    return float(np.mean((scores > scores[:, [row]]).sum(axis=1) < 10))


def test_thresholds_are_six_and_eight_robust_deviations_above_the_median():
    outlying = find_outlying(SPREAD + 3)
    assert outlying.centre == pytest.approx(3)
    assert outlying.low == pytest.approx(3 + 6 * DEVIATION)
    assert outlying.high == pytest.approx(3 + 8 * DEVIATION)


def test_offsets_are_shrunk_below_the_thresholds_and_have_full_size_above():
    outlying = Outlying(centre=1.0, low=3.0, high=5.0)
    got = outlying.shrunk(np.array([-2.0, 0.0, 1.0, 3.0, 4.0, 5.0, 9.0]), 0.25)
    middle = 0.25 * 4 + 0.75 * 0.5 * 3  # half way, half of the shrinkage has faded
    np.testing.assert_allclose(got, [-0.5, 0.0, 0.25, 0.75, middle, 5 - 0.75, 9 - 0.75])


@pytest.mark.parametrize("shrinkage", [0.01, 0.3, 0.9, 1.0])
def test_order_of_offsets_stays(shrinkage):
    offsets = np.linspace(-3, 12, 400)
    got = Outlying(1.0, 3.0, 5.0).shrunk(offsets, shrinkage)
    assert (np.diff(got) > 0).all()


@pytest.mark.parametrize("offsets", [np.zeros(9), np.array([0.0, 0, 0, 5]), np.array([0.0, 1, np.inf])])
def test_nothing_is_outlying_where_there_is_nothing_to_compare_with(offsets):
    assert find_outlying(offsets) is None


def test_auto_takes_a_planted_hub_out_of_answers_with_thirty_bank_queries():
    targets, bank, live = with_planted_hub()
    fitted = CORRECTIONS["auto"]().fit(bank, targets)
    hub = len(targets) - 1
    assert found_among_ten(live, targets, 0, hub) == 1
    shrunk_alike = fitted.shrinkage * CORRECTIONS["sn"]().fit(bank, targets).offsets(targets)
    assert found_among_ten(live, targets, shrunk_alike, hub) > 0.9
    assert found_among_ten(live, targets, fitted.offsets(targets), hub) < 0.1


def test_hub_that_is_added_later_keeps_its_size_too():
    """Its offset depends on the thresholds that were fitted without it, and on no other row."""
    targets, bank, live = with_planted_hub()
    fitted = CORRECTIONS["auto"]().fit(bank, targets[:-1])
    alone = fitted.offsets(targets[-1:])
    together = np.append(fitted.offsets(targets[:-1]), alone)
    np.testing.assert_allclose(fitted.offsets(targets)[-1:], alone, atol=1e-6)
    assert found_among_ten(live, targets, together, len(targets) - 1) < 0.1


def test_stored_thresholds_give_the_same_offsets():
    targets, bank, _ = with_planted_hub()
    fitted = CORRECTIONS["auto"]().fit(bank, targets)
    restored = FITTED["auto"].from_state(fitted.state(), fitted.details)
    assert restored.outlying == fitted.outlying is not None
    np.testing.assert_array_equal(restored.offsets(targets), fitted.offsets(targets))


def test_details_have_the_share_that_is_outlying():
    targets, bank, _ = with_planted_hub()
    details = CORRECTIONS["auto"]().fit(bank, targets).details
    assert details["outlying"] == pytest.approx(1 / 301)
    assert "but for the 0.33% of them that are outlying" in details["why"]
    usual = with_hubs()
    assert CORRECTIONS["auto"]().fit(usual.bank, usual.targets).details["outlying"] == 0


def test_similarities_alone_give_the_same_offsets():
    targets, bank, _ = with_planted_hub()
    whole = CORRECTIONS["auto"]().fit(bank, targets)
    similarities, rows = bank @ targets.T, np.eye(len(targets), dtype=np.float32)
    fitted = vectorless(CORRECTIONS["auto"]()).fit(similarities, rows)
    np.testing.assert_allclose(centred(fitted.offsets(rows)), centred(whole.offsets(targets)), atol=1e-5)
