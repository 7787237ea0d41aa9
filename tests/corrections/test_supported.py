import numpy as np
import pytest
from support import naive
from support.problems import normal, source

from hubless.corrections.supported import asked_by, supported_sums
from hubless.kernels.reductions import Softmax

BANK, TARGETS = normal(24, 6, seed=1), normal(40, 6, seed=2)


@pytest.mark.parametrize("clients", [3, 4, 8])
def test_similarity_counts_up_to_the_fourth_highest_of_other_clients_in_its_rank(clients):
    """Each client has as many queries; with so few clients as may collude all are believed."""
    whose = np.arange(24) % clients
    softmax = Softmax(asked_by(BANK, "bank", [str(each) for each in whose]), 0.2)
    found = supported_sums(softmax, source(TARGETS))
    for target, line in zip(found, naive.similarities(TARGETS, BANK), strict=True):
        ranks = -np.sort(-np.stack([line[whose == each] for each in range(clients)]), axis=1)
        counted = np.minimum(ranks, -np.sort(-ranks, axis=0)[3]) if clients > 3 else ranks
        assert target == pytest.approx(naive.log_sum_exp(counted.reshape(1, -1) / 0.2)[0], abs=1e-4)
