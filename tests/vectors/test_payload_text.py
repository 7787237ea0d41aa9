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
        ({"c": ["string"]}, "payload schema, column c: expected one of string, int64"),
        ("string", "payload schema: expected types by column"),
        ({"d": "string"}, "payload schema: expected columns of the payload, c, beside, got d"),
    ):
        with pytest.raises(InputError, match=f"^{said}"):
            csv(tmp_path, "a", types=types)


@pytest.mark.parametrize(
    ("value", "asked"),
    [
        *[(value, "int64") for value in ("a", "007", "1_000", "1.0", "1e3", " 7", "+7", f"{2**63}")],
        *[(value, "float64") for value in ("007", "1e999", f"{2**53 + 1}")],
        ("2", "bool"),
        ("[1.5]", "list<int64>"),
        ("2026-01-31T12:30:00", "date"),
        ("2026-01-31T12:30:00.1234567", "timestamp"),
        ("2026-01-31T12:30:00", "timestamp[utc]"),
        ("2026-01-31T12:30:00Z", "timestamp"),
    ],
)
def test_text_that_a_type_cannot_hold_is_refused_by_its_row(tmp_path, value, asked):
    with pytest.raises(
        InputError, match=f"^payload, column c, row 1: expected values of type .*, got '.*{value[-3:-1]}"
    ):
        csv(tmp_path, "", value, types={"c": asked})


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_number_that_json_has_not_is_named_with_its_line(tmp_path, constant):
    message = refusal(written(tmp_path, f'{{"c": 1}}\n{{"c": {{"x": [{constant}]}}}}', "payload.jsonl"))
    assert message.endswith(f"row 1 (line 2): expected JSON, which has no {constant}: write null, got {constant}")


@pytest.mark.parametrize("value", [2**63, 2**64 + 1, -(2**63) - 1])
@pytest.mark.parametrize("shape", ["{}", "[{}]"])
def test_whole_number_beyond_64_bits_names_the_limit_and_is_a_text_if_asked_for(tmp_path, value, shape):
    path = written(tmp_path, f'{{"c": {shape.format(value)}}}', "payload.jsonl")
    assert 'row 0: expected whole numbers from -2^63 to 2^63 - 1; payload_schema={"c": "string"}' in refusal(path)
    assert open_payload(path, {"c": "string"}).to_table().to_pylist() == [{"c": shape.format(value)}]


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
    with pytest.raises(
        InputError, match=r'column c, row 1: expected values of one type; payload_schema={"c": "string"}'
    ):
        jsonl(tmp_path, *rows)
    assert jsonl(tmp_path, *rows, types={"c": "string"}).to_pylist() == [{"c": "1"}, {"c": "one"}]


@pytest.mark.parametrize("line", ["[1]", "{"])
def test_line_that_is_no_object_is_refused_by_its_number(tmp_path, line):
    path = tmp_path / "payload.jsonl"
    path.write_text('{"a": 1}\n' + line)
    with pytest.raises(InputError, match=r"payload \(payload.jsonl\), row 1 \(line 2\): expected a JSON object"):
        open_payload(path)


def test_text_that_looks_like_lists_in_lists_without_end_stays_a_text(tmp_path):
    deep = "[" * 100_000 + "]" * 100_000
    path = tmp_path / "payload.csv"
    path.write_text(f"a\n{deep}\n")
    assert open_payload(path).to_table().to_pylist() == [{"a": deep}]
    with pytest.raises(InputError, match=r"payload, column a, row 0: expected values of type list<"):
        open_payload(path, {"a": "list<int64>"})


def test_lists_of_numbers_that_no_integer_holds_stay_texts(tmp_path):
    path = tmp_path / "payload.csv"
    path.write_text(f"a\n[{2**63}]\n")
    assert open_payload(path).to_table().to_pylist() == [{"a": f"[{2**63}]"}]
    with pytest.raises(InputError, match=r"payload, column a, row 0: expected values of type list<"):
        open_payload(path, {"a": "list<int64>"})


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


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("0.5,boat", None),
        ("0.5,1.25", "a first line with the names of the columns, got 0.5, 1.25"),
        ("17", "a first line with the names of the columns, got 17"),
        ("a,a", "columns of different names, got 2 columns 'a'"),
        (",b", "a name for each column, in the first line, such as id, got none, over values such as 'x'"),
        ("0,1", None),
    ],
)
def test_first_line_without_names_is_refused(tmp_path, header, problem):
    path = written(tmp_path, f"{header}\n" + ",".join("xy"[: header.count(",") + 1]) + "\n")
    if problem is None:
        assert open_payload(path).count_rows() == 1
    else:
        assert problem in refusal(path)


