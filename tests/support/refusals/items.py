"""Ids and payload that do not fit the targets: in memory, in files, and of targets that are added."""

from uuid import UUID

import numpy as np
import pyarrow as pa
from support.refusals.shape import (
    BAD,
    LISTS,
    NAMES,
    NUMBERS,
    TARGETS,
    among,
    content,
    npy,
    objects,
    parquet,
    rows_of,
    table,
    wrong,
)

from hubless.errors import DuplicateIds, NotFinite, StorageError, UnknownField

NO_ID = "expected strings, or whole numbers of 64 bits, got "
NUMBER = "expected a whole number below 2^63, or a string, got "
OF_IDS = rows_of(
    "fit",
    *(
        ({"targets": parquet("t.parquet", vector=LISTS, image_id=NAMES, other=other), "ids": column}, words, *error)
        for column, other, words, *error in (
            ("image", NAMES, "ids: expected a file ending in .npy, …or a column: image_id, other, got image"),
            (
                "other",
                among(NAMES, "id-3"),
                "ids (column other): expected an id for each target, each once, got 'id-3' in",
            ),
            ("other", among(NAMES, None), "ids (column other), row 699: expected an id for each row, got none"),
        )
    ),
    ({"targets": npy("t.npy", TARGETS), "ids": "image_id"}, "ids: …or a column, but there is none, got image_id"),
    (
        {"targets": parquet("t.parquet", vector=LISTS, id=NAMES), "ids": NAMES[::-1]},
        "ids: expected the order of the targets, or other ids … in another order, such as 'id-999'",
    ),
    ids=[
        (among(NUMBERS, "a"), "ids, row 699: expected a whole number, as row 0 has, got 'a'"),
        (among(NAMES, 1), "ids, row 699: expected a string, as row 0 has, got 1"),
        (objects(among(NAMES, 1)), "ids, row 699: expected a string, as row 0 has, got 1"),
        (among(NUMBERS, True), f"ids, row 699: {NO_ID}True"),
        ([True] * 1000, f"ids, row 0: {NO_ID}True"),
        ([None, *NAMES[1:]], "ids, row 0: expected an id for each row, got none"),
        (among(NUMBERS, 2.0), f"ids, row 699: {NO_ID}2.0"),
        (np.arange(1000.0), f"ids, row 0: {NO_ID}0.0"),
        (among(NUMBERS, [1]), f"ids, row 699: {NO_ID}[1]"),
        (among(NAMES, b"\xff"), "ids, row 699: expected text in UTF-8, got b'\\xff'"),
        (np.array(among([b"%d" % row for row in NUMBERS], b"\xff")), "ids, row 699: expected text in UTF-8"),
        (among(NAMES, "\ud800"), "ids, row 699: expected text in UTF-8, got '\\ud800'"),
        (among(NUMBERS, 2**63), f"ids, row 699: {NUMBER}9223372036854775808"),
        (among(NUMBERS, -(2**64)), f"ids, row 699: {NUMBER}-18446744073709551616"),
        (np.array(among(NUMBERS, 2**63), np.uint64), f"ids, row 699: {NUMBER}92233720368547"),
        (pa.array(among(NUMBERS, 2**63), pa.uint64()), f"ids, row 699: {NUMBER}922337203"),
        (
            np.ma.array(NUMBERS, mask=[row == BAD for row in NUMBERS]),
            "ids, row 699: expected an array without masked values: fill them, or leave th",
        ),
        (among([UUID(int=row) for row in NUMBERS], 7), "ids, row 699: expected a string, as row 0 has, got 7"),
        (np.array([[1]]), "ids: expected strings, or whole numbers of 64 bits, one a row, got an array of shape"),
        ([], f"ids: {NO_ID}none"),
        (5, f"ids: {NO_ID}int"),
        *(
            (given, "ids, row 699: expected an id for each row, got none")
            for given in (among(NUMBERS, None), objects(among(NAMES, None)), pa.array(among(NUMBERS, None), pa.int32()))
        ),
        *(
            (given, f"ids: expected 1000, one a target, got {count}")
            for given, count in ((NUMBERS[1:], 999), ([*NUMBERS, 1000], 1001), (npy("ids.npy", np.arange(999)), 999))
        ),
        (among(NAMES, "id-3"), "ids: expected unique ids, got 'id-3' in rows 3 and 699", DuplicateIds),
        ([4, 7] * 500, "ids: expected unique ids, got 4 in rows 0 and 2", DuplicateIds),
        (npy("ids.npy", np.array(among(NUMBERS, 2**63), np.uint64)), f"ids (ids.npy), row 699: {NUMBER}"),
        (
            content("ids.txt", among(NAMES, "id-3")),
            "ids: expected unique ids, got 'id-3' in rows 3 and 699",
            DuplicateIds,
        ),
        (parquet("ids.parquet", id=among(NAMES, None)), "ids (ids.parquet), row 699: expected an id for each row"),
        *(
            (
                parquet("ids.parquet", **columns),
                f"ids (ids.parquet): expected a column named id, or a single one, got {', '.join(columns) or 'none'}",
            )
            for columns in ({}, {"a": [1], "b": [2]})
        ),
        *(
            (content(f"ids{ending}", written), f"ids (ids{ending}): expected a readable {ending} file, got ")
            for ending in (".npy", ".parquet")
            for written in (b"", b"PAR", b"id\n1\n2\n", b"PK\x03\x04")
        ),
        (content("ids.xlsx", "1"), "ids: expected a file ending in .npy, .npz, .txt, …got …ids.xlsx"),
        (lambda folder: folder / "nowhere.txt", "…nowhere.txt: ids: there is no such file", StorageError),
    ],
    targets=[
        (
            parquet("t.parquet", vector=LISTS, id=among(NAMES, None)),
            "targets (t.parquet), column id, row 699: expected an id for each row",
        ),
        *(
            (parquet("t.parquet", vector=LISTS[:2], id=ids), "targets (t.parquet), column id, row 0: expected ")
            for ids in ([1.5, 2.5], [None, 1], [True, False])
        ),
    ],
)


