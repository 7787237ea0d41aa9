import datetime
import json

import pytest

from hubless.errors import InputError
from hubless.vectors.payload import open_payload
from hubless.vectors.readers.json_rows import LINES


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
        (["0.5", "2.5454545454545454", "1e-05"], "double", [0.5, 2.5454545454545454, 1e-05]),
        (
            ["0.30000000000000004", "1.7976931348623157e+308", "5e-324"],
            "double",
            [0.1 + 0.2, 1.7976931348623157e308, 5e-324],
        ),
        (["1.000000000000000056e-01", "-2.5e+00"], "double", [0.1, -2.5]),
        (["0.1000000000000000057"], "string", ["0.1000000000000000057"]),
        ([".5", "-.25"], "double", [0.5, -0.25]),
        (["True", "False", "TRUE", "true", ""], "bool", [True, False, True, True, None]),
        (["True", "yes"], "string", ["True", "yes"]),
        (["10000000000000000000", "1.5"], "string", ["10000000000000000000", "1.5"]),
        (["1_000"], "string", ["1_000"]),
        (["007", "+1.0"], "string", ["007", "+1.0"]),
        (["inf", "1.5", "2.5"], "string", ["inf", "1.5", "2.5"]),
        (["12", "-3", ""], "int64", [12, -3, None]),
        (["00123", "4"], "string", ["00123", "4"]),
        (["+4"], "string", ["+4"]),
        (["9223372036854775807"], "int64", [2**63 - 1]),
        (["92233720368547758070"], "string", ["92233720368547758070"]),
        (["1.5", "2", "NA"], "double", [1.5, 2.0, None]),
        (["1.1", "1.10"], "string", ["1.1", "1.10"]),
        (["0.12345678901234567"], "string", ["0.12345678901234567"]),
        (["1e999"], "string", ["1e999"]),
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


def test_keys_of_all_lines_of_json_count_however_late_they_come(tmp_path):
    table = jsonl(tmp_path, *({"a": row} for row in range(LINES + 5)), {"b": "late"}, {"a": 1.5})
    assert table.column_names == ["a", "b"]
    assert table["a"].to_pylist()[-3:] == [LINES + 4, None, 1.5]
    assert table["b"].to_pylist() == [None] * (LINES + 5) + ["late", None]


@pytest.mark.parametrize("text", ["[" * 100_000 + "]" * 100_000, f"[{2**63}]"], ids=["lists without end", "no integer"])
def test_text_that_looks_like_a_list_that_no_column_holds_stays_a_text(tmp_path, text):
    assert open_payload(written(tmp_path, f"a\n{text}\n")).to_table().to_pylist() == [{"a": text}]


@pytest.mark.parametrize("values", [[2**63], [-(2**63) - 1], [[2**64]], [1, "one"]], ids=str)
def test_values_that_no_type_holds_are_texts_if_asked_for(tmp_path, values):
    rows = jsonl(tmp_path, *({"c": value} for value in values), types={"c": "string"}).to_pylist()
    assert [row["c"] for row in rows] == list(map(str, values))


def test_decimal_comma_is_a_text_if_asked_for(tmp_path):
    path = written(tmp_path, "price\n7\n1.234,5\n".replace(",", ";").replace("1.234;5", '"1.234,5"'))
    assert open_payload(path, {"price": "string"}).to_table()["price"].to_pylist() == ["7", "1.234,5"]


@pytest.mark.parametrize("header", ["0.5,boat", "0,1"])
def test_first_line_of_which_not_all_are_numbers_or_that_counts_is_names(tmp_path, header):
    assert open_payload(written(tmp_path, f"{header}\nx,y\n")).count_rows() == 1


def test_byte_order_mark_before_json_is_left_out(tmp_path):
    assert open_payload(written(tmp_path, b'\xef\xbb\xbf{"a": 1}\n', "payload.jsonl")).count_rows() == 1


def test_texts_of_json_keep_their_offset_and_zeros(tmp_path):
    row = {"zip": "00123", "at": "2026-01-31T12:30:00+02:00", "tags": ["a"], "of": {"x": 1}}
    assert jsonl(tmp_path, row).to_pylist() == [row]


