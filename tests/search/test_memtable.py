import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubless.search.delta import memtable as module
from hubless.search.delta.memtable import Memtable, NewTargets

DIM = 4
SCHEMA = pa.schema([("n", pa.int64())])


def nothing():
    return Memtable.empty(DIM, DIM, pa.large_string(), SCHEMA)


def added(memtable, ids, arrived, without=()):
    vectors = np.array([vector_of(wanted, arrived) for wanted in ids], np.float32).reshape(len(ids), DIM)
    has_vector = np.array([wanted not in without for wanted in ids], np.bool_)
    table = pa.table([pa.array(range(arrived, arrived + len(ids)), pa.int64())], SCHEMA)
    seqs, ranks = np.full(len(ids), arrived), np.arange(len(ids))
    more = NewTargets(vectors, vectors[:, 0], pa.array([*ids], pa.large_string()), table, has_vector, seqs, ranks)
    return memtable.with_more(more, vectors)


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
            memtable, model, arrived = made[base % len(made)]
            slots = np.array([slot for wanted in ids if (slot := memtable.slot(wanted)) >= 0], np.int64)
            memtable = memtable.without(slots)
            model = {wanted: value for wanted, value in model.items() if wanted not in ids}
            if not removed:
                memtable = added(memtable, ids, arrived, without="h")
                model |= {wanted: (arrived + i, arrived) for i, wanted in enumerate(ids)}
                arrived += len(ids)
            made.append((memtable, model, arrived))
        for memtable, model, _ in made:
            check(memtable, model)


def check(memtable, model):
    assert memtable.id_array().to_pylist() == [*model]
    places = memtable.rows("seqs")[memtable.slots] + memtable.rows("ranks")[memtable.slots]
    assert places.tolist() == [place for place, _ in model.values()]
    numbers = memtable.payload.take(memtable.slots)
    assert numbers == [{"n": place} for place, _ in model.values()]
    for wanted, (_, arrived) in model.items():
        stored = memtable.rows("vectors")[memtable.slot(wanted)]
        np.testing.assert_array_equal(stored, vector_of(wanted, arrived).astype(np.float32))
    assert memtable.ids.of(memtable.searched) == [wanted for wanted in model if wanted != "h"]
    assert all(memtable.slot(wanted) == -1 for wanted in set("abcdefgh") - model.keys())


@pytest.mark.parametrize("share", [0.1, 0.6, 1.0])
def test_best_of_some_slots_are_those_of_a_sort(share):
    rng = np.random.default_rng(0)
    memtable = nothing()
    for start in range(0, 200, 4):
        memtable = added(memtable, [chr(200 + start + i) for i in range(4)], start)
    slots = np.sort(rng.choice(200, int(200 * share), replace=False))
    queries = rng.normal(size=(130, DIM)).astype(np.float32)
    scores, rows = memtable.best(queries, 7, slots)
    exact = queries @ memtable.rows("folded")[slots].T
    expected = np.argsort(-exact, axis=1, kind="stable")[:, :7]
    np.testing.assert_array_equal(rows, slots[expected])
    np.testing.assert_allclose(scores, np.take_along_axis(exact, expected, axis=1), rtol=1e-5)


def test_replacing_one_target_again_and_again_copies_the_others_rarely():
    memtable = added(nothing(), "abcdefgh", 0)
    memories = set()
    for turn in range(3000):
        memtable = added(memtable.without(np.array([memtable.slot("a")])), ["a"], 8 + turn)
        memories.add(memtable.rows("vectors").__array_interface__["data"][0])
    assert len(memories) < 15
    assert len(memtable.taken) < 2 * module._MOST_EMPTY
    assert len(memtable.payload.batches) < 15