FAULTS = {
    "one column too many": ("{row},y,z", "2 columns, as the first line has"),
    "one column too few": ("{row}", "2 columns, as the first line has"),
    "a quote that stays open": ('{row},"y', "each quote closed"),
    "a letter of cp1252": (b"{row},caf\xe9", "iconv -f WINDOWS-1252 -t UTF-8 "),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_wrong_row_of_a_csv_is_named_by_its_row_and_line(tmp_path, fault):
    line, problem = FAULTS[fault]
    lines = [b"a,b", *(b"%d,x" % row for row in range(1000))]
    lines[700] = line if isinstance(line, bytes) else line.encode()
    message = refusal(written(tmp_path, b"\n".join(lines) + b"\n"))
    assert message.startswith("payload (payload.csv), row 699 (line 701): expected ")
    assert problem in message


@pytest.mark.parametrize("encoding", ["UTF-16", "UTF-16LE", "UTF-16BE"])
def test_utf16_is_named_with_the_command_that_converts_it(tmp_path, encoding):
    message = refusal(written(tmp_path, "a,b\n1,2\n".encode(encoding)))
    assert "got UTF-16" in message
    assert f"iconv -f {encoding} -t UTF-8 " in message


@pytest.mark.parametrize("value", ["1,5", "1.234,5", "-3,25"])
def test_decimal_comma_is_named_by_column_and_row_and_taken_as_text_if_asked_for(tmp_path, value):
    path = written(tmp_path, "name;price\n" + "a;7\n" * 699 + f"b;{value}\n")
    message = refusal(path)
    assert message.startswith("payload, column price, row 699: expected numbers with a decimal point")
    assert message.endswith(f"got '{value}'")
    assert open_payload(path, {"price": "string"}).to_table()["price"].to_pylist()[-1] == value
    assert refusal(path, {"price": "float64"}).startswith(
        "payload, column price, row 699: expected values of type double"
    )


@pytest.mark.parametrize(("value", "kind"), [("n/a", "float64"), ("01234", "float64"), ("1.10", "float64")])
def test_value_that_makes_a_column_text_is_logged_with_its_row(tmp_path, caplog, value, kind):
    path = written(tmp_path, "price\n" + "".join(f"{row}.1\n" for row in range(699)) + f"{value}\n0.5\n")
    assert str(open_payload(path).schema.field("price").type) == "string"
    assert caplog.messages == [f"payload, column price is text, as row 699 has '{value}', which is no {kind}"]


def test_texts_are_not_logged(tmp_path, caplog):
    open_payload(written(tmp_path, "title,zip\nboat,01234\n1984,80331\ncar,01235\n"))
    assert caplog.messages == []


@pytest.mark.parametrize("odd", ['"a"', "[1]", '{"x": 1}', "true"])
def test_value_of_another_type_in_json_lines_is_named_by_its_row(tmp_path, odd):
    for row in (699, LINES + 699):
        lines = [f'{{"c": {number}}}' for number in range(LINES + 1000)]
        lines[row] = f'{{"c": {odd}}}'
        message = refusal(written(tmp_path, "\n".join(lines), "payload.jsonl"))
        assert message.startswith(f"payload, column c, row {row}: expected values of one type; payload_schema=")


def test_line_of_json_in_another_encoding_is_named(tmp_path):
    lines = b'{"a": 1}\n' * 699 + b'{"a": "caf\xe9"}\n'
    message = refusal(written(tmp_path, lines, "payload.jsonl"))
    assert "row 699 (line 700)" in message
    assert "iconv -f WINDOWS-1252 -t UTF-8 " in message
    assert open_payload(written(tmp_path, b'\xef\xbb\xbf{"a": 1}\n', "payload.jsonl")).count_rows() == 1