def test_texts_of_json_that_are_all_dates_or_times_become_such(tmp_path):
    table = jsonl(tmp_path, {"on": "2026-01-31", "at": "2026-01-31 12:30:00"}, {"on": None})
    assert [str(kind) for kind in table.schema.types] == ["date32[day]", "timestamp[us]"]


def written(folder, content, name="payload.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(path, types=None):
    with pytest.raises(InputError) as caught:
        open_payload(path, types)
    assert "\n" not in str(caught.value)
    return str(caught.value)


AS_PEOPLE_WRITE_IT = {
    "semicolons": "name;price\na;1\nb;2\n",
    "semicolons beside a comma": "name;price\na;1\nb;2\n".replace("name", '"name"'),
    "tabs": "name\tprice\na\t1\nb\t2\n",
    "bars": "name|price\na|1\nb|2\n",
    "byte order mark": "\ufeffname,price\na,1\nb,2\n",
    "byte order mark and semicolons": "\ufeffname;price\r\na;1\r\nb;2\r\n",
    "quotes": '"name","price"\n"a","1"\n"b","2"\n',
    "lines between": "name,price\n\na,1\n\nb,2\n\n",
    "an index of pandas": ",name,price\n0,a,1\n1,b,2\n",
    "an index of some rows": " ,name,price\n3,a,1\n17,b,2\n",
    "an empty column at the end": "name,price,\na,1,\nb,2,\n",
}


@pytest.mark.parametrize("content", AS_PEOPLE_WRITE_IT.values(), ids=AS_PEOPLE_WRITE_IT)
def test_csv_as_people_write_it_has_its_columns(tmp_path, content):
    assert open_payload(written(tmp_path, content)).to_table().to_pylist() == [
        {"name": "a", "price": 1},
        {"name": "b", "price": 2},
    ]


def test_delimiter_in_a_name_or_in_a_quoted_value_makes_no_column(tmp_path):
    rows = open_payload(written(tmp_path, 'name;"price, EUR"\n"a;b,c";1\n')).to_table().to_pylist()
    assert rows == [{"name": "a;b,c", "price, EUR": 1}]
    assert open_payload(written(tmp_path, "a,b|c\n1,x\n")).schema.names == ["a", "b|c"]


def test_values_with_line_ends_are_kept(tmp_path):
    content = 'a,b\n1,"x\ny"\n2,"p ""q"" r"\n'
    assert open_payload(written(tmp_path, content)).to_table()["b"].to_pylist() == ["x\ny", 'p "q" r']


def test_empty_line_of_a_csv_of_one_column_is_an_empty_cell(tmp_path):
    assert open_payload(written(tmp_path, "year\n1\n\n3\n")).to_table()["year"].to_pylist() == [1, None, 3]


@pytest.mark.parametrize(("value", "kind"), [("n/a", "float64"), ("01234", "float64"), ("1.10", "float64")])
def test_value_that_makes_a_column_text_is_logged_with_its_row(tmp_path, caplog, value, kind):
    path = written(tmp_path, "price\n" + "".join(f"{row}.1\n" for row in range(699)) + f"{value}\n0.5\n")
    assert str(open_payload(path).schema.field("price").type) == "string"
    assert caplog.messages == [f"payload, column price is text, as row 699 has '{value}', which is no {kind}"]


def test_texts_are_not_logged(tmp_path, caplog):
    open_payload(written(tmp_path, "title,zip\nboat,01234\n1984,80331\ncar,01235\n"))
    assert caplog.messages == []


@pytest.mark.parametrize("odd", ['"a"', "true"])
def test_value_of_another_type_after_the_first_lines_of_json_is_named_by_its_row(tmp_path, odd):
    lines = [f'{{"c": {number}}}' for number in range(LINES + 1000)]
    lines[row := LINES + 699] = f'{{"c": {odd}}}'
    message = refusal(written(tmp_path, "\n".join(lines), "payload.jsonl"))
    assert message.startswith(f"payload, column c, row {row}: expected values of one type; payload_schema=")
