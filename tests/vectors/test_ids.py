from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st
from support.array_likes import InBlocks
from support.files import load_trustingly, write_npz, write_parquet, write_pickled
from support.problems import normal

import hubless
from hubless.errors import DuplicateIds, InputError, PointNotFound, StorageError
from hubless.vectors.ids import IdTable, id_array, parsed_id, write_ids
from hubless.vectors.readers.columns import read_ids

EXPECTED = "expected strings, or whole numbers of 64 bits, got "
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
        (np.array([1, 2], ">i4"), [1, 2]),
        (np.array(["a", "bc"]), ["a", "bc"]),
        (np.array(["a", "bc"], ">U2"), ["a", "bc"]),
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
        (InBlocks(np.array(["a", "bc"])), ["a", "bc"]),
        ([UUID(int=1), UUID(int=2)], [str(UUID(int=1)), str(UUID(int=2))]),
        (np.array([UUID(int=1), "b"], object), [str(UUID(int=1)), "b"]),
        (range(2), [0, 1]),
    ],
)
def test_whole_numbers_and_strings_are_taken_whatever_holds_them(given, expected):
    found = id_array(given, "ids")
    assert found.to_pylist() == expected
    assert found.type in (pa.int64(), pa.large_string())


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([1, "a"], "ids, row 1: expected a whole number, as row 0 has, got 'a'"),
        (["a", 1], "ids, row 1: expected a string, as row 0 has, got 1"),
        (np.array(["a", 1], object), "ids, row 1: expected a string, as row 0 has, got 1"),
        ([1, True], f"ids, row 1: {EXPECTED}True"),
        ([True], f"ids, row 0: {EXPECTED}True"),
        ([1, 2.0], f"ids, row 1: {EXPECTED}2.0"),
        (np.array([1.0]), f"ids, row 0: {EXPECTED}1.0"),
        ([[1]], f"ids, row 0: {EXPECTED}[1]"),
        ([b"\xff"], "ids, row 0: expected text in UTF-8, got b'\\xff'"),
        (["a", "\ud800"], "ids, row 1: expected text in UTF-8, got '\\ud800'"),
        ([1, 2**63], "ids, row 1: expected a whole number below 2^63, or a string, got 9223372036854775808"),
        ([-(2**64)], "ids, row 0: expected a whole number below 2^63, or a string, got -18446744073709551616"),
        (
            np.array([2**63], np.uint64),
            "ids, row 0: expected a whole number below 2^63, or a string, got 92233720368547",
        ),
        (
            pa.array([1, 2**63], pa.uint64()),
            "ids, row 1: expected a whole number below 2^63, or a string, got 922337203",
        ),
        (
            np.ma.array([1, 2], mask=[0, 1]),
            "ids, row 1: expected an array without masked values: fill them, or leave th",
        ),
        (np.array([[1]]), f"ids: {EXPECTED[:-6]}, one a row, got an array of shape (1, 1)"),
        ([], f"ids: {EXPECTED}none"),
        (5, f"ids: {EXPECTED}int"),
    ],
)
def test_anything_else_is_refused_naming_the_first_row(given, problem):
    with pytest.raises(InputError) as caught:
        id_array(given, "ids")
    assert str(caught.value).startswith(problem)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("given", [[1, None], [None, "a"], pa.array([None, 1], pa.int32())])
