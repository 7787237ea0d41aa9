"""Bytes that are no coordinates are told, and bytes that are pass without a word."""

import numpy as np
import pytest
from support.problems import normal

import hubless

ROWS = normal(2000, 64, seed=1)
PACKED = np.packbits(ROWS > 0, axis=1)
SHIFTED = np.clip(128 + 30 * ROWS, 0, 255).astype("u1")
KINDS = {
    "packed bits": (PACKED, "Unpack them"),
    "packed bits as int8": ((PACKED.astype(int) - 128).astype("i1"), "Unpack them"),
    "zero at 128": (SHIFTED, "Subtract it: vectors - 128.0"),
    "int8": (np.clip(60 * ROWS, -128, 127).astype("i1"), ""),
    "counts": (np.minimum(40 * ROWS**2, 218).astype("u1"), ""),
}


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_that_are_no_coordinates_are_told_with_a_line_that_mends_them(tmp_path, caplog, kind):
    vectors, told = KINDS[kind]
    hubless.build(tmp_path, "c", vectors, metric="dot", correction="none", index="flat")
    said = [each.getMessage() for each in caplog.records if "bytes" in each.getMessage()]
    assert [told in each for each in said] == [True] * bool(told)
    for each in said:
        mended = eval(each.rpartition(": ")[2], {"numpy": np, "vectors": vectors})  # noqa: S307  # ours
        assert ((mended > 0) == (ROWS > 0)).mean() > 0.98
