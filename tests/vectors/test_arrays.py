import numpy as np
import pytest

from hubless.errors import NotFinite, ZeroVector
from hubless.vectors.arrays import as_float32, as_vectors, unit_rows


@pytest.mark.parametrize(
    "given",
    [[1, 2], [[1, 2]], (1, 2.0), [np.float32(1), np.float64(2)], np.array([[1, 2]], ">f8"), [np.arange(1, 3.0)]],
)
def test_one_vector_or_several_as_lists_or_floats_become_a_matrix_of_float32(given):
    found = as_vectors(given, "vector", dim=2)
    np.testing.assert_array_equal(found, [[1, 2]])
    assert found.dtype == np.dtype(np.float32)
    assert found.flags.c_contiguous


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
