import numpy as np
import pytest
from support.problems import normal

from hubless.knn.augment import Columns, folded_queries, folded_targets
from hubless.knn.leading import balanced_order, leading_directions, most_codes

COUNT = 700


def low_rank(count, dim, rank, seed):
    """Vectors of a low rank, the directions varying unevenly."""
    basis = np.linalg.qr(normal(dim, dim, 7))[0][:rank]
    return (normal(count, rank, seed) / np.sqrt(1 + np.arange(rank, dtype=np.float32))) @ basis


def test_leading_half_of_few_directions_changes_no_inner_product():
    targets, queries, offsets = low_rank(COUNT, 512, 20, 0), normal(30, 512, 1), normal(1, COUNT, 2)[0]
    augmented = folded_targets(targets, offsets)
    leading, _ = leading_directions(augmented, Columns(512, 512))
    for strength in (0.0, 0.5, 1.0):
        asked = folded_queries(queries, strength)
        np.testing.assert_allclose(
            leading.apply(asked) @ leading.apply(augmented).T, asked @ augmented.T, rtol=0, atol=5e-4
        )


@pytest.mark.parametrize(
    ("dim", "rank", "directions", "together"),
    [
        (512, 20, 256, 4),
        (512, 512, 512, 4),
        (256, 20, 128, 2),
        (256, 256, 256, 4),
        (192, 20, 128, 2),
        (66, 20, 66, 1),
        (512, 0, 512, 4),
        (3, 3, 3, 1),
    ],
)
def test_codes_have_as_many_bits_with_few_dimensions(dim, rank, directions, together):
    vectors = normal(COUNT, dim, 0) if rank == dim else low_rank(COUNT, dim, rank, 0)
    leading, found = leading_directions(folded_targets(vectors, np.zeros(COUNT, np.float32)), Columns(dim, dim))
    assert (leading.d_out - found, found) == (directions, together)
    assert leading.d_out // found <= most_codes(dim)


def test_variances_are_dealt_out_so_that_the_products_are_about_the_same():
    variances = np.sort(np.exp(np.random.default_rng(0).normal(size=32)))[::-1]
    order = balanced_order(variances, 4)
    assert sorted(order) == list(range(32))
    products = np.log(variances[order]).reshape(-1, 4).sum(axis=1)
    in_a_row = np.log(variances).reshape(-1, 4).sum(axis=1)
    assert np.ptp(products) < np.ptp(in_a_row) / 5
    halves = np.log(variances[order]).reshape(-1, 2, 2).sum(axis=2)
    descending = np.log(-np.sort(-variances[order].reshape(-1, 4), axis=1)).reshape(-1, 2, 2).sum(axis=2)
    assert np.abs(np.diff(halves)).sum() < np.abs(np.diff(descending)).sum() / 2
