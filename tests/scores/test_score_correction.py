"""Corrections of lists of scores: what they bring, what does not change them, how they are kept."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.score_logs import as_lists, hubby_log

import hubless
from hubless.errors import InputError, StorageError


@pytest.fixture(scope="module")
def log():
    ids, scores, _ = hubby_log()
    return ids, scores


@pytest.fixture(scope="module")
def fitted(log):
    return hubless.ScoreCorrection.fit(as_lists(*log))


def right_first(correction, seed):
    ids, scores, right = hubby_log(seed=seed)
    lists = zip(ids.tolist(), scores.tolist(), right.tolist(), strict=True)
    found = [(some[0] == item, correction.rerank(some, values).ids[0] == item) for some, values, item in lists]
    return np.mean(found, axis=0)


def test_hubs_get_the_largest_offsets_and_right_items_come_first_more_often(fitted):
    assert set(sorted(fitted.offsets, key=fitted.offsets.get)[-6:]) == set(range(6))
    raw, corrected = right_first(fitted, 1)
    assert raw < 0.6
    assert corrected > raw + 0.08


def test_offsets_are_centred_and_say_how_they_came_about(fitted):
    assert sum(fitted.offsets.values()) == pytest.approx(0, abs=1e-9)
    assert fitted.details["lists"] == fitted.details["distinct"] == 400
    assert fitted.details["perplexity"] == pytest.approx(40, rel=0.01)
    assert fitted.details["shrinkage"] == pytest.approx(400 / 500)


@pytest.mark.parametrize(("scale", "zero"), [(1000.0, 0.0), (1e-4, 0.0), (1.0, 50.0)])
def test_unit_and_zero_of_the_scores_do_not_matter(log, fitted, scale, zero):
    ids, scores = log
    zeros = zero * np.random.default_rng(0).random((len(ids), 1))
    moved = hubless.ScoreCorrection.fit(as_lists(ids, scale * scores + zeros))
    for each, h in fitted.offsets.items():
        assert moved.offsets[each] == pytest.approx(scale * h, abs=scale * 1e-4)


def test_distances_give_the_offsets_of_their_negatives_and_the_same_order(log, fitted):
    ids, scores = log
    by_distance = hubless.ScoreCorrection.fit(as_lists(ids, 9 - scores), distance=True)
    assert by_distance.offsets == pytest.approx(fitted.offsets, abs=1e-5)
    a, b = fitted.rerank(ids[0], scores[0]), by_distance.rerank(ids[0], 9 - scores[0])
    assert a.ids == b.ids
    np.testing.assert_allclose(9 - np.array(b.scores), a.scores, atol=1e-5)


def test_copies_of_a_list_count_once(log, fitted):
    ids, scores = log
    again = np.concatenate([np.arange(400), np.tile(np.arange(30), 9)])
    repeated = hubless.ScoreCorrection.fit(as_lists(ids[again], scores[again]))
    assert repeated.details["lists"] == 670
    assert repeated.details["distinct"] == 400
    assert repeated.offsets == pytest.approx(fitted.offsets, abs=1e-9)


def test_a_head_of_the_log_keeps_its_first_item(log, fitted):
    ids, scores = log
    lost = [row for row in range(400) if fitted.rerank(ids[row], scores[row]).ids[0] != ids[row, 0]]
    again = np.concatenate([np.arange(400), np.full(60, lost[0])])
    asked = hubless.ScoreCorrection.fit(as_lists(ids[again], scores[again]))
    assert asked.details["heads"] == 1
    assert asked.rerank(ids[lost[0]], scores[lost[0]]).ids[0] == ids[lost[0], 0]


def test_a_log_without_hubs_is_left_alone():
    ids, scores, _ = hubby_log(hubs=0)
    even = hubless.ScoreCorrection.fit(as_lists(ids, scores))
    assert even.details["shrinkage"] == 0
    assert set(even.offsets.values()) == {0.0}


def test_lists_that_want_one_item_count_as_one():
    """Five queries want each of 120 items, and find what lies around it: popular is not hubby."""
    rng = np.random.default_rng(5)
    wanted = np.repeat(np.arange(120), 5)
    near = rng.normal(0, 0.5, (120, 600))
    matrix = near[wanted] + rng.normal(0, 0.05, (600, 600))
    matrix[np.arange(600), wanted] += 1.5
    ids = np.argsort(-matrix, axis=1)[:, :20]
    crowded = hubless.ScoreCorrection.fit(as_lists(ids, np.take_along_axis(matrix, ids, 1)))
    assert crowded.details["crowding"] > 2
    assert crowded.details["counted_as"] == pytest.approx(120, rel=0.1)


def test_an_unknown_item_gets_the_smallest_offset(fitted):
    found = fitted.rerank([10**9, 0], [1.0, 1.0])
    assert found.ids == [10**9, 0]
    assert found.offsets[0] == min(fitted.offsets.values()) == fitted.smallest
    assert found.unknown == 1


def test_a_search_none_of_whose_items_is_known_is_warned_of_once(log, caplog):
    fitted = hubless.ScoreCorrection.fit(as_lists(*log))
    assert fitted.rerank([], []).unknown == fitted.rerank([0], [1.0]).unknown == 0
    assert not caplog.messages
    assert [fitted.rerank([10**9], [1.0]).unknown for _ in range(3)] == [1, 1, 1]
    (said,) = caplog.messages
    assert said.startswith("scores: no hit of a list is one of the 300 items of the log, such as ")


@pytest.mark.parametrize("same", [np.array, pa.array, tuple, lambda ids: [float(each) for each in ids]])
def test_ids_of_other_programs_are_found(log, fitted, same):
    ids, scores = (each[0].tolist() for each in log)
    assert fitted.rerank(same(ids), scores)[:3] == fitted.rerank(ids, scores)[:3]


def test_rerank_subtracts_offsets_and_keeps_ties(fitted):
    found = fitted.rerank([0, 50], [1.0, 0.9])
    assert found.scores == [s - h for s, h in zip([0.9, 1.0], found.offsets, strict=True)]
    assert found.ids == [50, 0]
    assert fitted.rerank([0, 50], [1.0, 0.9], strength=0).ids == [0, 50]
    assert fitted.rerank([7, 8, 9], [1.0, 1.0, 1.0], strength=0).ids == [7, 8, 9]
    assert fitted.rerank([], []).ids == []
    assert len(fitted.rerank([7, 8, 9], [1.0, 2.0, 3.0], limit=2).ids) == 2


def test_a_saved_correction_is_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "log.parquet")
    again = hubless.ScoreCorrection.load(tmp_path / "log.parquet")
    assert again.offsets == fitted.offsets
    assert again.details == fitted.details
    assert not again.distance
    assert pq.read_table(tmp_path / "log.parquet").column_names == ["id", "offset"]


def test_other_files_are_no_correction(tmp_path):
    pq.write_table(pa.table({"id": [1], "offset": [0.5]}), tmp_path / "plain.parquet")
    (tmp_path / "text.parquet").write_text("id")
    for name in ("plain", "text"):
        with pytest.raises(InputError, match=rf"scores \({name}.parquet\): expected a file that hubless log wrote"):
            hubless.ScoreCorrection.load(tmp_path / f"{name}.parquet")
    with pytest.raises(StorageError, match="there is no such file"):
        hubless.ScoreCorrection.load(tmp_path / "none.parquet")


def test_one_list_or_equal_scores_give_no_offsets():
    assert set(hubless.ScoreCorrection.fit([([1, 2], [0.5, 0.25])]).offsets.values()) == {0.0}
    flat = hubless.ScoreCorrection.fit([(["a", "b"], [1.0, 1.0]), (["b", "c"], [1.0, 1.0])])
    assert set(flat.offsets.values()) == {0.0}


def calibrated(fitted, queries=1000):
    ids, scores, right = hubby_log(queries=queries, seed=2)
    return fitted.calibrate(as_lists(ids, scores), right.tolist())


def test_confidence_tells_right_answers_from_wrong_ones(fitted):
    ids, scores, right = hubby_log(seed=3)
    sure = np.array([fitted.confidence(some, values) for some, values in zip(ids, scores, strict=True)])
    first = [fitted.rerank(some, values).ids[0] for some, values in zip(ids, scores, strict=True)]
    is_right = np.array(first) == right
    assert np.mean(sure[is_right][:, np.newaxis] > sure[~is_right]) > 0.75
    assert fitted.confidence([], []) == 0


def test_accept_keeps_its_promise_on_other_queries(fitted):
    cut = calibrated(fitted)
    ids, scores, right = hubby_log(seed=4)
    lists = list(zip(ids.tolist(), scores.tolist(), right.tolist(), strict=True))
    answered = [(some, values, item) for some, values, item in lists if cut.accept(some, values, 0.8)]
    assert 20 < len(answered) < len(lists)
    assert np.mean([cut.rerank(some, values).ids[0] == item for some, values, item in answered]) >= 0.8


def test_confidence_is_kept_and_does_not_depend_on_the_sign(fitted, log, tmp_path):
    cut = calibrated(fitted)
    cut.save(tmp_path / "log.parquet")
    again = hubless.ScoreCorrection.load(tmp_path / "log.parquet")
    ids, scores = log
    assert again.confidence(ids[0], scores[0]) == cut.confidence(ids[0], scores[0])
    assert again.accept(ids[0], scores[0], 0.8) == cut.accept(ids[0], scores[0], 0.8)
    by_distance = hubless.ScoreCorrection.fit(as_lists(ids, 9 - scores), distance=True)
    assert by_distance.confidence(ids[0], 9 - scores[0]) == pytest.approx(fitted.confidence(ids[0], scores[0]))


def test_accept_says_what_it_lacks(fitted):
    with pytest.raises(InputError, match="confidence is not calibrated"):
        fitted.accept([0], [1.0])
    few = hubless.ScoreCorrection.fit([([1, 2], [0.5, 0.25])])
    with pytest.raises(InputError, match="a log of at least 20 lists with two hits or more"):
        few.confidence([1], [1.0])
