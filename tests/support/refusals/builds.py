"""Banks, kinds, names and numbers that no fit and no build takes."""

import numpy as np
import pyarrow as pa
from support import small
from support.refusals.shape import (
    BANK,
    COMMAND,
    HTTP,
    NUMBERS,
    PYTHON,
    ROWS,
    TARGETS,
    among,
    npy,
    rows_of,
    wrong,
)

from hubless.errors import (
    DimensionMismatch,
    NotFinite,
    StorageError,
    ZeroVector,
)

OF_BANK = rows_of(
    "fit",
    (
        {"correction": "csls", "query_bank": TARGETS},
        "query bank: expected example queries, got 100 % targets…No queries yet?…bank_of_targets",
    ),
    *(
        (
            {"correction": "csls", "query_bank": pa.table({"vector": BANK.tolist(), "count": [2, odd, *[1] * 38]})},
            f"query bank, column count, row 1: expected a whole number from 1 on: how often …asked, got {odd}",
        )
        for odd in (1.5, 0, -3, None, float("inf"), float("nan"))
    ),
    (
        {"correction": "csls", "query_bank": pa.table({"vector": BANK.tolist(), "count": ["1"] * 40})},
        "query bank, column count: expected numbers, got string",
    ),
    (
        {"correction": "csls", "live_queries": TARGETS[:50]},
        "live queries: expected queries that people asked, got 100 % targets",
    ),
    ({"correction": "csls", "live_queries": BANK[:, :5]}, "live queries: expected 8 dimensions", DimensionMismatch),
    ({"correction": "csls", "live_queries": wrong(np.nan)}, "live queries, row 699, column 2", NotFinite),
    (
        {"correction": "csls", "live_queries": "nowhere.npy"},
        "nowhere.npy: live queries: there is no such file",
        StorageError,
    ),
    ({"correction": "dual_is", "target_bank": wrong(0)}, "target bank, row 699: expected", ZeroVector),
    (
        {"query_bank": npy("q.npy", BANK[:, :3])},
        "query bank (q.npy): expected 8 dimensions, as targets has, got 3",
        DimensionMismatch,
    ),
    (
        {"correction": "nnn", "parameters": {"k": 40}},
        "query bank: expected …, got 20, as 20 of 40 are held out to measure with",
    ),
    (
        {"query_bank": TARGETS[:, :] * 1.5, "bank_of_targets": True, "relevant": among(NUMBERS, 10**6)},
        "relevant, entry 699",
    ),
)
OF_INDEX = rows_of(
    "fit",
    *(({"correction": "csls", "dims": dims}, "dims: expected ") for dims in (8, 9, 0, -1)),
    *(
        ({"metric": metric}, 'metric: expected metric="cosine" …, metric="dot" …, metric="euclidean"')
        for metric in (None, "l2")
    ),
    (
        {"metric": "euclidean", "correction": "csls", "targets": TARGETS + 1000, "query_bank": BANK + 1000},
        "targets: expected …subtract the mean of the targets",
    ),
)
OF_BUILD = rows_of(
    "build",
    shard_targets=[
        (wrong, "shard_targets: expected a whole number from 1000") for wrong in (0, 999, -8, 2.5, True, "1000")
    ],
    executor=[(name, "executor: expected ") for name in (3, "dask", "processes:2", "ray:8", "ray://", "ray://host")],
    encoder=[({"type": "onnx"}, "encoder: expected an encoder, its folder, …")],
    seed=[(seed, "seed: expected a whole number of at least 0") for seed in (-1, 1.5, "1", None, True)],
    strength=[(3, "strength: expected a number of at least 0 and at most 2, got 3")],
    collection=[(name, "collection: expected 1 to 64 letters") for name in (*small.NOT_NAMES, None, 3)],
)
OF_PARAMETERS = rows_of(
    "build",
    *(
        ({"correction": "nnn", "parameters": {name: value}}, f"{name}: expected {words}")
        for name, words, values in (
            ("k", "a whole number of at least 1", (0, 1.5, True, [4], "[" * 99, "9" * 5000)),
            ("weight", "a number of at least 0", (float("nan"), float("inf"), -1, "much")),
        )
        for value in values
    ),
    doors=(PYTHON, COMMAND),
)
OF_CREATION = rows_of(
    "create",
    dim=[(dim, "dim: expected a whole number ") for dim in (0, 65_537)],
    metric=[("l2", "metric: expected ")],
    id_type=[("uuid", "id_type: expected ")],
    payload_schema=[({"a": "text"}, "payload_schema.a: expected one of string, int64")],
    doors=(PYTHON, HTTP),
)
OF_FUNCTIONS = [
    *rows_of(
        "offsets",
        ({"metric": "euclidean", "targets": TARGETS + 1000}, "targets: expected …subtract the mean"),
        correction=[
            *((name, "correction: expected one that folds into offsets, such as auto") for name in ("dis", "sinkhorn")),
            ("offsets:own.npy", "correction: expected one that is fitted on queries: you have these offsets"),
        ],
        metric=[(None, "metric: expected ")],
    ),
    *rows_of(
        "choose_strength",
        live_queries=[
            (TARGETS[:50], "live queries: expected queries that people asked, got 100 % targets"),
            (BANK[:, :5], "live queries: expected 8 dimensions", DimensionMismatch),
            (wrong(np.nan), "live queries, row 699", NotFinite),
        ],
    ),
    *rows_of("augment_queries", ({"metric": None}, "metric: expected cosine, dot or euclidean, as not all … length 1")),
    *rows_of(
        "augment_targets",
        metric=[(None, "metric: expected cosine, dot or euclidean, as not all … have length 1")],
        offsets=[
            ([0.0], "offsets: expected 1000, one a target, got an array of shape"),
            (among(np.zeros(ROWS), np.nan), "offsets: expected finite numbers, got nan"),
        ],
    ),
    *rows_of(
        "diagnose",
        *(
            ({"query_bank": None, name: TARGETS}, f"{name}: expected none without a query bank")
            for name in ("live_queries", "target_bank")
        ),
        ({"query_bank": None, "targets": TARGETS[:2]}, "targets: expected at least 3, to find each other, got 2"),
        ({"metric": "euclidean", "query_bank": TARGETS[:50]}, "query bank: expected …targets"),
        metric=[(None, "metric: expected ")],
        query_bank=[(BANK[:9], "query bank: expected at least 10 queries")],
        live_queries=[(TARGETS[:60], "live queries: expected queries that people asked, got 100 % targets")],
    ),
]
ROWS_OF_BUILDS = [*OF_BANK, *OF_INDEX, *OF_BUILD, *OF_PARAMETERS, *OF_CREATION, *OF_FUNCTIONS]
