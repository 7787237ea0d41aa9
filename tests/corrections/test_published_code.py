"""The same rankings as the code that the authors of each method published: see tests/golden/README.md."""

from pathlib import Path

import numpy as np
import pytest
from support.problems import Problem
from support.rankings import best, dense

from hubless import CORRECTIONS


@pytest.fixture(scope="module")
def case(golden):
    return Problem(golden["T"], golden["Bq"], golden["Bt"], golden["Q"])


@pytest.fixture(scope="module")
def peers():
    with np.load(Path(__file__).parents[1] / "golden" / "peers_on_a.npz") as arrays:
        return dict(arrays)


RANKINGS = [
    ("top10_dn_lambda05", "dn", {}),
    ("top10_dis_tau05_k1", "dis", {"temperature": 0.05}),
    ("top10_dualdis_b50_b1_k1", "dual_dis", {"query_temperature": 1 / 50, "target_temperature": 1.0}),
]


@pytest.mark.parametrize(("key", "name", "parameters"), RANKINGS)
def test_dense_ranking_is_the_published_codes(golden, case, key, name, parameters):
    np.testing.assert_array_equal(best(dense(case, name, **parameters)), golden[key])


def test_activation_set_and_switched_queries_of_dis_are_the_published_codes(golden, case):
    gate = CORRECTIONS["dis"](temperature=0.05).fit(case.bank, case.targets).query_time(case.targets)
    assert set(np.flatnonzero(gate.active)) == set(golden["dis_activation_set_k1"])
    on = gate.is_on((case.queries @ case.targets.T).argmax(axis=1))
    assert set(np.flatnonzero(on)) == set(golden["dis_rows_normalised"])
    assert 0 < on.sum() < len(on)


def test_offsets_of_dual_is_are_the_published_codes(golden, case):
    method = CORRECTIONS["dual_is"](query_temperature=1 / 50, target_temperature=1.0)
    found = method.fit(case.bank, case.targets, case.target_bank).offsets(case.targets)
    np.testing.assert_allclose(found, golden["h_dualis_b50_b1"], rtol=0, atol=1e-6)


def test_offsets_and_ranking_of_dissimlocal_are_those_of_kiez_and_scikit_hubness(golden, peers, case):
    """−½|t−c|² there; ours leaves out −½|t|², which vectors of length 1 have in common."""
    fitted = CORRECTIONS["dissimlocal"](k=10).fit(case.bank, case.targets)
    np.testing.assert_allclose(fitted.offsets(case.targets) - 0.5, peers["h_dissimlocal_k10"], rtol=0, atol=1e-6)
    np.testing.assert_array_equal(best(dense(case, "dissimlocal", k=10)), peers["top10_dissimlocal_k10"])
