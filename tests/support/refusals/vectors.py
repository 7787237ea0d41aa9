"""Vectors that are none, in memory and in files: among 1,000 rows one is bad, and named by its place."""

import numpy as np
import pyarrow as pa
from support.files import write_pickled
from support.refusals.shape import (
    BAD,
    BANK,
    COMMAND,
    DIM,
    LISTS,
    NAMES,
    NUMBERS,
    PYTHON,
    ROWS,
    TARGETS,
    among,
    content,
    feather,
    folder_of,
    fvecs,
    indexed,
    lines_of_json,
    npy,
    npz,
    objects,
    parquet,
    rows_of,
    table,
    wrong,
)

from hubless.errors import DimensionMismatch, NotFinite, StorageError, ZeroVector

CATEGORIES = pa.DictionaryArray.from_arrays([0, None], pa.array(["x"], pa.string_view()))
"""A column of categories, as polars has them: Arrow has no kernel for it."""


class OnAnotherDevice:
    def __array__(self, dtype=None, copy=None):
        raise TypeError("can't convert cuda:0 device type tensor to numpy.\nUse Tensor.cpu()")


def numbered(values):
    return {f"e{column}": values for column in range(DIM)}


def nulled(value=None):
    return [*LISTS[BAD][:-1], value]


def masked():
    return np.ma.array(TARGETS, mask=[[row == BAD] * DIM for row in NUMBERS])


