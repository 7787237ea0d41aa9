"""One meaning of labels: by ids where targets have ids, and by row numbers elsewhere."""

import json
import uuid

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hubless.errors import InputError, StorageError
from hubless.measures.labels import KnownItems, right_rows

TEXTS = pa.array([f"t{row}" for row in range(8)])
NUMBERS = pa.array([3, 0, 7, 1, 6, 2, 5, 4])  # row numbers, permuted
WANTED = [[1], [0, 5], [], [7]]
"""Rows of the right targets of four queries."""


def rows_of(labels, ids=TEXTS, queries=4, query_ids=None, **how):
    targets = KnownItems(8, None if ids is None else ids.cast(pa.large_string() if ids is TEXTS else pa.int64()))
    found = right_rows(labels, targets, KnownItems(queries, query_ids, "query"), **how)
    return [rows.tolist() for rows in found]


def named(ids):
    """The wanted rows as lists of ids, by the ids of the targets or by row."""
    return [[row if ids is None else ids[row].as_py() for row in rows] for rows in WANTED]


class Series:
    """Stands in for a column of pandas or polars: values in order, whatever it is indexed by."""

    def __init__(self, values):
        self.values = values

    def to_list(self):
        return self.values


class NAType:
    """Named as what pandas has where a value is missing."""


@pytest.mark.parametrize("ids", [TEXTS, NUMBERS, None], ids=["texts", "numbers", "rows"])
class TestFormsOfLabels:
    def test_lists_arrays_and_columns_are_the_same(self, ids):
        lists = named(ids)
        objects = np.empty(4, object)
        objects[:] = [np.array(each) for each in lists]
        mapping = {query: rows for query, rows in enumerate(lists) if rows}
        for labels in (lists, tuple(map(tuple, lists)), objects, Series(lists), pa.array(lists), mapping):
            assert rows_of(labels, ids) == WANTED

    def test_files_are_as_lists(self, ids, tmp_path):
        lists, file = named(ids), tmp_path / "right"
        file.with_suffix(".json").write_text(json.dumps(lists))
        file.with_suffix(".jsonl").write_text("".join(json.dumps(each) + "\n" for each in lists))
        pq.write_table(pa.table({"relevant": pa.array(lists), "text": ["a"] * 4}), file.with_suffix(".parquet"))
        (tmp_path / "by_key.json").write_text(json.dumps(dict(enumerate(lists))))
        (tmp_path / "objects.jsonl").write_text("".join(json.dumps({"relevant": each}) + "\n" for each in lists))
        for path in tmp_path.iterdir():
            assert rows_of(path, ids) == WANTED, path.name

    def test_files_with_one_id_a_query_leave_out_queries_by_an_empty_line(self, ids, tmp_path):
        ones = [each[0] if each else None for each in named(ids)]
        (tmp_path / "r.txt").write_text("\r\n".join("" if one is None else str(one) for one in ones) + "\r\n")
        (tmp_path / "r.json").write_text(json.dumps(ones))
        (tmp_path / "r.csv").write_text("relevant,n\n" + "".join(f"{'' if one is None else one},1\n" for one in ones))
        for labels in (
            tmp_path / "r.csv",
            tmp_path / "r.txt",
            tmp_path / "r.json",
            ones,
            Series(ones),
            np.array(ones, object),
        ):
            assert rows_of(labels, ids) == [[1], [0], [], [7]]
        full = np.array([ones[0], ones[1], ones[3]])
        np.save(tmp_path / "r.npy", full)
        np.savez(tmp_path / "r.npz", relevant=full, other=np.zeros(3))
        for labels in (full, tmp_path / "r.npy", str(tmp_path / "r.npz"), f"{tmp_path / 'r.npz'}:relevant"):
            assert rows_of(labels, ids, queries=3) == [[1], [0], [7]]

    def test_ids_that_stand_twice_count_once(self, ids):
        lists = [2 * each for each in named(ids)]
        assert rows_of(lists, ids) == WANTED


def test_whole_numbers_are_ids_where_ids_are_row_numbers_in_another_order():
    assert rows_of([0, 1, 2, 3], NUMBERS) == [[1], [3], [5], [0]]
    assert rows_of([0, 1, 2, 3], None) == [[0], [1], [2], [3]]


