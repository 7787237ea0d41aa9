"""Ids that cannot be: in memory, in files, in columns, beside payload, and of targets that are added."""

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
ROWS_OF_IDS = [*OF_IDS, *OF_JOINED, *OF_ADDED]
