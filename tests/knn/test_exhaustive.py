import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import faiss
import numpy as np
import pytest
from support.naive import top_k

from hubless.knn import exhaustive
from hubless.knn.exhaustive import MOST_IN_SMALL, PRODUCTS_FROM, openmp_threads, search_all, stored
from hubless.knn.index_files import read_index, write_index

DIM = 80


@pytest.fixture
def in_small_parts(monkeypatch):
    """Nine parts of the vectors, and in each several products, the last of them smaller."""
    monkeypatch.setattr(exhaustive, "PART_BYTES", 4 * DIM * 350)
    monkeypatch.setattr(exhaustive, "SMALL_PRODUCT", DIM * 900)
    monkeypatch.setattr(exhaustive, "SCORES", 1000)
    monkeypatch.setattr(exhaustive, "PANEL_BYTES", 4 * DIM * 90)
    monkeypatch.setattr(exhaustive, "MOST_FOUND", 30_000)


def whole_numbers(rows, seed):
    """Hundreds of vectors score the same, and no way of computing it rounds."""
    return np.random.default_rng(seed).integers(-1, 2, (rows, DIM)).astype(np.float32)


def flat(vectors):
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return index


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("k", [1, 10, 400])
@pytest.mark.parametrize("queries", [1, PRODUCTS_FROM - 1, PRODUCTS_FROM, 33, MOST_IN_SMALL, MOST_IN_SMALL + 1, 257])
def test_scores_are_those_of_a_sorted_list(in_small_parts, queries, k, threads):
    vectors, asked = whole_numbers(3001, 0), whole_numbers(queries, 1)
    exact = asked @ vectors.T
    with openmp_threads(threads):
        scores, rows = search_all(flat(vectors), asked, k, None)
    np.testing.assert_array_equal(scores, top_k(exact, k)[0])
    np.testing.assert_array_equal(np.take_along_axis(exact, rows, axis=1), scores)
    assert all(len(set(line)) == k for line in rows.tolist())


def test_threads_that_compare_at_the_same_time_do_not_disturb_each_other():
    generator = np.random.default_rng(0)
    index = flat(generator.standard_normal((20_000, DIM), np.float32))
    asked = generator.standard_normal((64, DIM), np.float32)
    expected = index.search(asked, 5)[1]

    def ask(turn):
        first, count = turn % 31, 1 + turn % 33
        with openmp_threads(1 + turn % 2):
            return first, search_all(index, asked[first : first + count], 5, None)[1]

    with ThreadPoolExecutor(4) as pool:
        for first, rows in pool.map(ask, range(200)):
            np.testing.assert_array_equal(rows, expected[first : first + len(rows)])


@pytest.mark.parametrize("queries", [1, PRODUCTS_FROM, MOST_IN_SMALL + 1])
def test_products_that_are_not_finite_leave_places_empty(in_small_parts, queries):
    """For whoever asks with such numbers to be told so, instead of given any rows at all."""
    vectors = whole_numbers(3001, 0)
    vectors[:, 0] = 3e38
    rows = search_all(flat(vectors), np.full((queries, DIM), -3e38, np.float32), 10, None)[1]
    assert (rows == -1).all()
    vectors[700:705, 0] = 0
    first = -3 * np.eye(1, DIM, dtype=np.float32).repeat(queries, axis=0)
    rows = search_all(flat(vectors), first, 10, None)[1]
    assert np.isin(np.arange(700, 705), rows).all()
    assert (rows >= 0).sum() == 5 * queries


def test_error_in_a_part_is_told_and_leaves_nothing_running(monkeypatch, in_small_parts):
    calls = []

    def fail(*arguments):
        calls.append(arguments)
        raise MemoryError("no room")

    monkeypatch.setattr(faiss, "knn", fail)
    index = flat(whole_numbers(3001, 0))
    with openmp_threads(3), pytest.raises(MemoryError, match="no room"):
        search_all(index, whole_numbers(1, 1), 10, None)
    monkeypatch.undo()
    assert calls
    assert faiss.omp_get_max_threads() > 0
    assert search_all(index, whole_numbers(1, 1), 10, None)[1].shape == (1, 10)


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


SETTINGS = """
import sys
import faiss
import numpy as np
from threadpoolctl import threadpool_info

def threads():
    return {each["filepath"]: each["num_threads"] for each in threadpool_info()}

known = threads()

def settings():
    of_known = {path: count for path, count in threads().items() if path in known}
    return faiss.cvar.distance_compute_blas_threshold, faiss.omp_get_max_threads(), of_known

before = settings()
import hubless
after_import = settings()
rows, bank = np.random.default_rng(0).normal(size=(2, 300, 16)).astype(np.float32)
hubless.build(sys.argv[1], "c", rows, bank, index="flat")
hubless.open(sys.argv[1], "c").query(bank[:40])
print(len(known) > 1, before == after_import == settings())
"""


def test_import_build_and_query_leave_the_settings_of_faiss_and_blas_as_they_were(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SETTINGS, str(tmp_path)], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == "True True\n"
