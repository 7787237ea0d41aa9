import numpy as np
from support.problems import normal

import hubless
from hubless.knn.augment import folded_queries, folded_targets, pivot_of, pivoted
from hubless.vectors.sources import as_source


def test_pivot_changes_no_inner_product():
    targets, queries, pivot, offsets = normal(50, 9, 0), normal(20, 9, 1), normal(1, 9, 2)[0], normal(1, 50, 3)[0]
    for strength in (0, 0.3, 1, 2):
        asked = folded_queries(queries, strength)
        turned = pivoted(asked, pivot) @ folded_targets(targets, offsets, pivot).T
        plain = asked @ folded_targets(targets, offsets).T
        np.testing.assert_allclose(turned, plain, rtol=0, atol=2e-5)


def test_offsets_that_follow_the_mean_query_give_it_as_the_pivot_and_others_none():
    targets, bank = as_source(normal(400, 9, 0), "targets"), as_source(normal(60, 9, 1) + 1, "bank")
    mean = bank.array.mean(axis=0)
    for times in (1, 3):
        np.testing.assert_allclose(pivot_of(bank, targets, times * targets.array @ mean), mean, rtol=1e-4)
    np.testing.assert_array_equal(pivot_of(bank, targets, -targets.array @ mean), 0 * mean)


def test_pivot_lets_fast_scan_find_more_of_the_corrected_best(tmp_path):
    cone = 3 * normal(1, 128, 9)
    targets = normal(2000, 128, 0, 0.5) + 0.15 * normal(2000, 16, 7) @ normal(16, 128, 5) + cone
    bank = targets[:400] + normal(400, 128, 1, 0.25) + 0.3 * cone
    recall = {}
    for correction in ("none", "csls"):
        manifest = hubless.build(tmp_path, correction, targets, bank, index="fastscan", correction=correction)
        opened = hubless.open(tmp_path, correction)
        found, exact = (opened.query(bank, 10, parameters=how).scores for how in ({"k_factor": 4}, {"exact": True}))
        recall[correction] = np.mean(found >= exact[:, -1:] - 1e-4)
        assert (f"segments/{manifest.version}/pivot.npy" in manifest.files) == (correction != "none")
    assert recall["csls"] > 0.7  # .58 without a pivot
