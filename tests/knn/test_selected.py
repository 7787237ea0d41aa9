from dataclasses import dataclass, field

import numpy as np
import pytest
from support.naive import top_k

from hubless.knn import INDEXES
from hubless.knn.base import IndexType
from hubless.knn.exhaustive import openmp_threads
from hubless.knn.index_files import make_index
from hubless.knn.selected import search_rows, search_selected
from hubless.search.bitmap import Bitmap
from hubless.vectors.sources import as_source

COUNT, DIM, QUERIES = 6000, 16, 20


@dataclass
class Watched:
    """A kind of index that counts the queries that were compared with all rows, and those with selected ones.

    Its search with parameters finds rows 0 to 4 for every other query only.
    """

    kind: IndexType
    queries: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})

    @property
    def precision(self):
        return self.kind.precision

    def exact(self, index, queries, k, selector=None):
        self.queries[selector is None] += len(queries)
        return self.kind.exact(index, queries, k, selector)

    def narrowed(self, how, selected, count):
        return how

    def search(self, index, queries, k, how, selector):
        scores, rows = np.zeros((len(queries), k), np.float32), np.tile(np.arange(k), (len(queries), 1))
        rows[1::2, -1] = -1
        return scores, rows


@pytest.fixture(scope="module")
def rows():
    # few whole numbers: hundreds of targets score the same, and no way of computing it rounds
    return np.random.default_rng(0).integers(-1, 2, (COUNT + QUERIES, DIM)).astype(np.float32)


@pytest.fixture(scope="module", params=["flat", "flat_fp16", "ivf", "fastscan", "hnsw"])
def made(request, rows):
    kind = INDEXES[request.param]
    with openmp_threads(1):
        return kind, make_index(kind, as_source(rows[:COUNT], "targets"), 0)


@pytest.mark.parametrize("together", [1, QUERIES])
@pytest.mark.parametrize("k", [1, 10, 700])
@pytest.mark.parametrize("share", [1, 0.9, 0.45, 0.3, 0.1, 0.01, 0.0005])
def test_hits_score_as_in_a_sorted_list_of_the_selected(made, rows, share, k, together):
    kind, index = made
    mask = np.arange(COUNT) == 17
    mask |= np.random.default_rng(1).random(COUNT) < share
    selected = Bitmap(mask)
    queries = rows[COUNT : COUNT + together]
    exact = queries @ rows[:COUNT].T
    scores, found = search_selected(kind, index, queries, k, selected)
    there = min(k, selected.count)
    expected, _ = top_k(exact[:, mask], there)
    np.testing.assert_array_equal(scores[:, :there], expected)
    np.testing.assert_array_equal(np.take_along_axis(exact, found[:, :there], axis=1), expected)
    assert mask[found[:, :there]].all()
    assert all(len(set(line)) == there for line in found[:, :there].tolist())
    assert (found[:, there:] == -1).all()


def test_selected_row_whose_product_leaves_float32_leaves_a_place_empty():
    vectors = np.zeros((3, DIM), np.float32)
    vectors[:, 0] = [1, -9, 2]
    index = make_index(INDEXES["flat"], as_source(vectors, "targets"), 0)
    _, found = search_rows(index, np.full((1, DIM), 1e38, np.float32), 3, np.arange(3))
    assert found.tolist() == [[2, 0, -1]]


def test_matches_that_lie_far_are_found_and_the_detour_is_not_taken_a_third_time(rows):
    kind = INDEXES["flat"]
    index = make_index(kind, as_source(rows[:COUNT], "targets"), 0)
    query = rows[COUNT : COUNT + 1]
    scores = (query @ rows[:COUNT].T)[0]
    mask = np.zeros(COUNT, np.bool_)
    mask[np.argsort(scores)[: COUNT // 2]] = True
    selected, watched = Bitmap(mask), Watched(kind)
    for turn in (1, 2, 3, 4):
        found, _ = search_selected(watched, index, query, 10, selected)
        np.testing.assert_array_equal(found[0], np.sort(scores[mask])[::-1][:10])
        assert watched.queries == {True: min(turn, 2), False: turn}


def test_only_queries_that_a_walk_finds_too_little_for_are_compared_with_all_selected(rows):
    kind = INDEXES["flat"]
    index = make_index(kind, as_source(rows[:COUNT], "targets"), 0)
    queries = rows[COUNT:]
    mask = np.arange(COUNT) % 2 == 0
    selected, watched = Bitmap(mask), Watched(kind)
    scores, found = search_selected(watched, index, queries, 5, selected, {"ef": 1})
    assert (found[::2] == np.arange(5)).all()
    assert mask[found[1::2]].all()
    np.testing.assert_array_equal(scores[1::2], top_k((queries @ rows[:COUNT].T)[1::2, mask], 5)[0])
    assert (watched.queries, selected.tried) == ({True: 0, False: QUERIES // 2}, 0)