def test_whole_numbers_that_could_be_row_numbers_are_warned_of(caplog):
    rows_of([0, 1, 2, 3], NUMBERS)
    assert "relevant: whole numbers are ids of targets. If they are row numbers, write" in caplog.text
    caplog.clear()
    for labels, ids in (([0, 1, 2, 3], pa.array(range(8))), ([0, 1, 2, 99], pa.array([0, 1, 2, 99, 4, 5, 6, 7]))):
        rows_of(labels, ids)
    assert not caplog.text


def test_numbers_are_taken_in_any_type_that_holds_whole_ones():
    for kind in (np.uint8, np.uint64, np.int16, np.float64):
        assert rows_of(np.array([3, 0, 7, 1], kind), NUMBERS) == [[0], [1], [2], [3]]
    missing = [3.0, float("nan"), NAType(), None]  # pandas makes floats of whole numbers where some are missing
    assert rows_of(missing, NUMBERS) == [[0], [], [], []]
    assert rows_of([[np.int64(3), None], np.ma.array([0, 5], mask=[0, 1])], NUMBERS, queries=2) == [[0], [1]]


def test_uuids_are_their_texts():
    ids = [uuid.UUID(int=number) for number in range(8)]
    known = KnownItems(8, pa.array(map(str, ids), pa.large_string()))
    found = right_rows([ids[3], [ids[0], str(ids[1])]], known, KnownItems(2))
    assert [rows.tolist() for rows in found] == [[3], [0, 1]]


def test_mapping_names_queries_by_their_ids_and_grades_above_zero_are_right():
    graded = {"q2": {"t1": 2, "t2": 0}, "q0": {"t5": 1, "t3": 1}}
    assert rows_of(graded, query_ids=pa.array(["q0", "q1", "q2", "q3"])) == [[3, 5], [], [1], []]
    assert rows_of({"10": {"3": 1}, 12: 0}, NUMBERS, query_ids=pa.array([10, 11, 12, 13])) == [[0], [], [1], []]


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int64, np.float32, np.float64])
def test_mask_of_captions_gives_each_query_the_target_it_belongs_to(kind):
    mask = np.array([[1, 1, 0], [1, 0, 1]], kind)
    found = right_rows(mask, KnownItems(2, pa.array(["a", "b"])), KnownItems(6))
    assert [rows.tolist() for rows in found] == [[0], [0], [], [1], [], [1]]
    alone = right_rows(np.array([[1], [0], [1]], kind), KnownItems(3), KnownItems(3))
    assert [rows.tolist() for rows in alone] == [[0], [], [2]]


def test_rows_that_are_no_mask_are_row_numbers():
    swapped = right_rows(np.array([[1], [0]]), KnownItems(2), KnownItems(2))
    assert [rows.tolist() for rows in swapped] == [[1], [0]]
    lists = right_rows(np.array([[0, 1], [1, 1], [0, 0]]), KnownItems(3), KnownItems(3))
    assert [rows.tolist() for rows in lists] == [[0, 1], [1], [0]]
    with pytest.raises(InputError, match="expected 6 entries, one for each query, got 2"):
        right_rows(np.array([[1, 1, 2], [1, 0, 1]]), KnownItems(2), KnownItems(6))


ROWS_MEANT = "; if these are row numbers, write the ids of these rows"
OF_TEXT, OF_NUMBER = "expected the id of a target, a text such as 't0'", "expected the id of a target, a whole number"
OF_ROW = "expected the row number of a target, 0 to 7, as none has an id"
FORMS = "expected for each query the id of its right target, or a list of ids"


