import numpy as np
import pytest
from support import naive
from support.labelled import compare, pairs

from hubless.errors import InputError
from hubless.lab.experiments.methods import Method
from hubless.lab.experiments.trials import DRAWN, demand_trial

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


def test_log_beside_a_query_bank_and_a_negative_exponent_are_refused():
    with pytest.raises(InputError, match=r"demand: expected none with a query bank.*got 1"):
        compare(*PAIRS, [Method("csls")], query_bank=GIVEN.queries, demand=1)
    with pytest.raises(InputError, match=r"demand: expected .*got -1"):
        compare(*PAIRS, [Method("csls")], demand=-1)
