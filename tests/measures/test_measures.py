import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as arrays

from hubless import measures

SHAPES = st.tuples(st.integers(1, 6), st.integers(2, 9))


@settings(max_examples=60, deadline=None)
@given(occurrence=arrays.arrays(np.int64, st.integers(2, 40), elements=st.integers(0, 1000)))
def test_skewness_is_scipys_and_zero_where_scipy_has_none(occurrence):
    expected = 0.0 if (occurrence == occurrence[0]).all() else scipy.stats.skew(occurrence)
    assert measures.skewness(occurrence) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(rows=arrays.arrays(np.int64, SHAPES, elements=st.integers(0, 11)))
def test_k_occurrence_counts_every_place_once_and_targets_never_found_too(rows):
    found = measures.k_occurrence(rows, 15)
    assert found.tolist() == [np.count_nonzero(rows == target) for target in range(15)]
    assert found.sum() == rows.size
    assert measures.antihub_occurrence(found) == pytest.approx(1 - len(np.unique(rows)) / 15)


@pytest.mark.parametrize(
    ("name", "known", "of_scikit_hubness"),
    [("skewness", 0.91287, "k_skewness"), ("robin_hood", 0.2, "robinhood"), ("antihub_occurrence", 0, None)],
)
def test_measure_has_its_known_value_that_of_scikit_hubness_and_zero_where_all_is_even(
    golden, name, known, of_scikit_hubness
):
    measure = getattr(measures, name)
    assert measure(np.array([4, 2, 2, 1, 1])) == pytest.approx(known, abs=1e-5)
    for k in (1, 5, 10):
        found = measure(golden[f"raw_k{k}_occurrence"])
        assert found == pytest.approx(float(golden[f"raw_k{k}_{of_scikit_hubness or name}"]), abs=1e-6)
    assert measure(np.full(8, 0.1)) == pytest.approx(0, abs=1e-12)  # shared places are no whole numbers
