import faiss
import numpy as np
import pytest
from support.problems import normal

from hubless.knn import INDEXES, fastscan, make_index
from hubless.knn.augment import AugmentedVectors, augment_queries, augment_targets
from hubless.knn.leading import balanced_order, leading_half
from hubless.progress import Silent
from hubless.vectors.sources import as_source

COUNT, DIM, GROUP = 1200, 64, 4


def low_rank(count, seed, rank):
    """Vectors of a low rank, the directions varying unevenly."""
    basis = np.linalg.qr(normal(DIM, DIM, 7))[0][:rank]
    return (normal(count, rank, seed) / np.sqrt(1 + np.arange(rank, dtype=np.float32))) @ basis


def test_leading_half_of_few_directions_changes_no_inner_product():
    targets, queries, offsets = low_rank(COUNT, 0, 20), normal(30, DIM, 1), normal(1, COUNT, 2)[0]
    augmented = augment_targets(targets, offsets)
    leading = leading_half(augmented, DIM, GROUP)
    assert leading.d_out == augmented.shape[1] // 2
    for strength in (0.0, 0.5, 1.0):
        asked = augment_queries(queries, strength)
        np.testing.assert_allclose(
            leading.apply(asked) @ leading.apply(augmented).T, asked @ augmented.T, rtol=0, atol=2e-4
        )


@pytest.mark.parametrize(
    ("vectors", "dim"),
    [
        (normal(COUNT, DIM, 0), DIM),
        (np.zeros((COUNT, DIM), np.float32), DIM),
        (normal(COUNT, 3, 0), 3),
    ],
    ids=["no direction leads", "no variance", "too few dimensions"],
)
def test_there_is_no_leading_half_where_much_would_be_lost(vectors, dim):
    assert leading_half(augment_targets(vectors, np.zeros(COUNT, np.float32)), dim, GROUP) is None


def test_variances_are_dealt_out_so_that_the_products_are_about_the_same():
    variances = np.sort(np.exp(np.random.default_rng(0).normal(size=32)))[::-1]
    order = balanced_order(variances, GROUP)
    assert sorted(order) == list(range(32))
    products = np.log(variances[order]).reshape(-1, GROUP).sum(axis=1)
    in_a_row = np.log(variances).reshape(-1, GROUP).sum(axis=1)
    assert np.ptp(products) < np.ptp(in_a_row) / 5


@pytest.mark.parametrize("name", ["fastscan", "ivf_fastscan", "fastscan_fp16"])
@pytest.mark.parametrize(("rank", "share"), [(20, 0.5), (DIM, 1.0)])
def test_codes_are_of_the_leading_half_where_it_holds_nearly_all(name, rank, share, monkeypatch):
    monkeypatch.setattr(fastscan, "HALVED_FROM", COUNT)
    kind, offsets = INDEXES[name], normal(1, COUNT, 2, 0.1)[0]
    targets = as_source(low_rank(COUNT, 0, rank) if rank < DIM else normal(COUNT, DIM, 0), "targets")
    vectors = AugmentedVectors(targets, offsets, None, kind.precision == "float16")
    index, again = (make_index(kind, vectors, 0, Silent(), DIM) for _ in range(2))
    np.testing.assert_array_equal(faiss.serialize_index(index), faiss.serialize_index(again))
    base = faiss.downcast_index(index.base_index)
    scanned = base.index if isinstance(base, faiss.IndexPreTransform) else base
    assert scanned.d == share * index.d
    queries = augment_queries(normal(40, DIM, 3), 1.0)
    found, _ = kind.search(index, queries, 10, kind.ladder(COUNT)[-1])
    exact, _ = kind.exact(index, queries, 10)
    np.testing.assert_allclose(found, exact, rtol=1e-5)