FINITE = "expected a finite number that fits float32, got "
IN_MEMORY = rows_of(
    "fit",
    (
        {"targets": wrong(1e30), "metric": "dot"},
        "targets, row 699: expected a vector of length 1e+08 at most",
        NotFinite,
    ),
    *(
        (
            {"metric": "dot", "correction": correction, name: np.float32(length) * rows},
            f"{parameter}, row 0: expected a vector of length 1e+08 at most, as lengths count",
            NotFinite,
        )
        for name, parameter, rows in (("targets", "targets", TARGETS), ("query_bank", "query bank", BANK))
        for length in (1e10, 1e37)
        for correction in ("auto", "csls", "none")
    ),
    targets=[
        *(
            (wrong(value, TARGETS.astype(kind)), f"targets, row 699, column 2: {FINITE}{value}", NotFinite)
            for value, kind in ((np.nan, "f4"), (np.inf, "f8"), (-np.inf, "f4"), (1e39, "f8"))
        ),
        (wrong(0), "targets, row 699: expected a vector of non-zero length", ZeroVector),
        (among(LISTS, [1.0]), "targets, row 699: expected 8 numbers, as row 0 has, got 1 numbers"),
        (among(LISTS, None), "targets, row 699: expected a vector, got none"),
        (among(LISTS, nulled()), "targets, row 699, column 7: expected a number, got none"),
        (among(LISTS, nulled("x")), "targets, row 699, column 7: expected a number, got 'x'"),
        (objects(among(LISTS, [1.0])), "targets, row 699: expected 8 numbers, as row 0 has, got 1 numbers"),
        (objects(among(LISTS, None)), "targets, row 699: expected a vector, got none"),
        (objects(among(LISTS, nulled())), "targets, row 699, column 7: expected a number, got none"),
        (objects([[1.0], [[1.0], [2.0, 3.0]]]), "targets, row 1: expected a vector, got lists of several"),
        (masked(), "targets, row 699: expected an array without masked values: fill them, or "),
        ([np.ma.array([1.0], mask=[True])], "targets, row 0: expected a vector without masked values"),
        (pa.array(among(LISTS, None)), "targets, row 699: expected a vector, got a null"),
        (pa.array(among(LISTS, nulled())), "targets, row 699, column 7: expected a number, got a null"),
        (pa.array(among(LISTS, [1.0])), "targets, row 699: expected 8 numbers, as row 0 has, got 1"),
        (pa.array([1.0, None]), "targets, row 1: expected a number, got one of 1 nulls"),
        (pa.chunked_array([CATEGORIES[:1]]), "targets: expected a column of numbers, got dictionary<values="),
        (
            OnAnotherDevice(),
            "targets: expected an array that NumPy can read, got can't convert cuda:0 device type tensor to numpy.",
        ),
        *(
            (np.ones(shape), "targets: expected a matrix with at least one row, got an array of shape")
            for shape in [(), (4,), (2, 3, 4), (0, 4), (4, 0)]
        ),
        (np.ones((3, 4), int), "targets: expected float16, float32 or float64, … got int64"),
        (np.array([1.0, 2.0], object), "targets: expected a matrix … got an array of shape (2,)"),
    ],
    query_bank=[
        (wrong(np.nan), "query bank, row 699, column 2: expected a finite", NotFinite),
        (npz("b.npz", wrong(0)), "query bank (b.npz), row 699: expected a vector", ZeroVector),
    ],
)
OF_QUERIES = rows_of(
    "query",
    vectors=[
        ([1.0, np.nan, *[1.0] * 6], f"vector[1]: {FINITE}nan", NotFinite),
        ([0.0] * DIM, "vector: expected a vector of non-zero length", ZeroVector),
        (wrong(np.nan), "vector, row 699, column 2: expected a finite number that", NotFinite),
        (wrong(0), "vector, row 699: expected", ZeroVector),
        *(
            (given, "vector: expected float16, float32 or float64, …got ")
            for given in ([True] * DIM, [1 + 2j] * DIM, np.arange(DIM))
        ),
        *(([odd, *[1.0] * (DIM - 1)], "vector[0]: expected a number, got ") for odd in (None, "2", 10**400)),
        *(
            (given, "vector: expected a matrix, one row an item, got an array of shape (")
            for given in (5.0, "abc", {"a": 1}, [[[1.0, 2.0]]])
        ),
        *(
            ([1.0] * count, f"vector: expected 8 dimensions, …got {count} dimensions", DimensionMismatch)
            for count in (0, 1, 9)
        ),
    ],
)
IN_FILES = rows_of(
    "fit",
    targets=[
        (npy("t.npy", wrong(np.nan)), "targets (t.npy), row 699, column 2: expected a finite", NotFinite),
        (
            npy("t.npy", wrong(1e300, TARGETS.astype("f8"))),
            f"targets (t.npy), row 699, column 2: {FINITE}1e+300",
            NotFinite,
        ),
        (npy("t.npy", wrong(0)), "targets (t.npy), row 699: expected a vector", ZeroVector),
        (
            npy("t.npy", np.asfortranarray(wrong(np.nan))),
            "targets (t.npy), row 699, column 2: expected a finite",
            NotFinite,
        ),
        (npz("t.npz", wrong(np.nan)), "targets (t.npz), row 699, column 2: expected a finite", NotFinite),
        (
            parquet("t.parquet", vector=wrong(np.nan).tolist()),
            "targets (t.parquet), row 699, column 2: expected a finite",
            NotFinite,
        ),
        *(
            (
                parquet("t.parquet", vector=pa.array(among(LISTS, nulled()), kind)),
                "targets (t.parquet), row 699, column 7: expected a number, got a null",
            )
            for kind in (pa.list_(pa.float32()), pa.list_(pa.float32(), DIM))
        ),
        *(
            (
                parquet("t.parquet", vector=pa.array(lists, kind)),
                f"targets (t.parquet), row {row}: expected a vector, got a null",
            )
            for row, lists in ((0, [None, *LISTS[1:]]), (BAD, among(LISTS, None)))
            for kind in (pa.list_(pa.float32()), pa.large_list(pa.float32()), pa.list_(pa.float32(), DIM))
        ),
        (
            parquet("t.parquet", vector=among(LISTS, [1.0])),
            "targets (t.parquet), row 699: expected 8 numbers, as row 0 has, got 1",
        ),
        (parquet("t.parquet", **numbered(among(NUMBERS, None))), "targets (t.parquet), row 699"),
        (table("t.csv", **numbered(among(NUMBERS, "x"))), "targets (t.csv), …699"),
        (table("t.csv", id=NAMES, vector=among(LISTS, "[0.1 0.2")), "targets (t.csv), …699"),
        (table("t.csv", id=NAMES, vector=among(LISTS, "[1.0]")), "targets (t.csv), …699"),
        (
            content("t.csv", ["id,vector", *among([f'{row},"{each}"' for row, each in enumerate(LISTS)], "1,2,3")]),
            "targets (t.csv), row 699 (line 701)",
        ),
        *(
            (lines_of_json("t.jsonl", among([{"vector": each} for each in LISTS], odd)), f"targets (t.jsonl), …{place}")
            for odd, place in (
                ({"vector": [0, "x", *[0] * 6]}, "699"),
                ({"vector": [1.0]}, "699"),
                ({"title": "x"}, "699"),
                ([1], "line 700"),
            )
        ),
        *(
            (feather("t.feather", vector=among(LISTS, odd)), f"targets (t.feather), row 699{words}")
            for odd, words in (
                (None, ": expected a vector, got a null"),
                ([1.0], ": expected 8 numbers, as row 0 has, got 1"),
                (nulled(), ", column 7: expected a number, got a null"),
            )
        ),
        (fvecs("t.fvecs", wrong(np.nan)), "targets (t.fvecs), row 699, column 2: expected a finite", NotFinite),
        (
            fvecs("t.fvecs", TARGETS, among([DIM] * ROWS, 3)),
            "targets (t.fvecs), row 699: expected 8 numbers, as row 0 has, got 3",
        ),
        (content("t.bvecs", b"\4\0\0\0abcdx"), "targets (t.bvecs): expected rows of one length"),
        (indexed("t.faiss", wrong(0)), "targets (t.faiss), row 699: expected", ZeroVector),
        (
            folder_of("s", npy("0.npy", TARGETS), npy("1.npy", wrong(np.nan))),
            "targets (s) (1.npy), row 699, column 2: expected a finite",
            NotFinite,
        ),
        (content("t.xlsx", "1"), "targets (t.xlsx): expected a file ending in .npy"),
    ],
)
AT_THE_COMMAND = rows_of(
    "build",
    *(
        ({name: lambda folder: folder / "nowhere.npy"}, f"…nowhere.npy: {said}: there is no such", StorageError)
        for name, said in (("targets", "targets"), ("query_bank", "query bank"), ("ids", "ids"))
    ),
    payload=[(lambda folder: folder / "nowhere.csv", "…nowhere.csv: payload: there is no such file", StorageError)],
    encoder=[(lambda folder: folder / "nowhere", "encoder: expected a folder with encoder.json, …nowhere")],
    targets=[
        (content("t.npy", b"nonsense"), "targets (t.npy): expected a readable .npy file"),
        (lambda folder: write_pickled(folder / "t.npy", "x"), "targets (t.npy): …a pickled or ragged array"),
        (npy("t.npy", np.full((40, 8), 1e300)), f"targets (t.npy), row 0, column 0: {FINITE}1e+300", NotFinite),
        (
            npy("t.npy", TARGETS[:, :3]),
            "query bank…: expected 3 dimensions, as targets (t.npy) has, got 8",
            DimensionMismatch,
        ),
    ],
    doors=(PYTHON, COMMAND),
)
ROWS_OF_VECTORS = [*AT_THE_COMMAND, *IN_MEMORY, *OF_QUERIES, *IN_FILES]
