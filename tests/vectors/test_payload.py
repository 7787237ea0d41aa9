import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.files import write_parquet
from support.problems import normal

import hubless
from hubless.errors import InputError

ROWS = normal(12, 4, seed=1)


def build(folder, payload, targets=ROWS):
    hubless.build(folder / "catalog", "c", targets, ROWS, payload=payload, correction="none")
    return hubless.open(folder / "catalog", "c")


def written(folder, suffix, count=12):
    path, rows = folder / f"payload{suffix}", [{"title": f"title {row}", "year": row} for row in range(count)]
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        path.write_text("title,year\n" + "".join("{title},{year}\n".format(**row) for row in rows))
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
class TestFiles:
    def test_rows_stand_beside_their_targets(self, tmp_path, suffix):
        collection = build(tmp_path, written(tmp_path, suffix))
        assert collection.payload([7, 0]) == [{"title": "title 7", "year": 7}, {"title": "title 0", "year": 0}]
        assert collection.manifest.payload_columns == ["title", "year"]

    @pytest.mark.parametrize("count", [11, 13])
    def test_rows_too_many_or_too_few_are_refused_with_both_numbers(self, tmp_path, suffix, count):
        with pytest.raises(InputError, match=f"^payload: expected 12 rows, one a target, got {count} rows"):
            build(tmp_path, written(tmp_path, suffix, count))

    def test_empty_and_damaged_files_are_refused(self, tmp_path, suffix):
        path = tmp_path / f"payload{suffix}"
        for content in (b"", b'{"a": 1}\n{"a":', b"a,b\n1,2\n1,2,3\n", b"PAR1" + b"\0" * 100 + b"PAR1"):
            path.write_bytes(content)
            with pytest.raises(InputError) as caught:
                build(tmp_path, path)
            assert str(caught.value).startswith("payload")
            assert "\n" not in str(caught.value)


def test_unknown_ending_is_refused(tmp_path):
    (tmp_path / "payload.xlsx").touch()
    with pytest.raises(InputError, match=r"^payload \(payload.xlsx\): expected a file ending in .parquet"):
        build(tmp_path, tmp_path / "payload.xlsx")


def test_key_that_a_later_dict_lacks_is_null(tmp_path):
    assert build(tmp_path, [{"title": "x"}, *[{}] * 11]).payload([0, 1]) == [{"title": "x"}, {"title": None}]


@pytest.mark.parametrize(
    "payload", [[{"a": 1}] * 11 + [{"a": "x"}], [1] * 12, ["x"] * 12], ids=["types", "numbers", "strings"]
)
def test_list_that_is_no_table_is_refused(tmp_path, payload):
    with pytest.raises(
        InputError,
        match=r"^payload(, column a, row 11|, row 0)?: expected (values of one type|a table, .*|a dict), got ",
    ):
        build(tmp_path, payload)


def test_payload_given_replaces_that_in_the_file(tmp_path):
    path = write_parquet(tmp_path / "rows.parquet", ROWS, title=["in file"] * 12)
    assert build(tmp_path, None, path).payload([0]) == [{"title": "in file"}]
    assert build(tmp_path, [{"year": 1}] * 12, path).payload([0]) == [{"year": 1}]


class TestNested:
    def nested(self, depth, inner=1):
        for _ in range(depth):
            inner = [inner]
        return inner

    @pytest.mark.parametrize("depth", [61, 300, 1500])
    @pytest.mark.parametrize("make", [list, lambda rows: {"tree": [row["tree"] for row in rows]}], ids=["rows", "dict"])
    def test_payload_nested_too_deep_is_refused_naming_the_column(self, tmp_path, depth, make):
        payload = make([{"tree": self.nested(depth), "title": "a"}] * 12)
        for refused in (
            lambda: build(tmp_path, payload),
            lambda: hubless.Index(metric="dot", correction="none").fit(ROWS, ROWS[:12], payload=payload),
        ):
            with pytest.raises(InputError) as caught:
                refused()
            assert caught.value.parameter == "payload, column tree"
            assert caught.value.expected == "at most 60 lists and structs inside each other"

    def test_payload_at_the_limit_is_stored_and_read(self, tmp_path):
        tree = self.nested(29, {"inner": self.nested(30)})
        index = hubless.Index(metric="dot", correction="none").fit(ROWS[:6] + 1, ROWS, payload=[{"tree": tree}] * 12)
        index.save(tmp_path / "catalog", "c")
        assert hubless.open(tmp_path / "catalog", "c").payload([3]) == [{"tree": tree}]
