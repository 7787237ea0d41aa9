"""Comparing with every vector: what a sorted list says, however the work is divided, and wherever the vectors lie."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import faiss
import numpy as np
import pytest
from support.naive import top_k

from hubless.knn import exhaustive, is_shared, read_index, write_index
from hubless.knn.base import openmp_threads
from hubless.knn.exhaustive import FEWEST, MOST, MOST_SHARED, scan, stored

DIM = 80


@pytest.fixture
def in_small_parts(monkeypatch):
    """Nine parts of the vectors, and in each several products, the last of them smaller."""
    monkeypatch.setattr(exhaustive, "PART_BYTES", 4 * DIM * 350)
    monkeypatch.setattr(exhaustive, "_SMALL", DIM * 500)
    monkeypatch.setattr(exhaustive, "_SCORES", 3000)
    monkeypatch.setattr(exhaustive, "_SCORES_BY_COPY", 1500)


def whole_numbers(rows, seed):
    """Hundreds of vectors score the same, and no way of computing it rounds."""
    return np.random.default_rng(seed).integers(-1, 2, (rows, DIM)).astype(np.float32)


def flat(vectors):
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return index


def elsewhere(index, start):
    """The same index with vectors that begin some bytes after a multiple of 64."""
    room = np.empty(index.ntotal * index.d * 4 + 128, np.uint8)
    first = -room.ctypes.data % 64 + start
    vectors = room[first : first + index.ntotal * index.d * 4].view(np.float32).reshape(index.ntotal, index.d)
    vectors[:] = stored(index)
    return vectors


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("k", [1, 10, 400])
@pytest.mark.parametrize("queries", [1, FEWEST - 1, FEWEST, 9, MOST, MOST + 1, MOST_SHARED + 1])
def test_scores_are_those_of_a_sorted_list(in_small_parts, queries, k, threads):
    vectors, asked = whole_numbers(3001, 0), whole_numbers(queries, 1)
    exact = asked @ vectors.T
    with openmp_threads(threads):
        scores, rows = scan(flat(vectors), asked, k, None)
    np.testing.assert_array_equal(scores, top_k(exact, k)[0])
    np.testing.assert_array_equal(np.take_along_axis(exact, rows, axis=1), scores)
    assert all(len(set(line)) == k for line in rows.tolist())


@pytest.mark.parametrize("queries", [1, 9, MOST])
def test_rows_do_not_depend_on_the_number_of_threads_even_where_scores_are_equal(in_small_parts, queries):
    index, asked = flat(whole_numbers(3001, 0)), whole_numbers(queries, 1)
    found = []
    for threads in (1, 2, 5):
        with openmp_threads(threads):
            found.append(scan(index, asked, 25, None)[1])
    for one, other in pairwise(found):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("queries", [FEWEST, MOST])
@pytest.mark.parametrize("start", [0, 1, 4])
def test_vectors_may_begin_anywhere(in_small_parts, start, queries):
    index, asked = flat(whole_numbers(1001, 0)), whole_numbers(queries, 1)
    scores, rows = exhaustive._by_small_products(elsewhere(index, start), asked, 10)
    expected = exhaustive._by_small_products(stored(index), asked, 10)
    np.testing.assert_array_equal(scores, expected[0])
    np.testing.assert_array_equal(rows, expected[1])


def test_threads_that_compare_at_the_same_time_do_not_disturb_each_other():
    """Nor does the way that OpenBLAS makes small products."""
    generator = np.random.default_rng(0)
    index = flat(generator.standard_normal((20_000, DIM), np.float32))
    asked = generator.standard_normal((64, DIM), np.float32)
    expected = index.search(asked, 5)[1]

    def ask(turn):
        first, count = turn % 31, FEWEST + turn % (MOST - FEWEST + 1)
        with openmp_threads(1 + turn % 2):
            return first, scan(index, asked[first : first + count], 5, None)[1]

    with ThreadPoolExecutor(4) as pool:
        for first, rows in pool.map(ask, range(200)):
            np.testing.assert_array_equal(rows, expected[first : first + len(rows)])


@pytest.mark.parametrize("queries", [1, FEWEST])
def test_products_that_are_not_finite_leave_places_empty(in_small_parts, queries):
    """For whoever asks with such numbers to be told so, instead of given any rows at all."""
    vectors = whole_numbers(3001, 0)
    vectors[:, 0] = 3e38
    rows = scan(flat(vectors), np.full((queries, DIM), -3e38, np.float32), 10, None)[1]
    assert (rows == -1).all()
    vectors[700:705, 0] = 0
    first = -3 * np.eye(1, DIM, dtype=np.float32).repeat(queries, axis=0)
    rows = scan(flat(vectors), first, 10, None)[1]
    assert np.isin(np.arange(700, 705), rows).all()
    assert (rows >= 0).sum() == 5 * queries


def test_error_in_a_part_is_told_and_leaves_nothing_running(monkeypatch, in_small_parts):
    calls = []

    def fail(*arguments):
        calls.append(arguments)
        raise MemoryError("no room")

    monkeypatch.setattr(exhaustive, "_by_faiss", fail)
    index = flat(whole_numbers(3001, 0))
    with openmp_threads(3), pytest.raises(MemoryError, match="no room"):
        scan(index, whole_numbers(1, 1), 10, None)
    monkeypatch.undo()
    assert calls
    assert faiss.omp_get_max_threads() > 0
    assert scan(index, whole_numbers(1, 1), 10, None)[1].shape == (1, 10)


def test_only_large_flat_indexes_are_shared_by_threads(in_small_parts):
    assert is_shared(flat(whole_numbers(351, 0)))
    assert not is_shared(flat(whole_numbers(350, 0)))
    assert not is_shared(faiss.index_factory(DIM, "SQfp16", faiss.METRIC_INNER_PRODUCT))


@pytest.mark.parametrize("dim", [16, 80, 528])
def test_vectors_of_a_written_flat_index_begin_at_a_multiple_of_64(tmp_path, dim):
    index = flat(np.random.default_rng(0).standard_normal((40, dim), np.float32))
    write_index(index, tmp_path / "index")
    content = (tmp_path / "index").read_bytes()
    assert content.index(stored(index).tobytes()) % 64 == 0
    opened = read_index(tmp_path / "index")
    assert stored(opened).flags.aligned
    np.testing.assert_array_equal(stored(opened), stored(index))
    np.testing.assert_array_equal(opened.search(stored(index), 3)[1], index.search(stored(index), 3)[1])


def test_written_flat_index_is_one_that_faiss_alone_searches(tmp_path):
    index = flat(whole_numbers(40, 0))
    write_index(index, tmp_path / "index")
    alone = faiss.read_index(str(tmp_path / "index"))
    np.testing.assert_array_equal(alone.search(whole_numbers(3, 1), 5)[0], index.search(whole_numbers(3, 1), 5)[0])
    np.testing.assert_array_equal(alone.reconstruct_n(0, 40), stored(index))


def test_flat_index_that_faiss_wrote_is_read_too(tmp_path):
    index = flat(whole_numbers(40, 0))
    faiss.write_index(index, str(tmp_path / "index"))
    opened = read_index(tmp_path / "index")
    asked = whole_numbers(FEWEST, 1)
    np.testing.assert_array_equal(scan(opened, asked, 5, None)[0], index.search(asked, 5)[0])
