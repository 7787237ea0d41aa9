import numpy as np
import pytest
from support import naive
from support.problems import normal, source

from hubless.kernels import reductions
from hubless.vectors.sources import StreamedVectors


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("n", [1, 4, 5, 6, 11])
@pytest.mark.parametrize("b", [1, 6, 7, 8, 15])
class TestSizesThatStraddleTheBlocks:
    def test_targets_reach_a_threshold_where_any_bank_query_is_as_similar(self, b, n):
        rng = np.random.default_rng(100 * b + n)
        bank, targets = (rng.integers(-2, 3, (rows, 6)).astype(np.float32) for rows in (b, n))
        similar = naive.similarities(targets, bank)
        thresholds = similar.max(axis=0).astype(np.float32)  # which just one target may reach
        found = reductions.reaches(source(bank), source(targets), thresholds)
        np.testing.assert_array_equal(found, (similar >= thresholds).any(axis=1))


@pytest.mark.parametrize("shift", [0, 1000])
def test_moments_are_mean_and_covariance_also_far_from_the_origin(shift, small_blocks):
    """There float32 has no digits left for a mean of squares."""
    rows = normal(23, 5, seed=2) + np.float32(shift)
    streamed = StreamedVectors(lambda: iter(np.array_split(rows, 4)), rows.shape, "rows")
    for given in (source(rows), streamed):
        mean, covariance = reductions.moments(given)
        np.testing.assert_allclose(mean, rows.mean(axis=0, dtype=np.float64), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(covariance, np.cov(rows.T.astype(np.float64), bias=True), rtol=1e-4, atol=1e-4)
