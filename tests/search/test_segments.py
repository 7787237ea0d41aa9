"""Targets in several segments: what they answer is what they answer in one, and what plain NumPy says."""

import weakref
from dataclasses import dataclass

import faiss
import numpy as np
import pyarrow as pa
import pytest
from support.problems import normal
from support.segments import chosen

from hubless.builder.indexing import in_segments
from hubless.filters import parse_filter
from hubless.knn import INDEXES
from hubless.knn.augment import AugmentedVectors, Columns, folded_queries
from hubless.knn.exhaustive import openmp_threads
from hubless.knn.index_files import make_index, training_sample
from hubless.search.canaries import stored_scores
from hubless.search.engines.embedded import FaissIndex
from hubless.search.segments.memory import NewTargets
from hubless.search.segments.segment import NO_ROWS, Segment
from hubless.search.segments.targets import Targets
from hubless.vectors.arrays import unit_rows
from hubless.vectors.ids import IdTable
from hubless.vectors.payload import Payload
from hubless.vectors.sources import as_source

COUNT, DIM, K = 2000, 16, 10
SIZES = [808, 701, 7, 484]
"""One begins at a multiple of 8, two do not, and one has fewer targets than a query wants."""
GONE = np.array([0, 5, 807, 808, *range(1509, 1516), 1600, 1999])
HALF = GONE[::2]
"""Among them all of the third segment."""


@pytest.fixture(scope="module")
def rows():
    return unit_rows(normal(COUNT, DIM, 0), "targets"), normal(COUNT, 1, 1, 0.1).ravel(), normal(12, DIM, 2)


@pytest.fixture(scope="module", params=INDEXES)
def built(request, rows):
    """The targets in one index and in several, with the cheapest parameters; and queries."""
    kind = INDEXES[request.param]
    targets, offsets, queries = rows
    vectors = AugmentedVectors(as_source(targets, "targets"), offsets, None, kind.precision == "float16")
    with openmp_threads(1):
        one = make_index(kind, vectors, 0, Columns(DIM, DIM))
        trained = kind.new(COUNT, vectors.shape[1], training_sample([kind], vectors, COUNT, 0, Columns(DIM, DIM)))
        parts, start = [], 0
        for size in SIZES:
            parts.append(faiss.clone_index(trained))
            parts[-1].add(vectors.take(np.arange(start, start + size)))
            start += size
    how = kind.ladder(COUNT)[0]
    made = [[FaissIndex(kind, index, DIM, how) for index in indexes] for indexes in ([one], parts)]
    return *(in_segments(each, offsets) for each in made), queries


@pytest.fixture(params=["all there", "some gone"])
def both(request, built):
    one, several, queries = built
    if request.param == "all there":
        return one, several, queries
    # the second half by their numbers once the first is gone
    return one.without(GONE), several.without(HALF).without(GONE[1::2] - np.searchsorted(HALF, GONE[1::2])), queries


def masks(count):
    rng = np.random.default_rng(3)
    yield from (rng.random(count) < share for share in (0.5, 0.1, 0.01))
    yield np.arange(count) >= count - 300  # of the last segment only
    yield np.isin(np.arange(count), [0, 807, 808, 1509, 1515, 1516, count - 1])


def matches_of(targets):
    return [None, *(chosen(targets, mask) for mask in masks(len(targets)))]


@pytest.mark.parametrize("together", [1, 12])
@pytest.mark.parametrize("strength", [0, 1])
def test_exact_search_finds_what_it_finds_in_one_index(both, together, strength):
    one, several, queries = both
    assert (len(one.stored), len(several.stored), len(one)) == (1, len(SIZES), len(several))
    for alone, matches in zip(matches_of(one), matches_of(several), strict=True):
        augmented = folded_queries(queries[:together], strength)
        k = min(K, one.room(alone))
        assert several.room(matches) == one.room(alone)
        scores, rows = one.find(augmented, k, None, alone)
        found, numbers = several.find(augmented, k, None, matches)
        np.testing.assert_array_equal(numbers, rows)
        if together == 1:
            assert found.tobytes() == scores.tobytes()
        np.testing.assert_allclose(found, scores, rtol=0, atol=1e-6)


def test_search_by_the_index_finds_as_many_as_asked_with_their_scores_and_none_twice(both):
    one, several, queries = both
    augmented = folded_queries(queries, 1.0)
    for mask in (np.ones(len(one), np.bool_), *masks(len(one))):
        matches = None if mask.all() else chosen(several, mask)
        k = min(K, int(mask.sum()))
        scores, rows = several.find(augmented, k, several.defaults, matches)
        assert mask[rows].all()
        assert all(len(set(line)) == k for line in rows.tolist())
        assert (np.diff(scores, axis=1) <= 0).all()
        exact = stored_scores(one, queries, rows)
        np.testing.assert_allclose(scores, exact, rtol=0, atol=1e-5)


