import numpy as np
import pytest
from scipy.special import softmax
from support.problems import additive, centred, normal

from hubless import CORRECTIONS

X, Y = np.linspace(-0.4, 0.6, 30), np.array([-0.3, 0.0, 0.1, 0.25, 0.9])


@pytest.mark.parametrize("temperature", [1.0, 0.05, 0.003])
@pytest.mark.parametrize("method", ["is", "sn", "dbsn"])
def test_softmax_methods_find_the_hubness_that_similarities_were_made_of(method, temperature):
    bank, targets = additive(X, Y)
    fitted = CORRECTIONS[method](temperature=temperature).fit(bank, targets, targets[::-1].copy())
    np.testing.assert_allclose(centred(fitted.offsets(targets)), centred(Y), atol=1e-6)


def test_auto_finds_the_shrunk_hubness():
    bank, targets = additive(X, Y)
    fitted = CORRECTIONS["auto"]().fit(bank, targets)
    np.testing.assert_allclose(centred(fitted.offsets(targets)), 30 / 130 * centred(Y), atol=1e-6)


def test_converged_sinkhorn_is_the_minimum_of_the_dual_of_hubless_nearest_neighbours():
    """HNN (ACL 2019), algorithm 2: β ← β − η·mean_i(softmax_j((β_j − D_ij)/ε) − 1/n), with D = 1 − s; h = −β."""
    bank, targets, epsilon = normal(40, 6, 1, 0.3), normal(25, 6, 2, 0.3), 0.1
    distances = 1 - bank.astype(np.float64) @ targets.astype(np.float64).T
    beta = np.zeros(25)
    for _ in range(5000):
        shares = softmax((beta - distances) / epsilon, axis=1)
        beta -= 1.5 * (shares.mean(axis=0) - 1 / 25)
    fitted = CORRECTIONS["sn"](temperature=epsilon, iterations=500).fit(bank, targets)
    np.testing.assert_allclose(centred(fitted.offsets(targets)), centred(-beta), atol=1e-5)
    few = CORRECTIONS["sn"](temperature=epsilon, iterations=1).fit(bank, targets)
    assert np.abs(centred(few.offsets(targets)) - centred(-beta)).max() > 1e-3
