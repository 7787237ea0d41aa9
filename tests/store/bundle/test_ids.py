"""Ids: stored, found, and refused by their own type only."""

import numpy as np
import pyarrow as pa
import pytest
from support import small

import hubless
from hubless.errors import InputError, PointNotFound
from hubless.vectors.ids import IdTable, write_ids

NUMBERS = [0, -1, 1, 2**53 + 1, 2**63 - 1, -(2**63), 10, 2]


def table(tmp_path, ids):
    array = ids if isinstance(ids, pa.Array) else pa.array(ids, pa.large_string() if isinstance(ids[0], str) else None)
    write_ids(array, tmp_path / "ids.arrow")
    return IdTable.open(tmp_path / "ids.arrow")


def shuffled(values, seed=0):
    return np.random.default_rng(seed).permutation(np.array(values, dtype=object)).tolist()


@pytest.mark.parametrize("ids", [NUMBERS, shuffled(NUMBERS), small.IDS, shuffled(small.IDS), ["only"], [7]])
def test_every_id_is_found_in_its_row_and_every_row_has_its_id(tmp_path, ids):
    stored = table(tmp_path, ids)
    assert len(stored) == len(ids)
    assert [stored.row(wanted) for wanted in ids] == list(range(len(ids)))
    assert stored.ids(np.arange(len(ids))) == ids
    assert stored.ids(np.array([len(ids) - 1, 0])) == [ids[-1], ids[0]]


@pytest.mark.parametrize("ids", [NUMBERS, small.IDS])
@pytest.mark.parametrize("wanted", [3, -2, 2**64, -(2**64), 2**200, "3", "none", "A", "\ud800", "x" * 999])
def test_missing_id_is_not_found_whatever_it_is(tmp_path, ids, wanted):
    with pytest.raises(PointNotFound) as caught:
        table(tmp_path, ids).row(wanted)
    assert caught.value.code == "point_not_found"


@pytest.mark.parametrize("wanted", ["0", "-1", "", None, True, False, 0.0, 1.0, 10.5, float("nan"), b"1", [1], (1,)])
def test_number_ids_are_found_by_whole_numbers_only(tmp_path, wanted):
    with pytest.raises(PointNotFound):
        table(tmp_path, NUMBERS).row(wanted)


@pytest.mark.parametrize("wanted", [0, -1, None, True, 1.5, b"0", b"", ["0"]])
def test_string_ids_are_found_by_strings_only(tmp_path, wanted):
    with pytest.raises(PointNotFound):
        table(tmp_path, small.IDS).row(wanted)


@pytest.mark.parametrize("number", NUMBERS)
def test_text_of_a_number_is_its_id(tmp_path, number):
    assert table(tmp_path, NUMBERS).parse(str(number)) == number


@pytest.mark.parametrize(
    "text", ["", " 1", "1 ", "+1", "01", "-0", "1_0", "1.0", "1e1", "0x1", "١", "one", "9" * 5000, "1\n"]
)
def test_text_that_is_not_how_a_number_is_written_is_no_id(tmp_path, text):
    with pytest.raises(PointNotFound, match="whole numbers"):
        table(tmp_path, NUMBERS).parse(text)


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


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (list(range(small.COUNT - 1)), "40, one a target, got 39"),
        (list(range(small.COUNT + 1)), "40, one a target, got 41"),
        ([*range(small.COUNT - 1), "a"], "strings, or whole numbers of 64 bits"),
        ([*range(small.COUNT - 1), None], "1 empty ids"),
        ([*range(small.COUNT - 1), 2**63], "strings, or whole numbers of 64 bits"),
        ([0.5] * small.COUNT, "strings, or whole numbers of 64 bits, got double"),
        (np.zeros((small.COUNT, 2), int), "strings, or whole numbers of 64 bits"),
        (["\ud800"] * small.COUNT, "strings, or whole numbers of 64 bits"),
    ],
)
def test_ids_that_are_none_are_refused_before_anything_is_published(tmp_path, ids, message):
    with pytest.raises(InputError, match=message):
        small.build(tmp_path, ids=ids)
    assert hubless.Catalog(tmp_path).collections() == [] if tmp_path.exists() else True


def test_point_has_its_own_vector_offset_and_id(template):
    opened = hubless.open(template, "photos")
    for row in (0, 5, 39):
        point = opened.point(small.IDS[row], vector=True)
        expected = small.targets()[row]
        assert (point.id, point.row) == (small.IDS[row], row)
        assert point.offset == opened.offsets[row]
        assert point.vector == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)
        assert opened.point(small.IDS[row]).vector is None
