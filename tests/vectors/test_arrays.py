import numpy as np
import pytest

from hubless.errors import DimensionMismatch, InputError, NotFinite, ZeroVector
from hubless.vectors.arrays import as_float32, as_vectors, check_at_least, check_between, unit_rows


@pytest.mark.parametrize(
    "given",
    [[1, 2], [[1, 2]], (1, 2.0), [np.float32(1), np.float64(2)], np.array([[1, 2]], ">f8"), [np.arange(1, 3.0)]],
)
def test_one_vector_or_several_as_lists_or_floats_become_a_matrix_of_float32(given):
    found = as_vectors(given, "vector", dim=2)
    np.testing.assert_array_equal(found, [[1, 2]])
    assert found.dtype == np.dtype(np.float32)
    assert found.flags.c_contiguous


@pytest.mark.parametrize(
    "given",
    [[True, False], [1 + 2j, 1], np.array([1, 2])],
    ids=lambda given: repr(given)[:20],
)
def test_other_types_of_numbers_are_refused(given):
    with pytest.raises(InputError, match=r"^vector: expected float16, float32 or float64, .*got "):
        as_vectors(given, "vector", dim=2)


@pytest.mark.parametrize("odd", [None, "2", 10**400], ids=lambda odd: repr(odd)[:20])
def test_what_is_no_number_is_refused_with_its_place(odd):
    with pytest.raises(InputError, match=r"^vector\[1\]: expected a number, got "):
        as_vectors([1.0, odd], "vector", dim=2)


@pytest.mark.parametrize("given", [5.0, None, "abc", {"a": 1}, [[[1.0, 2.0]]]], ids=repr)
def test_what_is_no_matrix_is_refused(given):
    with pytest.raises(InputError, match=r"^vector: expected a matrix, one row an item, got an array of shape \("):
        as_vectors(given, "vector", dim=2)


@pytest.mark.parametrize(("given", "got"), [([], 0), ([1.0], 1), ([[1.0, 2.0, 3.0]], 3)])
def test_wrong_dimension_is_refused_naming_both(given, got):
    with pytest.raises(DimensionMismatch, match=rf"^vector: expected 2 dimensions, .*got {got} dimensions"):
        as_vectors(given, "vector", dim=2)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), 1e39, -3.5e38])
def test_number_that_float32_cannot_hold_is_refused_naming_its_place(number):
    with pytest.raises(NotFinite, match=r"^vector, row 1, column 0: expected a finite number that fits float32, got "):
        as_vectors([[1, 2], [number, 2]], "vector", dim=2)


def test_error_about_a_part_counts_rows_as_the_whole_does():
    rows = np.array([[1, 2], [np.nan, 0], [0, 0]], np.float32)
    with pytest.raises(NotFinite, match="row 101, column 0"):
        as_float32(rows, "rows", 100)
    with pytest.raises(NotFinite, match="row 7, column 0"):
        as_float32(rows, "rows", np.array([5, 7, 9]))
    with pytest.raises(ZeroVector, match="row 102"):
        unit_rows(np.nan_to_num(rows, nan=1), "rows", 100)
    with pytest.raises(ZeroVector, match="row 9"):
        unit_rows(np.nan_to_num(rows, nan=1), "rows", np.array([5, 7, 9]))


@pytest.mark.parametrize("length", [1e-45, 1e-30, 1.0, 1e19, 3e38])
def test_unit_rows_have_length_one_whatever_their_length_was(length):
    rows = np.array([[length, 0, -length]], np.float32)
    np.testing.assert_allclose(unit_rows(rows, "rows"), [[np.sqrt(0.5), 0, -np.sqrt(0.5)]], atol=1e-7)


@pytest.mark.parametrize("value", [2, -1, 2.5, True, "3", None, np.float32(4), float("nan")])
def test_count_below_the_least_or_no_whole_number_is_refused(value):
    with pytest.raises(InputError, match=r"^limit: expected a whole number of at least 3, got ") as caught:
        check_at_least("limit", value, 3)
    assert caught.value.received == repr(value)


@pytest.mark.parametrize("value", [-0.1, 2.1, float("nan"), float("inf"), True, "1", None, [1], 1j, 10**400])
def test_number_out_of_bounds_is_refused(value):
    with pytest.raises(InputError, match=r"^strength: expected a number of at least 0 and at most 2, got "):
        check_between("strength", value, 0, 2)


def test_length_one_of_a_row_does_not_depend_on_the_rows_beside_it():
    """More numbers than one piece holds, and as many lengths as float32 has."""
    rng = np.random.default_rng(0)
    rows = (rng.standard_normal((700, 400)) * 10.0 ** rng.uniform(-20, 18, (700, 1))).astype(np.float32)
    together = unit_rows(rows, "rows")
    exact = rows.astype(np.float64) / np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    np.testing.assert_allclose(together, exact, rtol=1e-6)
    np.testing.assert_array_equal(together, np.concatenate([unit_rows(rows[i : i + 1], "row") for i in range(700)]))
    rows[600] = 0
    with pytest.raises(ZeroVector, match="row 600"):
        unit_rows(rows, "rows")
