import numpy as np
import pytest
from support.hubs import unit
from support.problems import normal, with_hubs

import hubless
from hubless.errors import InputError
from hubless.measures.labelled_pairs import hold_out_pairs
from hubless.measures.repeats import distinct_rows, without_copies
from hubless.vectors.sources import ArrayVectors, in_memory

ROWS = unit(normal(50, 24, 1))
DRAWN = np.random.default_rng(2).integers(50, size=300)
LOG = ROWS[DRAWN] + 1e-7 * normal(300, 24, 3)


@pytest.mark.parametrize("dim", [3, 24, 768])
@pytest.mark.parametrize("metric", ["cosine", "dot"])
def test_rows_that_differ_in_their_last_digits_are_one_and_in_their_length_only_under_cosine(dim, metric):
    lengths = 10 ** np.random.default_rng(4).uniform(-3, 3, (50, 1)).astype(np.float32)
    rows = unit(normal(50, dim, 1))
    rows[1::2] = rows[::2]
    rows = np.sort(lengths, axis=0) * rows
    same = DRAWN // 2 if metric == "cosine" else DRAWN
    log = (rows[DRAWN] * (1 + 1e-6 * normal(300, dim, 3))).astype(np.float32)
    kept, places = distinct_rows(ArrayVectors(log, "log"), metric)
    assert sorted(same[kept]) == sorted(set(same.tolist()))
    assert same[kept][places].tolist() == same.tolist()
    shuffled = np.random.default_rng(5).permutation(300)
    again, places_again = distinct_rows(ArrayVectors(log[shuffled], "log"), metric)
    assert shuffled[again].tolist() == kept.tolist()
    assert places_again.tolist() == places[shuffled].tolist()


@pytest.mark.parametrize("cosine", [0.99, 0.9999])
def test_rows_that_are_only_alike_are_two(cosine):
    other = unit(normal(50, 24, 5))
    other -= np.sum(other * ROWS, axis=1, keepdims=True) * ROWS
    near = cosine * ROWS + np.sqrt(1 - cosine**2) * unit(other)
    assert len(distinct_rows(ArrayVectors(np.concatenate([ROWS, near]).astype(np.float32), "rows"))[0]) == 100


def test_bank_without_copies_has_all_its_rows_and_rows_of_zeros_are_one():
    once = without_copies(ArrayVectors(ROWS, "bank"))
    assert sorted(once.rows) == list(range(50))
    assert once.copies.tolist() == [1] * 50
    assert len(distinct_rows(ArrayVectors(np.zeros((4, 3), np.float32), "zeros"))[0]) == 1


@pytest.mark.parametrize("fitted", [False, True])
def test_pairs_are_of_different_queries_with_the_right_targets_of_all_copies(fitted):
    rows = np.concatenate([ROWS, unit(normal(150, 24, 7))])
    drawn = np.concatenate([np.arange(200), DRAWN])
    labels = [np.array([row]) for row in range(500)]
    log = ArrayVectors((rows[drawn] + 1e-7 * normal(500, 24, 3)).astype(np.float32), "log")
    bank, pairs = hold_out_pairs(log, labels, fitted, 0)
    assert len(pairs.queries) == (40 if fitted else 200)
    found = np.argmax(pairs.queries @ rows.T, axis=1)
    for row, relevant in zip(found, pairs.relevant, strict=True):
        assert relevant.tolist() == np.flatnonzero(drawn == row).tolist()
    left = drawn[~np.isin(drawn, found)] if fitted else drawn
    assert np.argmax(in_memory(bank) @ rows.T, axis=1).tolist() == left.tolist()


def test_labels_of_copies_of_few_queries_are_too_few():
    log, labels = ArrayVectors(np.repeat(ROWS[:19], 9, axis=0), "log"), [np.array([1])] * 171
    with pytest.raises(InputError, match=r"^relevant: expected right targets for at least 20 different queries.* 19$"):
        hold_out_pairs(log, labels, True, 0)


@pytest.mark.parametrize("correction", ["auto", "csls"])
def test_version_of_a_log_is_that_of_each_query_once_and_says_so(tmp_path, correction):
    problem = with_hubs(targets=300, bank=120, dim=24)
    drawn = np.concatenate([np.arange(120), np.random.default_rng(6).integers(120, size=400)])
    options = {"correction": correction, "progress": False, "metric": "dot"}
    log = hubless.build(tmp_path, "log", problem.targets, problem.bank[drawn], **options)
    hubless.build(tmp_path, "once", problem.targets, problem.bank, **options)
    offsets = [hubless.open(tmp_path, name).offsets for name in ("log", "once")]
    np.testing.assert_allclose(offsets[0], offsets[1], atol=1e-6)
    assert (log.bank.queries, log.bank.repeated) == (520, round(400 / 520, 4))
    assert any("is a log: 77 % repeat" in note for note in log.notes)


@pytest.mark.parametrize("correction", ["auto", "sn", "is", "csls", "nnn"])
def test_offsets_of_a_log_are_those_of_each_query_once(correction):
    problem = with_hubs(targets=200, bank=60)
    log = np.repeat(problem.bank, np.random.default_rng(3).integers(1, 9, size=60), axis=0)
    log = (log + 1e-7 * np.random.default_rng(4).normal(size=log.shape)).astype(np.float32)  # encoded in other batches
    banks = (problem.bank, log)
    once, often = (hubless.offsets(problem.targets, bank, metric="dot", correction=correction) for bank in banks)
    np.testing.assert_allclose(often, once, atol=1e-5)


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
def test_build_of_a_shuffled_bank_with_labels_has_the_same_offsets(tmp_path, metric):
    problem = with_hubs(targets=300, bank=120, dim=24)
    bank = np.concatenate([problem.bank, 2 * problem.bank[:60], problem.bank[:30]])
    right = (bank @ problem.targets.T).argmax(axis=1).tolist()
    offsets = []
    for rows in (np.arange(210), np.random.default_rng(5).permutation(210)):
        options = {"metric": metric, "relevant": [right[row] for row in rows], "index": "flat", "progress": False}
        hubless.build(tmp_path, "log", problem.targets, bank[rows], **options)
        offsets.append(hubless.open(tmp_path, "log").offsets)
    np.testing.assert_array_equal(*offsets)
