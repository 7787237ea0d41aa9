"""Fusion of lists, by hand."""

from uuid import UUID

import numpy as np
import pytest
from support.score_logs import as_lists, hubby_log

import hubless

WORDS = (["a", "b", "c"], [9.0, 5.0, 1.0])
VECTORS = (["c", "a", "d"], [0.1, 0.2, 0.5])  # distances


def test_min_max_is_the_weighted_sum_of_shares():
    found = hubless.fuse([WORDS, VECTORS], weights=[1, 2])
    assert found.ids == ["a", "c", "b", "d"]
    np.testing.assert_allclose(found.scores, [1 + 2 * 0.75, 2, 0.5, 0])
    np.testing.assert_allclose(found.parts, [[1, 1.5], [0, 2], [0.5, 0], [0, 0]])


def test_z_counts_standard_deviations_above_the_last():
    found = hubless.fuse([WORDS, VECTORS], by="z", limit=2)
    deviation = np.std([9, 5, 1]), np.std([0.1, 0.2, 0.5])
    assert found.ids == ["a", "c"]
    np.testing.assert_allclose(found.scores, [8 / deviation[0] + 0.3 / deviation[1], 0.4 / deviation[1]])


def test_reciprocal_ranks_take_places_only():
    found = hubless.fuse([WORDS, VECTORS], by="rrf")
    assert found.ids[0] == "a"
    np.testing.assert_allclose(found.scores[:2], [1 / 61 + 1 / 62, 1 / 63 + 1 / 61])


@pytest.mark.parametrize("by", ["min_max", "z"])
def test_empty_lists_add_nothing_and_equal_scores_one_each(by):
    assert hubless.fuse([([], []), (["a", "b"], [1.0, 1.0])], by=by).scores == [1.0, 1.0]
    assert hubless.fuse([(["a", "b"], [2.0, 1.0]), (["c"], [0.1])], weights=[1, 3], by=by).ids[0] == "c"
    assert hubless.fuse([]).ids == []


def test_an_item_is_the_same_in_each_list_whatever_type_of_number_or_text_its_id_has():
    text = "6fa459ea-ee8a-3ca4-894e-db77e160355e"
    for same in ([7, np.int64(7), 7.0], [text, UUID(text), np.str_(text), text.encode()]):
        found = hubless.fuse([([each], [1.0]) for each in same])
        assert (found.ids, found.scores) == ([same[0]], [float(len(same))])


def test_correcting_each_list_before_the_fusion_puts_more_right_items_first():
    seen = [hubby_log(seed=seed) for seed in (0, 7)]
    fitted = [hubless.ScoreCorrection.fit(as_lists(ids, scores)) for ids, scores, _ in seen]
    rng = np.random.default_rng(3)
    right = rng.integers(0, 300, 300)
    hits = []
    for noise in range(2):
        matrix = np.random.default_rng(10 + noise).normal(0, 0.5, (300, 300))
        matrix[:, :6] += 1.2
        matrix[np.arange(300), right] += 1.5
        hits.append(np.argsort(-matrix, axis=1)[:, :20])
        hits[-1] = hits[-1], np.take_along_axis(matrix, hits[-1], axis=1)
    found = []
    for row, item in enumerate(right):
        lists = [(ids[row].tolist(), scores[row].tolist()) for ids, scores in hits]
        corrected = [each.rerank(*some) for each, some in zip(fitted, lists, strict=True)]
        found.append([hubless.fuse(each).ids[0] == item for each in (lists, corrected)])
    raw, after = np.mean(found, axis=0)
    assert after > raw + 0.05
