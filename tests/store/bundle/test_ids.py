"""Ids: stored, found, and refused by their own type only."""

import numpy as np
import pytest
from support import small

import hubless


def test_ids_are_stored_with_their_type(tmp_path):
    expected = {
        "int64": [list(range(small.COUNT)), np.arange(small.COUNT, dtype=np.uint8), None],
        "string": [[f"{row}" for row in range(small.COUNT)], np.array([f"{row}" for row in range(small.COUNT)])],
    }
    for kind, given in expected.items():
        for ids in given:
            assert small.build(tmp_path, ids=ids).id_type == kind
            opened = hubless.open(tmp_path, "photos")
            first = opened.query(small.query_bank()[0], limit=1)[0][0]
            assert type(first.id) is (int if kind == "int64" else str)
            assert int(first.id) == first.row == opened.point(first.id).row


def test_point_has_its_own_vector_offset_and_id(template):
    opened = hubless.open(template, "photos")
    for row in (0, 5, 39):
        point = opened.point(small.IDS[row], vector=True)
        expected = small.targets()[row]
        assert (point.id, point.row) == (small.IDS[row], row)
        assert point.offset == opened.offsets[row]
        assert point.vector == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)
        assert opened.point(small.IDS[row]).vector is None
