import numpy as np
import pytest
from support.problems import source, with_hubs

from hubless import CORRECTIONS
from hubless.corrections.by_group import fit_by_group
from hubless.corrections.grouped import GroupedVectors

PROBLEM = with_hubs(targets=90, bank=160)
OF_TARGETS = np.array(["a", "b", "nobody asked"], object)[np.arange(90) % 3]
OF_QUERIES = np.array(["a", "b"], object)[np.arange(160) % 2]


@pytest.mark.parametrize("name", ["is", "csls", "sn"])
def test_each_group_is_centred_and_corrected_by_its_own_queries_and_others_not_at_all(name):
    bank = GroupedVectors(PROBLEM.bank, "query bank", OF_QUERIES)
    (fitted,) = fit_by_group(CORRECTIONS[name](), [bank], source(PROBLEM.targets), OF_TARGETS)
    found = fitted.of_groups(PROBLEM.targets, OF_TARGETS)
    for group in ("a", "b"):
        own = PROBLEM.targets[group == OF_TARGETS]
        expected = CORRECTIONS[name]().fit(PROBLEM.bank[group == OF_QUERIES], own).offsets(own)
        np.testing.assert_allclose(found[group == OF_TARGETS], expected - expected.mean(), atol=1e-5)
    assert not found[2::3].any()
    assert (fitted.uncorrected, fitted.details["fitted_groups"]) == (30, 2)
