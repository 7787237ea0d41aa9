import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as arrays
from support import naive

from hubless import measures

SHAPES = st.tuples(st.integers(1, 6), st.integers(2, 9))
FEW_SCORES = arrays.arrays(np.float32, SHAPES, elements=st.integers(-2, 2).map(float))
"""Scores with many ties."""


@settings(max_examples=60, deadline=None)
@given(occurrence=arrays.arrays(np.int64, st.integers(2, 40), elements=st.integers(0, 1000)))
def test_skewness_is_scipys_and_zero_where_scipy_has_none(occurrence):
    expected = 0.0 if (occurrence == occurrence[0]).all() else scipy.stats.skew(occurrence)
    assert measures.skewness(occurrence) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(scores=FEW_SCORES, data=st.data())
def test_ranks_are_scipys_averages_and_those_by_counting(scores, data):
    rows = st.lists(st.integers(0, scores.shape[1] - 1), min_size=1, unique=True)
    relevant = data.draw(st.lists(rows, min_size=len(scores), max_size=len(scores)))
    found = measures.ranks(scores, relevant)
    averages = scipy.stats.rankdata(-scores, axis=1)
    np.testing.assert_array_equal(found, [line[right].min() for line, right in zip(averages, relevant, strict=True)])
    np.testing.assert_array_equal(found, naive.ranks(scores, relevant))


@settings(max_examples=60, deadline=None)
@given(rows=arrays.arrays(np.int64, SHAPES, elements=st.integers(0, 11)))
def test_k_occurrence_counts_every_place_once_and_targets_never_found_too(rows):
    found = measures.k_occurrence(rows, 15)
    assert found.tolist() == [np.count_nonzero(rows == target) for target in range(15)]
    assert found.sum() == rows.size
    assert measures.antihub_occurrence(found) == pytest.approx(1 - len(np.unique(rows)) / 15)