@pytest.mark.parametrize(
    ("labels", "ids", "message"),
    [
        (["t1", "t0", "who", "t2"], TEXTS, f", entry 2: {OF_TEXT}, got 'who', which no target has"),
        (
            ["t1", ["t0", "x"], "y", "z"],
            TEXTS,
            ", entry 1: .* 'x', .*; 2 more entries are wrong: entry 2, entry 3",
        ),
        ([2, 1, 0, 7], TEXTS, f", entry 0: {OF_TEXT}, got 2, a number; 3 more entries are wrong.*{ROWS_MEANT}"),
        ([3, 9, 0, 1], NUMBERS, f", entry 1: {OF_NUMBER} such as 3, got 9, which no target has"),
        (["3", 0, 1, 2], NUMBERS, f", entry 0: {OF_NUMBER} such as 3, got '3', a text"),
        ([5.5, 0, 1, 2], NUMBERS, ", entry 0: .* got 5.5, a number"),
        ([True, 0, 1, 2], NUMBERS, ", entry 0: .* got True"),
        ([2**70, 0, 1, 2], NUMBERS, f", entry 0: .* got {2**70}, which no target has"),
        ([0, 1, [2, [3]], 4], NUMBERS, r", entry 2: .* got \[3\]"),
        ([0, 1, 8, 2], None, f", entry 2: {OF_ROW}, got 8"),
        ([0, -1, 8, 2], None, f", entry 1: {OF_ROW}, got -1; 1 more entry is wrong: entry 2"),
        (["t0", 1, 2, 3], None, f", entry 0: {OF_ROW}, got 't0', a text; if these are ids, give the ids .* too"),
        ([np.datetime64(3, "ns"), 1, 2, 3], None, ", entry 0: .* got 3"),
        ([0, 1, 2], None, ": expected 4 entries, one for each query, got 3"),
        (np.array(5), None, f": {FORMS}, got an array of int64, shape .*"),
        (np.zeros(4, bool), None, f": {FORMS}, got an array of bool, shape .*"),
        (7, None, f": {FORMS}, got int"),
        (None, None, f": {FORMS}, got none"),
        ({4: 1}, None, ", key 4: expected the row number of a query, 0 to 3, as none has an id, got 4"),
        ({"1": {"0": "yes"}}, None, ", key '1': expected a grade of each id, a number: above 0 is right, got 'yes'"),
    ],
    ids=lambda given: None if isinstance(given, pa.Array) else repr(given)[:40],
)
def test_wrong_labels_are_refused_with_the_first_and_a_count(labels, ids, message):
    with pytest.raises(InputError, match=f"^relevant{message}$") as caught:
        rows_of(labels, ids)
    assert "\n" not in str(caught.value)


def test_key_that_no_query_has_is_named():
    message = "^relevant, key 'q9': expected the id of a query, a text such as 'q0', got 'q9', which no query has$"
    with pytest.raises(InputError, match=message):
        rows_of({"q9": "t1"}, query_ids=pa.array(["q0", "q1", "q2", "q3"]))


@pytest.mark.parametrize("suffix", [".npz", ".txt", ".jsonl", ".csv"])
def test_wrong_label_of_query_699_is_named_in_each_kind_of_file(tmp_path, suffix):
    path, labels = tmp_path / f"r{suffix}", [f"t{query % 8}" for query in range(1000)]
    labels[699] = "gone"
    write = {
        ".npz": lambda: np.savez(path, relevant=np.array(labels)),
        ".txt": lambda: path.write_text("\n".join(labels)),
        ".jsonl": lambda: path.write_text("\n".join(map(json.dumps, labels))),
        ".csv": lambda: path.write_text("\n".join(["asked;relevant", *(f'"a;b";{label}' for label in labels)])),
    }
    write[suffix]()
    with pytest.raises(InputError, match=rf"^relevant \(r{suffix}\), entry 699: .* got 'gone', which no target has$"):
        rows_of(path, queries=1000)
    assert rows_of(path, queries=1000, unknown_ids=True)[698:701] == [[2], [], [4]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("r.npy", b"\x93NUMPY", "a readable .npy file"),
        ("r.json", b"[1, 2", "a readable .json file"),
        ("r.json", b"\xff\xfe", "a readable .json file"),
        ("r.json", b"[" * 10**5, "a readable .json file"),
        ("r.jsonl", b'1\n{"a"', "a readable .jsonl file, got line 2"),
        ("r.parquet", b"PAR1", "a readable .parquet file"),
        ("r.npz", b"PK", "a readable .npz file"),
        ("r.xlsx", b"", "a file ending in .npy, .npz, .*, got .xlsx"),
        ("r.json", b'"t1"', "for each query the id .* got str"),
    ],
)
def test_file_that_cannot_be_read_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=rf"^relevant \({name}\): expected {message}"):
        rows_of(tmp_path / name)
    with pytest.raises(StorageError, match="relevant: there is no such file"):
        rows_of(tmp_path / "gone.npy")


def test_of_several_columns_that_of_the_labels_is_taken(tmp_path):
    pq.write_table(pa.table({"a": ["t1"], "b": ["t2"]}), tmp_path / "r.parquet")
    message = r"^relevant \(r.parquet\): expected a column named relevant, or a single one, got a, b$"
    with pytest.raises(InputError, match=message):
        rows_of(tmp_path / "r.parquet", queries=1)