def test_threads_that_share_the_segments_of_a_query_change_no_answer(both):
    _, several, queries = both
    augmented = folded_queries(queries[:1], 1.0)
    for how in (several.defaults, None):
        for matches in matches_of(several):
            k = min(K, several.room(matches))
            with openmp_threads(1):
                alone = several.find(augmented, k, how, matches)
            with openmp_threads(3):
                shared = several.find(augmented, k, how, matches)
            for before, after in zip(alone, shared, strict=True):
                np.testing.assert_array_equal(after, before)


# a built segment, small ones that were written, and one in memory

BUILT, WRITTEN = 120, 9
SCHEMA = pa.schema([("n", pa.int64()), ("even", pa.bool_())])
SEQ = 4


@dataclass
class Plain:
    """The targets that are left, in their order: what they should be, in plain arrays."""

    vectors: np.ndarray
    offsets: np.ndarray
    has_vector: np.ndarray
    ids: list
    stamps: list
    occurrence: np.ndarray

    def without(self, rows):
        return self._each(lambda values: np.delete(values, rows, axis=0))

    def _each(self, change):
        ids = change(np.array(self.ids, np.int64)).tolist()
        stamps = [tuple(stamp) for stamp in change(np.array(self.stamps).reshape(-1, 2)).tolist()]
        arrays = [change(each) for each in (self.vectors, self.offsets, self.has_vector)]
        return Plain(*arrays, ids, stamps, change(self.occurrence.T).T)


def payload_of(ids):
    return pa.table([pa.array(ids, pa.int64()), pa.array([each % 2 == 0 for each in ids], pa.bool_())], SCHEMA)


def segment_of(plain, start, stop, *, built, bare_last=True):
    """Some of the targets as a segment. Without `bare_last` its index holds rows for those without a vector, too."""
    bare = np.flatnonzero(~plain.has_vector[start:stop])
    inside = stop - len(bare) if bare_last else stop
    vectors = AugmentedVectors(as_source(plain.vectors[start:inside], "targets"), plain.offsets[start:inside])
    return Segment(
        index=FaissIndex(INDEXES["flat"], make_index(INDEXES["flat"], vectors, 0), DIM, {}),
        offsets=plain.offsets[start:stop],
        ids=IdTable.of(pa.array(plain.ids[start:stop], pa.int64())),
        payload=Payload(payload_of(plain.ids[start:stop])),
        bare=bare,
        occurrence=plain.occurrence[:, start:stop].astype(np.int32) if built else None,
        stamps=None if built else np.array(plain.stamps[start:stop]).T,
        seq=SEQ if built else 0,
    )


@pytest.fixture(params=[0, 1, 5], ids=lambda small: f"{small} small ones")
def written(request):
    """Targets in a built segment, in some small ones and in memory, with rows gone in each; and in plain arrays."""
    small, rng = request.param, np.random.default_rng(request.param)
    count = BUILT + (small + 1) * WRITTEN
    has_vector = np.ones(count, np.bool_)
    has_vector[[BUILT - 1, BUILT - 2, *range(BUILT + 2, count, WRITTEN)]] = False
    numbers = [divmod(row, WRITTEN) for row in range(count - BUILT)]
    every = Plain(
        np.where(has_vector[:, np.newaxis], normal(count, DIM, 7), np.float32(0)),
        np.where(has_vector, normal(count, 1, 8, 0.2).ravel(), np.float32(0)),
        has_vector,
        rng.permutation(count).tolist(),
        [*((SEQ, row) for row in range(BUILT)), *((SEQ + 2 + 3 * number, row) for number, row in numbers)],
        np.concatenate([rng.integers(0, 40, (2, BUILT)), np.full((2, count - BUILT), -1)], axis=1),
    )
    segments = [segment_of(every, 0, BUILT, built=True)]
    gone = [np.array([3, 50, BUILT - 1])]
    for number in range(small):
        start = BUILT + number * WRITTEN
        segments.append(segment_of(every, start, start + WRITTEN, built=False, bare_last=False))
        # of one all is gone, and of one none
        gone.append([np.array([1, 4]), NO_ROWS, np.arange(WRITTEN)][number % 3])
    last = slice(count - WRITTEN, count)
    more = NewTargets(
        every.vectors[last],
        every.offsets[last],
        pa.array(every.ids[last], pa.int64()),
        payload_of(every.ids[last]),
        has_vector[last],
        np.array(every.stamps[last]).T,
    )
    targets = Targets.of(segments, DIM, gone).with_more(more)
    places = np.concatenate([rows + start for rows, start in zip(gone, targets.starts, strict=False)])
    plain = every.without(places)
    late = np.array([7, len(plain.ids) - 2])  # rows of the first one and of the one in memory
    return targets.without(late), plain.without(late), every