def joined(ids):
    """Payload with a column of ids, beside targets with theirs."""
    return {
        "targets": parquet("t.parquet", vector=LISTS, id=NAMES),
        "payload": {"id": ids, "n": list(range(len(ids)))},
    }


OF_JOINED = rows_of(
    "fit",
    (joined([*NAMES[1:], "x"]), "payload, id: expected a row for the id of each target; …, got none for 'id-0'"),
    (joined([*NAMES[::-1], "x"]), "payload, id, row 1000: expected the id of a target; …, got 'x'"),
    (
        joined([*NAMES[:0:-1], "id-1"]),
        "payload, id: expected each id once; if these are no ids, rename …, got 'id-1' in rows 998",
    ),
    (joined(NUMBERS), "payload, id: expected a row for the id of each target; …, got none for 'id-0' and 999 more"),
    (joined([0.5] * 1000), "payload, column id, row 0: expected strings, or whole numbers"),
    ({"payload": [{"id": each} for each in among(NAMES, None)]}, "payload, column id, row 699: expected an id"),
    (
        {"payload": [{"id": each} for each in among(NAMES, "id-3")]},
        "payload, column id: expected …'id-3' in rows 3 and 699",
    ),
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
        ({"payload": CSV, "payload_schema": schema}, f"payload schema{words}")
        for schema, words in (
            ({"c": "number"}, ", column c: expected one of string, int64"),
            ({"c": ["string"]}, ", column c: expected one of string, int64"),
            ("string", ": expected types by column"),
            ({"d": "string"}, ": expected columns of the payload, c, beside, got d"),
        )
    ),
    ({"payload_schema": {"rank": "string"}}, "payload schema: expected a payload"),
)
OF_ADDED = rows_of(
    "add",
    ({"vectors": wrong(np.nan), "ids": NAMES}, "vectors, row 699, column 2: expected a finite", NotFinite),
    ({"vectors": among(LISTS, None), "ids": NAMES}, "vectors, row 699: expected a vector, got none"),
    ids=[
        (["id-0", "x"], "ids: expected ids that no target has, got 'id-0', the id of row 0", DuplicateIds),
        (["x", "x"], "ids: expected unique ids, got 'x' in rows 0 and 1", DuplicateIds),
        (["x"], "ids: expected 2, one a target, got 1"),
        (["x", 2], "ids, row 1: expected a string, as row 0 has, got 2"),
        ([1, 2], "ids: expected strings, as the ids of this index are, got int64"),
        (None, "ids: expected an id for each vector, as the ids of this index are strings, got none"),
    ],
    payload=[
        ([{"m": 1}] * 2, "payload: expected one of the columns n, got m", UnknownField),
        ([{"n": 1}], "payload: expected 2 rows, …, got 1 rows"),
        ([{"n": "a"}] * 2, "payload, column n, row 0: "),
    ],
)
ROWS_OF_ITEMS = [*OF_IDS, *OF_JOINED, *OF_PAYLOAD, *OF_SCHEMA, *OF_ADDED]
