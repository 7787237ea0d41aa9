import numpy as np
import pytest
from scipy.stats import spearmanr
from support import naive
from support.labelled import compare, pairs

from hubless.errors import InputError
from hubless_lab.experiments.demand import towards_hubs
from hubless_lab.experiments.methods import Method
from hubless_lab.experiments.trials import DRAWN, demand_trial

GIVEN = pairs(240)
PAIRS = (GIVEN.queries, GIVEN.targets, np.arange(240))


def asked(trial):
    """How often each query is asked, in falling order."""
    return np.sort(np.bincount(trial.rows, minlength=240))[::-1]


def test_log_and_tests_are_drawn_from_one_law_over_the_queries():
    trial = demand_trial(GIVEN, 1.0, 0)
    most = 2000 / np.sum(1 / np.arange(1, 241))
    assert asked(trial)[0] == pytest.approx(most, rel=0.15)
    first = np.bincount(trial.rows, minlength=240).argmax()
    copies = (trial.query_bank == GIVEN.queries[first]).all(axis=1).sum()
    assert copies == pytest.approx(most, rel=0.15)
    assert (trial.queries == GIVEN.queries[trial.rows]).all()
    assert len(trial.targets) == 240
    assert trial.target_bank is None


def test_tests_are_drawn_of_as_many_queries_too():
    given = pairs(DRAWN)
    trial = demand_trial(given, 1.0, 0)
    assert (trial.queries == given.queries[trial.rows]).all()


def test_exponent_0_asks_all_alike_and_each_seed_is_another_order():
    assert asked(demand_trial(GIVEN, 0.0, 0))[0] < 25
    one, same, other = (demand_trial(GIVEN, 2.0, seed).rows for seed in (3, 3, 4))
    assert (one == same).all()
    assert np.bincount(one).argmax() != np.bincount(other).argmax()


@pytest.mark.parametrize("wanted", [0, 0.5, 1])
def test_order_of_popularity_is_correlated_with_hubness_as_wanted(wanted):
    rng = np.random.default_rng(1)
    order, hubness = rng.permutation(3000), rng.poisson(20, size=3000)
    found = towards_hubs(order, hubness[order], wanted)
    assert spearmanr(-np.argsort(found), hubness)[0] == pytest.approx(wanted, abs=0.03)
    assert wanted or (found == order).all()


def test_what_is_asked_most_lies_at_hubs_where_that_is_wanted():
    rows = {hubs: demand_trial(GIVEN, {"exponent": 1.0, "hubs": hubs}, 0).rows for hubs in (0, 1)}
    np.testing.assert_array_equal(rows[0], demand_trial(GIVEN, 1.0, 0).rows)
    found = np.bincount(np.argsort(-(GIVEN.queries @ GIVEN.targets.T))[:, :10].ravel(), minlength=240)
    most = [found[np.bincount(each).argmax()] for each in rows.values()]
    assert most[0] < most[1] == found.max()


def test_quality_is_by_demand():
    given = compare(*PAIRS, [Method("none"), Method("csls")], demand=1.15, seeds=2)
    expected = []
    for seed in range(2):
        trial = demand_trial(GIVEN, 1.15, seed)
        bank = np.unique(trial.query_bank, axis=0)
        scores = trial.queries @ trial.targets.T - naive.top_k_mean(bank, trial.targets, 10) / 2
        expected.append(np.mean(naive.ranks(scores, trial.relevant) == 1))
    [raw, csls] = given.rows
    assert csls.quality["recall_at_1"] == pytest.approx(np.mean(expected))
    assert raw.quality["recall_at_1"] != csls.quality["recall_at_1"]
    assert given.protocol == "demand"
    assert csls.intervals["recall_at_1"].low < csls.quality["recall_at_1"] < csls.intervals["recall_at_1"].high


def test_log_beside_a_query_bank_and_wrong_demands_are_refused():
    with pytest.raises(InputError, match=r"demand: expected none with a query bank.*got 1"):
        compare(*PAIRS, [Method("csls")], query_bank=GIVEN.queries, demand=1)
    for demand, told in (
        (-1, r"demand: expected .*got -1"),
        ({"hubs": 0.5}, 'demand: expected an exponent, or {"exponent": 1.15, "hubs": 0.5}, got'),
        ({"exponent": 1, "hubs": 1.5}, "demand hubs: expected a number of at least 0 and at most 1, got 1.5"),
    ):
        with pytest.raises(InputError, match=told):
            compare(*PAIRS, [Method("csls")], demand=demand)