class TestWritten:
    def test_rankings_are_those_of_numpy(self, written):
        targets, plain, _ = written
        queries = normal(12, DIM, 9)
        for strength in (0.0, 1.0):
            exact = queries.astype(np.float64) @ plain.vectors.T - strength * plain.offsets
            for mask in (None, *masks(len(plain.ids)), np.arange(len(plain.ids)) % 2 == 0):
                there = plain.has_vector if mask is None else plain.has_vector & mask
                matches = None if mask is None else chosen(targets, mask)
                assert targets.room(matches) == there.sum()
                k = min(K, int(there.sum()))
                expected = np.argsort(-np.where(there, exact, -np.inf), axis=1)[:, :k]
                for how in ({}, None):
                    if k:
                        scores, rows = targets.find(folded_queries(queries, strength), k, how, matches)
                        np.testing.assert_array_equal(rows, expected)
                        np.testing.assert_allclose(scores, np.take_along_axis(exact, expected, 1), atol=1e-5)

    def test_what_is_known_of_the_rows_is_what_was_put(self, written):
        targets, plain, _ = written
        some = np.random.default_rng(1).integers(0, len(targets), 60)
        assert len(targets) == len(plain.ids)
        np.testing.assert_array_equal(targets.vectors(some), plain.vectors[some])
        np.testing.assert_array_equal(targets.have_vectors(some), plain.has_vector[some])
        np.testing.assert_array_equal(targets.offsets(some), plain.offsets[some])
        np.testing.assert_array_equal(targets.every_offset, plain.offsets)
        np.testing.assert_array_equal(targets.occurrence(), plain.occurrence)
        np.testing.assert_array_equal(targets.seqs(some), [plain.stamps[row][0] for row in some])

    def test_ids_are_found_in_each_segment_and_those_that_are_gone_are_not(self, written):
        targets, plain, every = written
        ids = targets.ids
        assert (len(ids), ids.type, ids.largest) == (len(plain.ids), "int64", max(every.ids))
        assert ids.array.to_pylist() == ids.ids(np.arange(len(ids))) == plain.ids
        places = {each: row for row, each in enumerate(plain.ids)}
        assert ids.rows(every.ids).tolist() == [places.get(each, -1) for each in every.ids]
        assert ids.rows(["1", True, 10**6]).tolist() == [-1, -1, -1]

    def test_payload_stands_in_the_order_of_the_rows(self, written):
        targets, plain, _ = written
        assert targets.payload.table().to_pylist() == payload_of(plain.ids).to_pylist()
        some = np.random.default_rng(2).integers(0, len(targets), 40)
        assert targets.payload.take(some, ["n"]) == [{"n": plain.ids[row]} for row in some]
        assert len(targets.payload) == len(plain.ids)

    def test_filter_selects_what_it_selects_in_plain_python(self, written):
        targets, plain, _ = written
        targets.bitmaps.room = 2**20
        for document, meets in (
            ({"even": True}, lambda value: value % 2 == 0),
            ({"field": "n", "lt": 20}, lambda value: value < 20),
            ({"field": "n", "lt": 0}, lambda value: False),
        ):
            matches = targets.matches(parse_filter(document, SCHEMA))
            expected = np.array([row for row, value in enumerate(plain.ids) if meets(value)], np.int64)
            np.testing.assert_array_equal(matches.rows, expected)
            for start in range(0, len(plain.ids), 17):
                np.testing.assert_array_equal(matches.page(start, 5), expected[expected >= start][:5])
            assert targets.room(matches) == plain.has_vector[expected].sum()

    def test_targets_that_nobody_holds_are_gone_without_a_collector(self, written):
        targets = written[0].without(np.array([0]))
        targets.bitmaps.room = 2**20
        targets.find(folded_queries(normal(1, DIM, 9), 1.0), 1, None, None)
        assert targets.matches(parse_filter({"even": True}, SCHEMA)).count
        assert targets.payload.take(targets.ids.rows(targets.ids.ids(np.arange(2))))
        left = weakref.ref(targets)
        del targets
        assert left() is None

    def test_stamp_leads_back_to_its_row_or_to_the_next_that_is_left(self, written):
        targets, plain, every = written
        for row, stamp in enumerate(plain.stamps):
            assert targets.stamp(row) == stamp
        for stamp in every.stamps:
            assert targets.row_from(*stamp) == sum(each < stamp for each in plain.stamps)
        assert targets.row_from(0, 0) == 0
        assert targets.row_from(10**6, 0) == len(targets)

    def test_rows_are_known_in_what_it_has_grown_from(self, written):
        targets, plain, _ = written
        before = Targets.of([view.segment for view in targets.stored], DIM)
        rows = targets.same_rows(np.arange(len(targets)), before)
        last = plain.stamps[-1][0]
        stored = [row for row, (seq, _) in enumerate(plain.stamps) if seq != last]
        np.testing.assert_array_equal(np.flatnonzero(rows >= 0), stored)
        assert before.ids.ids(rows[stored]) == [plain.ids[row] for row in stored]
        assert targets.same_rows(np.array([-1]), before) == [-1]
