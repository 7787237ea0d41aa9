from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st
from support.array_likes import InBlocks
from support.files import write_parquet
from support.problems import normal

import hubless
from hubless.errors import PointNotFound
from hubless.vectors.ids import IdTable, id_array, parsed_id, write_ids
from hubless.vectors.readers.columns import read_ids

LARGEST = 2**63 - 1
ROWS = normal(12, 4, seed=1)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([1, 2], [1, 2]),
        (range(3), [0, 1, 2]),
        (["a", "ä ö", ""], ["a", "ä ö", ""]),
        ([-LARGEST - 1, LARGEST], [-LARGEST - 1, LARGEST]),
        (np.array([1, 2], np.uint8), [1, 2]),
        (np.array(["a", "bc"]), ["a", "bc"]),
        ([np.int64(3), np.int32(4)], [3, 4]),
        (pa.array([1, 2], pa.uint16()), [1, 2]),
        (pa.array(["a", "b"], pa.large_string()), ["a", "b"]),
        (pa.chunked_array([["a"], ["b"]]), ["a", "b"]),
        (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
        (pa.array(["a", "b"], pa.string_view()), ["a", "b"]),
        (np.array(["a", "b"], object), ["a", "b"]),
        (np.array([1, np.int8(2)], object), [1, 2]),
        (np.ma.array([1, 2], mask=False), [1, 2]),
        (np.array([b"a", b"bc"]), ["a", "bc"]),
        (np.array(["a", "bc"], np.dtypes.StringDType()), ["a", "bc"]),
        (InBlocks(np.array([3, 1])), [3, 1]),
        ([UUID(int=1), UUID(int=2)], [str(UUID(int=1)), str(UUID(int=2))]),
        (np.array([UUID(int=1), "b"], object), [str(UUID(int=1)), "b"]),
    ],
)
def test_whole_numbers_and_strings_are_taken_whatever_holds_them(given, expected):
    found = id_array(given, "ids")
    assert found.to_pylist() == expected
    assert found.type in (pa.int64(), pa.large_string())


class TestFiles:
    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            (b"a\nb\n", ["a", "b"]),
            (b"a\nb", ["a", "b"]),
            (b"a\r\nb\r\n", ["a", "b"]),
            ("1\n\u2028x\x0cy \n".encode(), ["1", "\u2028x\x0cy "]),
            ("\ufeffa\nb\n".encode(), ["a", "b"]),
            (b"a\n\nb\n", ["a", "", "b"]),
        ],
    )
    def test_text_has_an_id_a_line_and_lines_end_at_line_ends_only(self, tmp_path, content, expected):
        (tmp_path / "ids.txt").write_bytes(content)
        assert read_ids(tmp_path / "ids.txt").to_pylist() == expected

    def test_parquet_of_one_column_or_of_one_named_id(self, tmp_path):
        pq.write_table(pa.table({"isbn": ["x", "y"]}), tmp_path / "one.parquet")
        pq.write_table(pa.table({"title": ["a", "b"], "id": [7, 8]}), tmp_path / "two.parquet")
        assert read_ids(tmp_path / "one.parquet").to_pylist() == ["x", "y"]
        assert read_ids(tmp_path / "two.parquet").to_pylist() == [7, 8]


class TestTable:
    @settings(max_examples=40, deadline=None)
    @given(
        ids=st.one_of(
            st.lists(st.integers(-LARGEST - 1, LARGEST), min_size=1, unique=True),
            st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, unique=True),
        )
    )
    def test_every_id_is_found_in_its_row_and_no_other(self, ids, tmp_path_factory):
        path = tmp_path_factory.mktemp("ids") / "ids.arrow"
        write_ids(id_array(ids, "ids"), path)
        table = IdTable.open(path)
        assert len(table) == len(ids)
        assert table.ids(np.arange(len(ids))) == ids
        assert [table.row(wanted) for wanted in ids] == list(range(len(ids)))
        assert table.rows(ids).tolist() == list(range(len(ids)))
        kind = "string" if isinstance(ids[0], str) else "int64"
        assert [parsed_id(str(wanted), kind) for wanted in ids] == ids
        missing = max(ids) + "x" if isinstance(ids[0], str) else 2**63
        with pytest.raises(PointNotFound):
            table.row(missing)
        assert table.rows([missing, ids[-1]]).tolist() == [-1, len(ids) - 1]

    @pytest.mark.parametrize("text", ["x", "", "1.0", " 1", "01", "1_0", "+1", "\u0661", "9" * 5000])
    def test_text_that_is_no_number_as_it_is_written_is_no_id(self, text):
        with pytest.raises(PointNotFound, match="ids are whole numbers here"):
            parsed_id(text, "int64")
        assert parsed_id(text, "string") == text


class TestBuild:
    def test_ids_given_replace_those_in_the_file_and_without_any_the_rows_are_numbered(self, tmp_path):
        path = write_parquet(tmp_path / "rows.parquet", ROWS, id=[f"in file {i}" for i in range(12)])
        for targets, ids, expected in (
            (path, None, "in file 3"),
            (path, [f"given {i}" for i in range(12)], "given 3"),
            (ROWS, None, 3),
        ):
            hubless.build(tmp_path / "catalog", "c", targets, ROWS, ids=ids, correction="none")
            assert hubless.open(tmp_path / "catalog", "c").query(ROWS[3], limit=1).ids == [[expected]]