def test_missing_id_is_refused(given):
    with pytest.raises(InputError, match=r"^ids, row [01]: expected an id for each row, got none"):
        id_array(given, "ids")


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

    @pytest.mark.parametrize("columns", [{}, {"a": [1], "b": [2]}])
    def test_parquet_of_no_column_that_must_be_the_ids(self, tmp_path, columns):
        pq.write_table(pa.table(columns), tmp_path / "ids.parquet")
        expected = (
            rf"^ids \(ids.parquet\): expected a column named id, or a single one, got {', '.join(columns) or 'none'}$"
        )
        with pytest.raises(InputError, match=expected):
            read_ids(tmp_path / "ids.parquet")

    @pytest.mark.parametrize("suffix", [".npy", ".parquet"])
    def test_damaged_and_mislabelled_files_are_refused(self, tmp_path, suffix):
        path = tmp_path / f"ids{suffix}"
        other = write_npz(tmp_path / "other.npz", ROWS).read_bytes()
        for content in (b"", b"PAR", b"id\n1\n2\n", other, other[:100]):
            path.write_bytes(content)
            with pytest.raises(InputError) as caught:
                read_ids(path)
            assert str(caught.value).startswith(f"ids (ids{suffix}): expected a readable {suffix} file, got ")

    def test_pickled_ids_are_refused_and_never_loaded(self, tmp_path):
        path, trace = tmp_path / "ids.npy", tmp_path / "trace"
        write_pickled(path, trace)
        with pytest.raises(InputError, match=r"^ids \(ids.npy\): expected a readable .npy file, got it holds pickled"):
            read_ids(path)
        assert not trace.exists()
        load_trustingly(path)
        assert trace.exists()  # so it would have been noticed

    def test_unknown_ending_and_missing_file_are_refused(self, tmp_path):
        (tmp_path / "ids.xlsx").write_text("1")
        with pytest.raises(InputError, match=r"^ids \(ids.xlsx\): expected a file ending in .npy, .npz, .txt"):
            read_ids(tmp_path / "ids.xlsx")
        with pytest.raises(StorageError, match=r"nowhere\.txt: ids: there is no such file"):
            read_ids(tmp_path / "nowhere.txt")


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

    @pytest.mark.parametrize(
        ("ids", "twice"),
        [([4, 7, 4, 7, 4], "4 in rows 0 and 2"), (["b", "a", "c", "a"], "'a' in rows 1 and 3")],
        ids=["numbers", "strings"],
    )
    def test_id_that_stands_twice_is_refused_naming_it_and_its_rows(self, tmp_path, ids, twice):
        with pytest.raises(DuplicateIds) as caught:
            write_ids(id_array(ids, "ids"), tmp_path / "ids.arrow")
        assert str(caught.value) == f"ids: expected unique ids, got {twice}"

    @pytest.mark.parametrize("text", ["x", "", "1.0", " 1", "01", "1_0", "+1", "\u0661", "9" * 5000])
    def test_text_that_is_no_number_as_it_is_written_is_no_id(self, text):
        with pytest.raises(PointNotFound, match="ids are whole numbers here"):
            parsed_id(text, "int64")
        assert parsed_id(text, "string") == text


class TestBuild:
    @pytest.mark.parametrize("count", [11, 13])
    def test_ids_too_many_or_too_few_are_refused_with_both_numbers(self, tmp_path, count):
        np.save(tmp_path / "ids.npy", np.arange(count))
        for ids in (list(range(count)), tmp_path / "ids.npy"):
            with pytest.raises(InputError, match=f"^ids: expected 12, one a target, got {count}"):
                hubless.build(tmp_path / "catalog", "c", ROWS, ROWS, ids=ids)

    @pytest.mark.parametrize("ids", [[1] * 12, ["x"] * 12], ids=["numbers", "strings"])
    def test_duplicate_ids_are_refused_and_nothing_is_published(self, tmp_path, ids):
        with pytest.raises(DuplicateIds, match=r"^ids: expected unique ids, got .* in rows 0 and 1"):
            hubless.build(tmp_path / "catalog", "c", ROWS, ROWS, ids=ids)
        assert hubless.Catalog(tmp_path / "catalog").collections() == []

    def test_ids_given_replace_those_in_the_file_and_without_any_the_rows_are_numbered(self, tmp_path):
        path = write_parquet(tmp_path / "rows.parquet", ROWS, id=[f"in file {i}" for i in range(12)])
        for targets, ids, expected in (
            (path, None, "in file 3"),
            (path, [f"given {i}" for i in range(12)], "given 3"),
            (ROWS, None, 3),
        ):
            hubless.build(tmp_path / "catalog", "c", targets, ROWS, ids=ids, correction="none")
            assert hubless.open(tmp_path / "catalog", "c").query(ROWS[3], limit=1).ids == [[expected]]
