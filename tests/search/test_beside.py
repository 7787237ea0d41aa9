"""Targets beside an index: slots that are filled, emptied and moved together, compared with a plain list."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubless.search import beside as module
from hubless.search.beside import Beside, SlotIds

DIM = 4
SCHEMA = pa.schema([("n", pa.int64())])


def nothing():
    return Beside.nothing(DIM, DIM, pa.large_string(), SCHEMA)


def added(beside, ids, arrived, without=()):
    vectors = np.array([vector_of(wanted, arrived) for wanted in ids], np.float32).reshape(len(ids), DIM)
    has_vector = np.array([wanted not in without for wanted in ids], np.bool_)
    table = pa.table([pa.array(range(arrived, arrived + len(ids)), pa.int64())], SCHEMA)
    seqs, ranks = np.full(len(ids), arrived), np.arange(len(ids))
    return beside.with_more(vectors, vectors, vectors[:, 0], has_vector, ids, table, seqs, ranks)


def vector_of(wanted, arrived):
    return np.random.default_rng([ord(wanted), arrived]).normal(size=DIM)


STEPS = st.lists(
    st.tuples(st.integers(0, 30), st.lists(st.sampled_from("abcdefgh"), max_size=4, unique=True), st.booleans()),
    max_size=25,
)


@settings(deadline=None)
@given(STEPS)
def test_every_one_keeps_its_targets_whatever_others_grow_from_it(steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MOST_EMPTY", 1)
        made = [(nothing(), {}, 0)]
        for base, ids, removed in steps:
            beside, model, arrived = made[base % len(made)]
            slots = np.array([slot for wanted in ids if (slot := beside.slot(wanted)) >= 0], np.int64)
            beside = beside.without(slots)
            model = {wanted: value for wanted, value in model.items() if wanted not in ids}
            if not removed:
                beside = added(beside, ids, arrived, without="h")
                model |= {wanted: (arrived + i, arrived) for i, wanted in enumerate(ids)}
                arrived += len(ids)
            made.append((beside, model, arrived))
        for beside, model, _ in made:
            check(beside, model)


def check(beside, model):
    assert beside.id_array().to_pylist() == [*model]
    places = beside.seqs.rows[beside.slots] + beside.ranks.rows[beside.slots]
    assert places.tolist() == [place for place, _ in model.values()]
    numbers = beside.payload.take(beside.slots)
    assert numbers == [{"n": place} for place, _ in model.values()]
    for wanted, (_, arrived) in model.items():
        stored = beside.vectors.rows[beside.slot(wanted)]
        np.testing.assert_array_equal(stored, vector_of(wanted, arrived).astype(np.float32))
    assert beside.ids.of(beside.searched) == [wanted for wanted in model if wanted != "h"]
    assert all(beside.slot(wanted) == -1 for wanted in set("abcdefgh") - model.keys())


@pytest.mark.parametrize("share", [0.1, 0.6, 1.0])
def test_best_of_some_slots_are_those_of_a_sort(share):
    rng = np.random.default_rng(0)
    beside = nothing()
    for start in range(0, 200, 4):
        beside = added(beside, [chr(200 + start + i) for i in range(4)], start)
    slots = np.sort(rng.choice(200, int(200 * share), replace=False))
    queries = rng.normal(size=(130, DIM)).astype(np.float32)
    scores, rows = beside.best(queries, 7, slots)
    exact = queries @ beside.folded.rows[slots].T
    expected = np.argsort(-exact, axis=1, kind="stable")[:, :7]
    np.testing.assert_array_equal(rows, slots[expected])
    np.testing.assert_allclose(scores, np.take_along_axis(exact, expected, axis=1), rtol=1e-5)


def test_replacing_one_target_again_and_again_copies_the_others_rarely():
    beside = added(nothing(), "abcdefgh", 0)
    memories = set()
    for turn in range(3000):
        beside = added(beside.without(np.array([beside.slot("a")])), ["a"], 8 + turn)
        memories.add(beside.vectors.rows.__array_interface__["data"][0])
    assert len(memories) < 15
    assert len(beside.taken) < 2 * module._MOST_EMPTY
    assert len(beside.payload.batches) < 15


def test_ids_are_found_whoever_grew_from_the_same_memory():
    first = SlotIds().with_more(["a", "b"])
    second, third = first.with_more(["a"]), first.with_more(["c", "a"])
    assert [ids.slot("a") for ids in (first, second, third)] == [0, 2, 3]
    assert [ids.slot("c") for ids in (first, second, third)] == [-1, -1, 2]
