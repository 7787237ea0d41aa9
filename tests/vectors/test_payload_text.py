import datetime
import json

import pytest

from hubless.errors import InputError
from hubless.vectors.payload import open_payload
from hubless.vectors.payload_text import LINES


def csv(folder, *values, types=None):
    path = folder / "payload.csv"
    quoted = ('"{}"'.format(value.replace('"', '""')) for value in values)
    path.write_text("\n".join(["c,beside", *(f"{value},x" for value in quoted)]))
    column = open_payload(path, types).to_table()["c"]
    return str(column.type), column.to_pylist()


def jsonl(folder, *rows, types=None):
    path = folder / "payload.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return open_payload(path, types).to_table()


@pytest.mark.parametrize(
    ("values", "kind", "read"),
    [
        (["12", "-3", ""], "int64", [12, -3, None]),
        (["00123", "4"], "string", ["00123", "4"]),
        (["+4"], "string", ["+4"]),
        (["9223372036854775807"], "int64", [2**63 - 1]),
        (["92233720368547758070"], "string", ["92233720368547758070"]),
        (["1.5", "2", "NA"], "double", [1.5, 2.0, None]),
        (["1.1", "1.10"], "string", ["1.1", "1.10"]),
        (["0.12345678901234567"], "string", ["0.12345678901234567"]),
        (["1e999"], "string", ["1e999"]),
        (["true", "false"], "bool", [True, False]),
        (["2026-01-31"], "date32[day]", [datetime.date(2026, 1, 31)]),
        (["2026-02-31"], "string", ["2026-02-31"]),
        (["2026-01-31T12:30:00"], "timestamp[us]", [datetime.datetime(2026, 1, 31, 12, 30)]),
        (["2026-01-31T12:30:00+02:00"], "string", ["2026-01-31T12:30:00+02:00"]),
        (['["a", "b"]', "[]"], "list<item: string>", [["a", "b"], []]),
        (["[a]"], "string", ["[a]"]),
        (["NA", "DE", ""], "string", ["NA", "DE", ""]),
        (["", ""], "string", ["", ""]),
    ],
)
def test_column_of_a_csv_gets_a_type_only_if_it_loses_no_character(tmp_path, values, kind, read):
    assert csv(tmp_path, *values) == (kind, read)


@pytest.mark.parametrize(
    ("values", "asked", "kind", "read"),
    [
        (["12"], "string", "string", ["12"]),
        (["00123"], "int64", "int64", [123]),
        (["1.10", "1.1"], "float64", "double", [1.1, 1.1]),
        (['["1"]', ""], "list<string>", "list<item: string>", [["1"], None]),
        (
            ["2026-01-31T12:30:00+02:00"],
            "timestamp[utc]",
            "timestamp[us, tz=UTC]",
            [datetime.datetime(2026, 1, 31, 10, 30, tzinfo=datetime.UTC)],
        ),
    ],
)
def test_column_is_what_the_schema_says(tmp_path, values, asked, kind, read):
    assert csv(tmp_path, *values, types={"c": asked}) == (kind, read)


def test_schema_that_cannot_be_is_refused_by_name(tmp_path):
    for types, said in (
        ({"c": "number"}, "payload schema, column c: expected one of string, int64"),
        ({"d": "string"}, "payload schema: expected columns of the payload, c, beside, got d"),
        ({"c": "int64"}, "payload, column c: expected values of type int64"),
    ):
        with pytest.raises(InputError, match=f"^{said}"):
            csv(tmp_path, "a", types=types)


def test_keys_of_all_lines_of_json_count_however_late_they_come(tmp_path):
    table = jsonl(tmp_path, *({"a": row} for row in range(LINES + 5)), {"b": "late"}, {"a": 1.5})
    assert table.column_names == ["a", "b"]
    assert table["a"].to_pylist()[-3:] == [LINES + 4, None, 1.5]
    assert table["b"].to_pylist() == [None] * (LINES + 5) + ["late", None]


def test_texts_of_json_keep_their_offset_and_zeros(tmp_path):
    row = {"zip": "00123", "at": "2026-01-31T12:30:00+02:00", "tags": ["a"], "of": {"x": 1}}
    assert jsonl(tmp_path, row).to_pylist() == [row]


def test_texts_of_json_that_are_all_dates_or_times_become_such(tmp_path):
    table = jsonl(tmp_path, {"on": "2026-01-31", "at": "2026-01-31 12:30:00"}, {"on": None})
    assert [str(kind) for kind in table.schema.types] == ["date32[day]", "timestamp[us]"]


def test_values_of_several_types_are_refused_or_as_texts_taken(tmp_path):
    rows = [{"c": 1}, {"c": "one"}]
    with pytest.raises(InputError, match=r"column c: expected values of one type; --set payload_schema.c=string"):
        jsonl(tmp_path, *rows)
    assert jsonl(tmp_path, *rows, types={"c": "string"}).to_pylist() == [{"c": "1"}, {"c": "one"}]


@pytest.mark.parametrize("line", ["[1]", "{"])
def test_line_that_is_no_object_is_refused_by_its_number(tmp_path, line):
    path = tmp_path / "payload.jsonl"
    path.write_text('{"a": 1}\n' + line)
    with pytest.raises(InputError, match=r"payload \(payload.jsonl\), line 2: expected a JSON object"):
        open_payload(path)


def test_text_that_looks_like_lists_in_lists_without_end_stays_a_text(tmp_path):
    deep = "[" * 100_000 + "]" * 100_000
    path = tmp_path / "payload.csv"
    path.write_text(f"a\n{deep}\n")
    assert open_payload(path).to_table().to_pylist() == [{"a": deep}]
    with pytest.raises(InputError, match=r"payload, column a: expected values of type list<"):
        open_payload(path, {"a": "list<int64>"})
