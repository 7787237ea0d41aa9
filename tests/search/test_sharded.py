import numpy as np
import pytest
from support.problems import normal

from hubless.knn import INDEXES, make_index, openmp_threads, read_index, trained_index, write_index
from hubless.knn.augment import AugmentedVectors, Columns
from hubless.progress import Silent
from hubless.search.engines.sharded import ShardedTargets, embedded
from hubless.search.matches import Matches
from hubless.vectors.arrays import unit_rows
from hubless.vectors.sources import as_source

COUNT, DIM, K = 2000, 16, 10
SIZES = [808, 701, 7, 484]
"""One begins at a multiple of 8, two do not, and one has fewer targets than a query wants."""


@pytest.fixture(scope="module")
def rows():
    return unit_rows(normal(COUNT, DIM, 0), "targets"), normal(COUNT, 1, 1, 0.1).ravel(), normal(12, DIM, 2)


@pytest.fixture(scope="module", params=INDEXES)
def both(request, rows, tmp_path_factory):
    """The targets in one index and in shards, with the cheapest parameters; and queries."""
    kind, path = INDEXES[request.param], tmp_path_factory.mktemp("trained") / "index"
    targets, offsets, queries = rows
    vectors = AugmentedVectors(as_source(targets, "targets"), offsets, None, kind.precision == "float16")
    with openmp_threads(1):
        one = make_index(kind, vectors, 0, Silent(), Columns(DIM, DIM))
        write_index(trained_index(kind, vectors, COUNT, 0, Silent(), Columns(DIM, DIM)), path)
        shards, start = [], 0
        for size in SIZES:
            shards.append(read_index(path, mapped=False))
            shards[-1].add(vectors.take(np.arange(start, start + size)))
            start += size
    how = kind.ladder(COUNT)[0]
    return embedded(kind, [one], DIM, how), embedded(kind, shards, DIM, how), queries


def masks():
    rng = np.random.default_rng(3)
    yield from (rng.random(COUNT) < share for share in (0.5, 0.1, 0.01))
    yield np.arange(COUNT) >= COUNT - 300  # of the last shard only
    yield np.isin(np.arange(COUNT), [0, 807, 808, 1509, 1515, 1516, 1999])


@pytest.mark.parametrize("together", [1, 12])
@pytest.mark.parametrize("strength", [0, 1])
def test_exact_search_finds_what_it_finds_in_one_index(both, together, strength):
    one, several, queries = both
    assert isinstance(several, ShardedTargets)
    for matches in (None, *map(Matches, masks())):
        augmented = one.augmented(queries[:together], strength)
        k = min(K, one.room(matches))
        assert several.room(matches) == one.room(matches)
        scores, rows = one.find(augmented, k, None, matches)
        found, numbers = several.find(augmented, k, None, matches)
        np.testing.assert_array_equal(numbers, rows)
        if together == 1:
            assert found.tobytes() == scores.tobytes()
        np.testing.assert_allclose(found, scores, rtol=0, atol=1e-6)


def test_search_by_the_index_finds_as_many_as_asked_with_their_scores_and_none_twice(both):
    one, several, queries = both
    augmented = one.augmented(queries, 1.0)
    for mask in (np.ones(COUNT, np.bool_), *masks()):
        matches = None if mask.all() else Matches(mask)
        k = min(K, int(mask.sum()))
        scores, rows = several.find(augmented, k, several.defaults, matches)
        assert mask[rows].all()
        assert all(len(set(line)) == k for line in rows.tolist())
        assert (np.diff(scores, axis=1) <= 0).all()
        np.testing.assert_allclose(scores, one.scores(augmented, rows), rtol=0, atol=1e-5)


def test_threads_that_share_the_shards_of_a_query_change_no_answer(both):
    _, several, queries = both
    augmented = several.augmented(queries[:1], 1.0)
    for how in (several.defaults, None):
        for matches in (None, *map(Matches, masks())):
            k = min(K, several.room(matches))
            with openmp_threads(1):
                alone = several.find(augmented, k, how, matches)
            with openmp_threads(3):
                shared = several.find(augmented, k, how, matches)
            for before, after in zip(alone, shared, strict=True):
                np.testing.assert_array_equal(after, before)


def test_vectors_and_scores_of_any_rows_are_those_of_one_index(both):
    one, several, queries = both
    some = np.array([1999, 0, 807, 808, 1508, 1509, 1516, 808])
    np.testing.assert_array_equal(several.vectors(some), one.vectors(some))
    rows = np.random.default_rng(5).integers(0, COUNT, (len(queries), K))
    augmented = one.augmented(queries, 0.5)
    np.testing.assert_allclose(several.scores(augmented, rows), one.scores(augmented, rows), rtol=0, atol=1e-6)


def test_targets_without_a_vector_come_last_and_are_never_found(rows):
    kind, (targets, offsets, queries) = INDEXES["flat"], rows
    vectors = AugmentedVectors(as_source(targets, "targets"), offsets)
    indexes = [make_index(kind, vectors.rows(*bounds), 0, Silent()) for bounds in ((0, 16), (16, 40))]
    several = embedded(kind, indexes, DIM, {}, vectorless=5)
    assert (len(several), several.room(None)) == (45, 40)
    np.testing.assert_array_equal(several.have_vectors(np.array([0, 39, 40, 44])), [True, True, False, False])
    assert not several.vectors(np.array([44, 3]))[0].any()
    matches = Matches(np.arange(45) >= 38)
    assert several.room(matches) == 2
    _, found = several.find(several.augmented(queries, 1.0), 2, {}, matches)
    assert set(found.ravel()) == {38, 39}


@pytest.mark.parametrize("share", [0, 0.01, 0.3, 1])
def test_part_of_matches_is_the_matches_of_a_part(share):
    mask = np.random.default_rng(4).random(1000) < share
    matches = Matches(mask)
    for start, stop in [(0, 1000), (0, 8), (8, 800), (3, 800), (5, 6), (13, 997), (992, 1000), (7, 7), (990, 1000)]:
        part, expected = matches.part(start, stop), np.flatnonzero(mask[start:stop])
        assert (part.total, part.count) == (stop - start, len(expected))
        np.testing.assert_array_equal(part.mask, mask[start:stop])
        np.testing.assert_array_equal(part.rows, expected)
        np.testing.assert_array_equal(part.page(0, 2000), expected)
    assert np.shares_memory(matches.part(8, 800).bits, matches.bits)
