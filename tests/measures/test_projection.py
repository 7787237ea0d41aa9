import numpy as np
import pytest

from hubless.measures.projection import HUBS, MAPPED, mapped_rows, project


def cloud(count=400, dim=20, seed=0):
    """Rows that spread by 9 and 4 in two directions, and by 1 in the others."""
    rng = np.random.default_rng(seed)
    axes, _ = np.linalg.qr(rng.normal(size=(dim, dim)))
    spread = np.array([9, 4, *[1] * (dim - 2)])
    return (rng.normal(size=(count, dim)) * spread @ axes.T + 3).astype(np.float32), axes[:, :2]


def drawn(rows, queries=None):
    return project(len(rows), lambda wanted: rows[wanted], queries)


def test_axes_are_the_principal_components():
    rows, _ = cloud()
    centred = (rows - rows.mean(axis=0)).astype(np.float64)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    found = drawn(rows)
    for axis in range(2):
        exact = centred @ axes[axis]
        assert abs(np.corrcoef(found.targets[:, axis], exact)[0, 1]) > 0.9999
    assert found.explained == pytest.approx((sizes**2 / (sizes**2).sum())[:2], rel=1e-3)


def test_queries_are_drawn_without_the_gap_between_the_means():
    rows, axes = cloud()
    shifted = rows[:50] + 100 * axes[:, 0].astype(np.float32)
    alone, moved = drawn(rows, rows[:50]), drawn(rows, shifted)
    assert moved.queries == pytest.approx(alone.queries, abs=1e-2)
    assert abs(moved.queries.mean(axis=0)) == pytest.approx(0, abs=1e-2)


def test_same_rows_give_the_same_picture_and_few_dimensions_do():
    rows, _ = cloud()
    assert np.array_equal(drawn(rows).targets, drawn(rows).targets)
    for dim in (1, 2, 3):
        found = drawn(rows[:7, :dim])
        assert found.targets.shape == (7, 2)
        assert np.isfinite(found.targets).all()


def test_sample_holds_the_hubs_of_both_rankings_and_each_row_once():
    count = 3 * MAPPED
    occurrence = np.zeros((2, count), np.uint16)
    occurrence[0, 100 : 100 + HUBS] = 7
    occurrence[1, 9000 : 9000 + HUBS] = 5
    rows = mapped_rows(count, occurrence)
    assert len(rows) == len(np.unique(rows)) == MAPPED
    assert set(range(100, 100 + HUBS)) | set(range(9000, 9000 + HUBS)) <= set(rows.tolist())
    assert len(mapped_rows(count, None)) == MAPPED
    assert mapped_rows(10, None).tolist() == list(range(10))
