import numpy as np
import pytest

from hubless.errors import InputError
from hubless.measures.confidence.conformal import least_share, right_hits

HITS = np.arange(40)


@pytest.mark.parametrize(("coverage", "labels", "limit"), [(0.8, 20, 40), (0.9, 99, 40), (0.5, 400, 8)])
def test_hits_of_other_queries_hold_the_right_one_as_often_as_asked_for(coverage, labels, limit):
    had = []
    for draw in range(300):
        rng = np.random.default_rng(draw)
        shares = -np.sort(-rng.random((labels + 100, len(HITS))), axis=1)
        among = rng.geometric(0.15, (labels + 100, 1)) - 1 == HITS
        least = least_share(right_hits(shares[:labels], among[:labels]), coverage, limit)
        sent = ((shares[labels:] >= least) | (HITS == 0)) & (limit > HITS)
        had.append((sent & among[labels:]).any(axis=1).mean())
    assert coverage - 0.01 < np.mean(had) < coverage + 1 / (labels + 1) + 0.01


FOUND = np.array([[1, 1], [1, 1], [0.5, 2], [0.4, 7], [0.1, np.inf]])


@pytest.mark.parametrize(("coverage", "limit", "share"), [(1e-9, 1, 1), (0.5, 10, 0.5), (0.666, 7, 0.4)])
def test_share_is_that_of_as_many_labelled_queries_as_one_more_would_need(coverage, limit, share):
    assert least_share(FOUND, coverage, limit) == share


@pytest.mark.parametrize(
    ("coverage", "limit", "message"),
    [
        (0.6, 6, "a limit of at least 7, skipped hits included, got 0.6 with 6"),
        (0.667, 99, "at most 0.666, as by the labels no depth gives more, got 0.667"),
    ],
)
def test_coverage_that_cannot_be_had_is_refused_with_what_can(coverage, limit, message):
    with pytest.raises(InputError, match=f"^coverage: expected {message}$"):
        least_share(FOUND, coverage, limit)
