"""Rows that grow at the end and share their memory."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hubless.search.growing import Growing


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 200)), max_size=20))
def test_every_one_keeps_its_rows_whatever_others_grow_from_it(steps):
    made = [(Growing(np.arange(6.0).reshape(3, 2)), np.arange(6.0).reshape(3, 2))]
    for number, (base, count) in enumerate(steps):
        growing, rows = made[base % len(made)]
        more = np.full((count, 2), number + 0.5)
        made.append((growing.with_rows(more), np.concatenate([rows, more])))
    for growing, rows in made:
        np.testing.assert_array_equal(growing.rows, rows)


def test_rows_are_copied_when_there_is_no_room_only():
    growing = Growing(np.zeros((0, 2)))
    memories = set()
    for _ in range(1000):
        growing = growing.with_rows(np.ones((1, 2)))
        memories.add(growing.rows.__array_interface__["data"][0])
    assert len(memories) < 8
