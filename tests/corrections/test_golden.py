"""The same numbers as the code that its authors published: see tests/golden/README.md."""

import numpy as np
import pytest
from support.problems import centred

from hubless import CORRECTIONS

SN_CONVERGED, DBSN_CONVERGED = 300, 800
"""Iterations after which the offsets are within 1e-3 of what the other program ended with."""


def offsets(golden, method, parameters, bank="Bq"):
    return CORRECTIONS[method](**parameters).fit(golden[bank], golden["T"], golden["Bt"]).offsets(golden["T"])


@pytest.mark.parametrize(
    ("key", "method", "parameters"),
    [
        ("h_nnn_k16_w075", "nnn", {"k": 16, "weight": 0.75}),
        ("h_csls_k10", "csls", {"k": 10}),
        ("h_is_tau05", "is", {"temperature": 0.05}),
    ],
)
def test_offsets_of_one_pass_methods_are_the_published_codes(golden, key, method, parameters):
    np.testing.assert_allclose(offsets(golden, method, parameters), golden[key], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("key", "method", "iterations", "bank", "tolerance"),
    [
        ("h_sn_tau01_it3", "sn", 3, "Bq", 1e-5),
        ("h_sn_tau01_it10", "sn", 10, "Bq", 1e-5),
        ("h_sn_tau01_converged", "sn", SN_CONVERGED, "Bq", 1e-3),
        ("h_dbsn_tau01_it10", "dbsn", 10, "Bq", 1e-5),
        ("h_dbsn_tau01_converged", "dbsn", DBSN_CONVERGED, "Bq", 1e-3),
        ("h_sn_queryaware_tau01_it10", "sn", 10, "Q", 1e-5),
    ],
)
def test_sinkhorn_offsets_are_the_published_codes_up_to_a_constant(golden, key, method, iterations, bank, tolerance):
    found = offsets(golden, method, {"temperature": 0.01, "iterations": iterations}, bank)
    np.testing.assert_allclose(centred(found), centred(golden[key]), rtol=0, atol=tolerance)
