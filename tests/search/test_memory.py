from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from hubless.errors import NotFinite
from hubless.knn.augment import folded_queries
from hubless.search.bitmap import Bitmap
from hubless.search.segments.memory import FEWEST_GONE, Memory, NewTargets
from hubless.search.segments.segment import SegmentView
from hubless.search.segments.segment_rows import UNWRITTEN
from hubless.search.segments.targets import Targets

DIM = 4
SCHEMA = pa.schema([("n", pa.int64())])
LETTERS = "abcdefgh"


def nothing():
    return Memory.empty(DIM, pa.large_string(), SCHEMA)


def new(ids, arrived, without=()):
    has_vector = np.array([wanted not in without for wanted in ids], np.bool_)
    vectors = np.array([vector_of(wanted, arrived) for wanted in ids], np.float32).reshape(len(ids), DIM)
    vectors[~has_vector] = 0
    table = pa.table([pa.array(range(arrived, arrived + len(ids)), pa.int64())], SCHEMA)
    stamps = np.stack([np.full(len(ids), arrived), np.arange(len(ids))])
    return NewTargets(vectors, vectors[:, 0], pa.array([*ids], pa.large_string()), table, has_vector, stamps)


def vector_of(wanted, arrived):
    return np.random.default_rng([ord(wanted), arrived]).normal(size=DIM)


STEPS = st.lists(
    st.tuples(
        st.integers(0, 3),  # few, so that several grow from one
        st.lists(st.sampled_from(LETTERS), max_size=4, unique=True),
        st.sampled_from(["put", "remove", "move together"]),
    ),
    max_size=25,
)


@settings(deadline=None)
@given(STEPS)
def test_every_one_keeps_its_targets_whatever_others_grow_from_it(steps):
    empty = nothing()
    made = [(empty, SegmentView(empty), {}, 0)]
    for base, ids, step in steps:
        memory, view, model, arrived = made[base % len(made)]
        if step == "move together":
            memory = memory.moved_together(view)
            view = SegmentView(memory)
            assert len(memory) == len(model)
        else:
            rows = memory.ids.rows(ids)
            rows = rows[rows >= 0]
            view = view.without(rows[view.has(rows)])
            model = {wanted: value for wanted, value in model.items() if wanted not in ids}
        if step == "put":
            memory = memory.with_more(new(ids, arrived, without="h"))
            view = SegmentView(memory, view.gone)
            model |= {wanted: (arrived, rank) for rank, wanted in enumerate(ids)}
            arrived += len(ids)
        made.append((memory, view, model, arrived))
    for _, view, model, _ in made:
        check(view, model)


def check(view, model):
    segment, left = view.segment, view.left
    assert segment.ids.ids(left) == [*model]
    assert segment.ids.array.take(pa.array(left)).to_pylist() == [*model]
    assert segment.stamps_of(left).T.tolist() == [list(stamp) for stamp in model.values()]
    assert segment.payload.take(left) == [{"n": seq + rank} for seq, rank in model.values()]
    assert [segment.have_vectors[row] for row in left] == [wanted != "h" for wanted in model]
    for row, (wanted, (arrived, _)) in zip(left, model.items(), strict=True):
        expected = np.zeros(DIM, np.float32) if wanted == "h" else vector_of(wanted, arrived).astype(np.float32)
        np.testing.assert_array_equal(segment.index.vectors(np.array([row]))[0], expected)
        assert segment.offsets[row] == expected[0]
    searched = np.arange(len(segment)) if view.searched is None else view.searched.rows
    assert segment.ids.ids(searched) == [wanted for wanted in model if wanted != "h"]
    rows = segment.ids.rows(LETTERS)
    known = {wanted: row for wanted, row in zip(LETTERS, rows, strict=True) if row >= 0 and view.has(row[np.newaxis])}
    assert known == dict(zip(model, left, strict=True))


def test_score_that_leaves_float32_is_refused_where_others_are_hidden():
    vectors = np.zeros((8, DIM), np.float32)
    vectors[:, 0] = [1, 2, -9, 1, 1, 1, 1, 1]
    targets = Targets.of([nothing()], DIM).with_more(replace(new(LETTERS, 0), vectors=vectors))
    matches = targets.matching([Bitmap(np.empty(0, np.bool_)), Bitmap(np.arange(8) > 0)])
    with np.errstate(over="ignore"), pytest.raises(NotFinite):
        targets.find(folded_queries(np.array([[1e38, 0, 0, 0]], np.float32), 0.0), 2, None, matches)


def test_rank_after_a_write_is_above_those_that_follow_it():
    latest = 2**60
    stamps = np.array([[9, 9], [latest, latest + 1]])
    targets = Targets.of([nothing()], DIM).with_more(replace(new("ab", 9), stamps=stamps))
    assert UNWRITTEN < targets.next_rank(8) < targets.next_rank(9) == latest + 2


def test_replacing_one_target_again_and_again_copies_the_others_rarely():
    memory = nothing()
    targets = Targets.of([memory], DIM).with_more(new(LETTERS, 0))
    memories, most = set(), 0
    for turn in range(3000):
        targets = targets.without(targets.ids.rows(["a"])).with_more(new("a", 8 + turn))
        memories.add(targets.written.segment.index.folded.__array_interface__["data"][0])
        most = max(most, len(targets.written.segment))
    assert len(memories) < 25
    assert most < FEWEST_GONE + 20
    assert len(targets.written.segment.payload.batches) < 15
    assert targets.ids.array.to_pylist() == [*LETTERS[1:], "a"]
