"""Payload that does not fit the targets, or cannot be read: in memory, as lines of JSON, and as CSV."""

import pyarrow as pa
from support.refusals.shape import (
    NAMES,
    NUMBERS,
    among,
    content,
    rows_of,
    table,
)


def nested(depth):
    inner = 1
    for _ in range(depth):
        inner = [inner]
    return inner


TITLES = [{"n": row} for row in NUMBERS]
LINES = [f'{{"n": {row}}}' for row in NUMBERS]
OF_PAYLOAD = rows_of(
    "fit",
    payload=[
        *(
            (TITLES[:1] * count, f"payload: expected 1000 rows, one a target, got {count} rows")
            for count in (999, 1001)
        ),
        ([{}] * 1000, "payload: expected 1000 rows, one a target, got 0 rows"),
        (among(TITLES, "x"), "payload, row 699: expected a dict, got "),
        (among(TITLES, None), "payload, row 699: expected a dict, got NoneType"),
        ([1] * 1000, "payload…: expected a"),
        (among(TITLES, {"n": "x"}), "payload, column n, row 699: expected values of one type"),
        ({"n": among(NUMBERS, "x")}, "payload, column n, row 699: expected values of one type"),
        (among(TITLES, {"n": object()}), "payload, column n, row 699: expected"),
        (pa.table([NUMBERS, NUMBERS], names=["a", "a"]), "payload: expected columns of different names"),
        (
            pa.table({"a": pa.array([[1]] * 1000, pa.list_(pa.timestamp("ns")))}),
            "payload, column a: expected nested times",
        ),
        *(
            (payload, "payload, column tree: expected at most 60 lists and structs inside each other")
            for depth in (61, 300, 1500)
            for payload in ([{"tree": nested(depth)}] * 1000, {"tree": [nested(depth)] * 1000})
        ),
        *(
            (content(f"p{ending}", written), "payload")
            for ending in (".parquet", ".jsonl", ".csv")
            for written in (b"", b'{"a": 1}\n{"a":', b"a,b\n1,2\n1,2,3\n", b"PAR1" + b"\0" * 100 + b"PAR1")
        ),
        (content("p.xlsx", ""), "payload (p.xlsx): expected a file ending in .parquet"),
        (content("p.jsonl", among(LINES, '{"n": ')), "payload (p.jsonl), row 699 (line 700): expected a JSON obj"),
        (content("p.jsonl", among(LINES, "[1]")), "payload (p.jsonl), row 699 (line 700): expected a JSON object"),
        *(
            (
                content("p.jsonl", among(LINES, f'{{"n": {{"x": [{constant}]}}}}')),
                f"payload (p.jsonl), row 699 (line 700): expected JSON, which has no {constant}: …got {constant}",
            )
            for constant in ("NaN", "Infinity", "-Infinity")
        ),
        *(
            (
                content("p.jsonl", among(LINES, f'{{"n": {odd}}}')),
                "payload, column n, row 699: expected values of one type; payload_schema=",
            )
            for odd in ('"a"', "[1]", '{"x": 1}', "true")
        ),
        *(
            (
                content("p.jsonl", among(LINES, f'{{"n": {number}}}')),
                "…row 699…: expected whole numbers from -2^63 to 2^63 - 1",
            )
            for number in (2**63, 2**64 + 1, -(2**63) - 1)
        ),
        (
            content("p.jsonl", among(LINES, f'{{"n": [{2**63}]}}')),
            "payload, column n, row 699: expected values of one type; payload_schema=",
        ),
        (
            content("p.jsonl", "".join(f"{line}\n" for line in among(LINES, '{"n": "café"}')).encode("cp1252")),
            "payload (p.jsonl), row 699 (line 700): …iconv -f WINDOWS-1252 -t UTF-8 ",
        ),
        *(
            (
                content("p.csv", among(["a,b", *(f"{row},x" for row in NUMBERS)], line)),
                f"payload (p.csv), row 698 (line 700): expected …{words}",
            )
            for line, words in (
                ("7,y,z", "2 columns, as the first line has"),
                ("7", "2 columns, as the first line has"),
                ('7,"y', "each quote closed"),
            )
        ),
        (
            content("p.csv", "\n".join(among(["a", *NAMES], "café")).encode("cp1252")),
            "payload (p.csv), row 698 (line 700): expected …iconv -f WINDOWS-1252 -t UTF-8 ",
        ),
        *(
            (
                content("p.csv", "a,b\n1,2\n".encode(encoding)),
                f"payload (p.csv)…iconv -f {encoding} -t UTF-8 …got UTF-16",
            )
            for encoding in ("UTF-16", "UTF-16LE", "UTF-16BE")
        ),
        *(
            (
                table("p.csv", n=among(NUMBERS, value)),
                f"payload, column n, row 699: expected numbers with a decimal point…got '{value}'",
            )
            for value in ("1,5", "1.234,5", "-3,25")
        ),
        *(
            (content("p.csv", f"{header}\n{row}\n"), f"payload (p.csv): expected {words}")
            for header, row, words in (
                ("0.5,1.25", "x,y", "a first line with the names of the columns, got 0.5, 1.25"),
                ("17", "x", "a first line with the names of the columns, got 17"),
                ("a,a", "x,y", "columns of different names, got 2 columns 'a'"),
                (
                    ",b",
                    "x,y",
                    "a name for each column, in the first line, such as id, got none, over values such as 'x'",
                ),
            )
        ),
    ],
)
CSV = table("p.csv", c=among([""] * 1000, "a"), beside=NUMBERS)
OF_SCHEMA = rows_of(
    "fit",
    *(
        (
            {"payload": table("p.csv", c=among([""] * 1000, value), beside=NUMBERS), "payload_schema": {"c": kind}},
            f"payload, column c, row 699: expected values of type …, got '…{value[-3:-1]}",
        )
        for value, kind in (
            *((value, "int64") for value in ("a", "007", "1_000", "1.0", "1e3", " 7", "+7", f"{2**63}")),
            *((value, "float64") for value in ("007", "1e999", f"{2**53 + 1}", "1,5")),
            ("2", "bool"),
            ("[1.5]", "list<int64>"),
            (f"[{2**63}]", "list<int64>"),
            ("[" * 100_000, "list<int64>"),
            ("2026-01-31T12:30:00", "date"),
            ("2026-01-31T12:30:00.1234567", "timestamp"),
            ("2026-01-31T12:30:00", "timestamp[utc]"),
            ("2026-01-31T12:30:00Z", "timestamp"),
        )
    ),
    *(
        ({"payload": CSV, "payload_schema": schema}, f"payload{words}")
        for schema, words in (
            ({"c": "number"}, "_schema.c: expected one of string, int64"),
            ({"c": ["string"]}, "_schema.c: expected one of string, int64"),
            ("string", " schema: expected types by column"),
            ({"d": "string"}, " schema: expected columns of the payload, c, beside, got d"),
        )
    ),
    ({"payload_schema": {"rank": "string"}}, "payload schema: expected a payload"),
)
ROWS_OF_PAYLOAD = [*OF_PAYLOAD, *OF_SCHEMA]
