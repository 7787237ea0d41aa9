import numpy as np
from hypothesis import given, settings, strategies as st
from support.files import read_all
from support.problems import normal

from hubless.vectors.sources import ArrayVectors, SelectedVectors, StackedVectors, StreamedVectors, sample

ROWS = normal(40, 3, seed=1)
BLOCKS = st.integers(1, 50)


def streamed(rows, chunks):
    return StreamedVectors(lambda: iter(np.array_split(rows, chunks)), rows.shape, "stream")


@settings(max_examples=60, deadline=None)
@given(chosen=st.sets(st.integers(0, 39), min_size=1), block=BLOCKS, chunks=st.integers(1, 9), data=st.data())
def test_selection_gives_the_rows_that_were_chosen(chosen, block, chunks, data):
    rows = np.array(sorted(chosen))
    for source in (ArrayVectors(ROWS, "array"), streamed(ROWS, chunks)):
        selected = SelectedVectors(source, rows, "some")
        assert selected.shape == (len(rows), 3)
        np.testing.assert_array_equal(read_all(selected, block), ROWS[rows])
        places = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9)), np.int64)
        np.testing.assert_array_equal(selected.take(places), ROWS[rows[places]])


@settings(max_examples=60, deadline=None)
@given(cuts=st.lists(st.integers(1, 39), max_size=4), block=BLOCKS, chunks=st.integers(1, 9), data=st.data())
def test_stack_gives_the_rows_of_its_parts_one_after_the_other(cuts, block, chunks, data):
    parts = [part for part in np.split(ROWS, sorted(cuts)) if len(part)]
    stack = StackedVectors([streamed(part, min(chunks, len(part))) for part in parts], "stack")
    assert stack.shape == (40, 3)
    assert max(len(found) for found in stack.blocks(block)) <= block
    np.testing.assert_array_equal(read_all(stack, block), ROWS)
    rows = np.array(data.draw(st.lists(st.integers(0, 39), max_size=9)), np.int64)
    np.testing.assert_array_equal(stack.take(rows), ROWS[rows])


def test_sample_is_some_rows_in_order_and_the_same_ones_for_the_same_seed():
    source = ArrayVectors(np.arange(80, dtype=np.float32).reshape(40, 2), "rows")
    first, again, other = (read_all(sample(source, 15, seed)) for seed in (3, 3, 4))
    assert first.shape == (15, 2)
    assert (np.diff(first[:, 0]) > 0).all()
    assert set(first[:, 0]) <= set(source.array[:, 0])
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
