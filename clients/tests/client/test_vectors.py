"""Numbers from many kinds of containers become little-endian float32."""

import array
import ctypes
import struct
import subprocess
import sys
from base64 import b64decode

import numpy as np
import pytest

from hubless_client import CannotSend
from hubless_client.vectors import pack_many, pack_one

NUMBERS = [1.5, -2.0, 3.25]
ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


class Tensor:
    """What a tensor of another library shows of itself."""

    def __init__(self, numbers, fails=None):
        self.numbers, self.fails = numbers, fails

    def __array__(self):
        if self.fails:
            raise self.fails
        return np.asarray(self.numbers)


@pytest.mark.parametrize(
    "vector",
    [
        NUMBERS,
        array.array("f", NUMBERS),
        array.array("d", NUMBERS),
        memoryview(array.array("f", [1.5, 0, -2.0, 0, 3.25, 0]))[::2],
        (ctypes.c_float * 3)(*NUMBERS),
        np.array(NUMBERS, dtype="<f4"),
        np.array(NUMBERS, dtype=">f4"),
        np.array(NUMBERS, dtype=np.float64),
        np.array([1.5, 0, -2.0, 0, 3.25, 0])[::2],
        Tensor(NUMBERS),
    ],
    ids=lambda vector: type(vector).__name__,
)
def test_any_container_of_numbers_packs_to_the_same_little_endian_float32(vector):
    assert pack_one(vector) == struct.pack("<3f", *NUMBERS)


def test_integers_pack_as_their_values():
    expected = struct.pack("<3f", 1, 2, 200)
    assert pack_one([1, 2, 200]) == pack_one(range(1, 3)) + struct.pack("<f", 200) == expected
    assert pack_one(np.array([1, 2, 200], dtype=np.uint8)) == expected
    assert pack_one(array.array("B", [1, 2, 200])) == expected


@pytest.mark.parametrize(
    "vectors",
    [
        ROWS,
        [np.array(ROWS[0]), array.array("f", ROWS[1])],
        np.array(ROWS),
        np.array(ROWS, dtype=np.float32).T.copy().T,
        memoryview(np.array(ROWS, dtype=np.float32)),
        Tensor(ROWS),
    ],
    ids=lambda vectors: type(vectors).__name__,
)
def test_any_container_of_rows_packs_row_after_row(vectors):
    packed = pack_many(vectors)
    assert (packed.rows, packed.dim) == (2, 3)
    assert packed.data == struct.pack("<6f", *ROWS[0], *ROWS[1])
    assert b64decode("".join(packed.in_base64())) == packed.data


def test_numbers_out_of_range_and_nan_are_packed_as_the_server_says_it_better():
    packed = struct.unpack("<3f", pack_one([1e300, float("nan"), float("-inf")]))
    assert packed[0] == float("inf")
    assert packed[1] != packed[1]
    assert packed[2] == float("-inf")


@pytest.mark.parametrize(
    ("vector", "said"),
    [
        ("AAAA", "got str"),
        (b"\x00\x00\x80?", "got bytes"),
        (3.0, "got float"),
        (["1", "2"], "must be real number"),
        ([10**400], "too large"),
        (ROWS, "got list"),
        (np.array(ROWS), r"one axis, got shape \(2, 3\)"),
        (np.array([1j]), "dtype complex128"),
        (np.array([1, None]), "dtype object"),
        (Tensor([], fails=TypeError("can't convert a cuda tensor")), "can't convert a cuda tensor"),
    ],
)
def test_what_is_not_a_vector_cannot_be_sent_and_the_error_says_why(vector, said):
    with pytest.raises(CannotSend, match=said):
        pack_one(vector)


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        ([[1.0, 2.0], [3.0]], "row 0 has 2 numbers, row 1 has 1"),
        ([1.0, 2.0], "got float"),
        (np.array([1.0, 2.0]), r"two axes, got shape \(2,\)"),
        (array.array("f", [1.0]), r"two axes, got shape \(1,\)"),
        ("ab", "rows of numbers, got str"),
        (iter(ROWS), "rows of numbers, got list_iterator"),
    ],
)
def test_what_is_not_rows_of_one_length_cannot_be_sent(vectors, said):
    with pytest.raises(CannotSend, match=said):
        pack_many(vectors)


def test_client_needs_no_numpy():
    program = (
        "import sys; sys.modules['numpy'] = None; import hubless_client.vectors as v; print(v.pack_one([1.0]).hex())"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "0000803f"
