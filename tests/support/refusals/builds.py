"""What a fit, a build and the like are told about the correction, and cannot go together."""

import numpy as np
import pyarrow as pa
from support import small
from support.refusals.shape import (
    BANK,
    COMMAND,
    HTTP,
    NAMES,
    NUMBERS,
    PYTHON,
    ROWS,
    TARGETS,
    among,
    content,
    npy,
    parquet,
    rows_of,
    wrong,
)

from hubless.errors import (
    DimensionMismatch,
    NotFinite,
    StorageError,
    ZeroVector,
)

OWN = np.random.default_rng(3).normal(size=ROWS)
COUNTS = 1.0 + np.arange(ROWS) % 50
PAIRS = pa.table({"query": np.arange(40), "target": NAMES[:40]})
TENANTS = {"tenant": ["a", "b"] * 500, "price": COUNTS / 7}
ASKED = pa.table({"vector": BANK.tolist(), "tenant": ["a", "b"] * 20})


def clicked(clicks, **more):
    return {"correction": "auto", "ids": NAMES, "clicks": clicks, **more}


def with_clicks(**columns):
    """The pairs with columns added or replaced."""
    return pa.table({**PAIRS.to_pydict(), **columns})


OF_CLICKS = rows_of(
    "fit",
    (clicked(PAIRS, target_prior=COUNTS), "target prior: expected none beside clicks"),
    (clicked(PAIRS, live_queries=BANK), "strength: expected none beside clicks"),
    (clicked(PAIRS, fit_by="kind", payload={"kind": NAMES}), "fit_by: expected none beside clicks"),
    (clicked(PAIRS[:19]), "clicks: expected those of at least 20 different queries, got of 19"),
    (clicked(PAIRS.select(["target"])), "clicks: expected a table with a column query, got target"),
    (clicked(content("c.csv", "query,tgt\n0,1\n")), "clicks: expected a table with a column target, got query, tgt"),
    (clicked(with_clicks(target=["x"] * 40)), "clicks: expected some on targets that are there"),
    (clicked(with_clicks(target=range(40))), "clicks, column target, entry 0: expected the id of a"),
    (clicked(with_clicks(count=[0] * 40)), "clicks, column count, row 0: expected a number above"),
    (clicked(with_clicks(client=["c"] * 40)), "clicks, column client: expected at least 10 clients"),
    (
        clicked("clickd"),
        "clicks: expected a file, a folder of the query sample, or a column of the query bank, got clickd",
    ),
    (clicked(PAIRS, query_bank=None), "query bank: expected example queries"),
    (clicked(PAIRS, correction="csls"), "clicks: expected none with this correction"),
)


def brought(offsets, **more):
    return {"correction": "offsets", "query_bank": None, "ids": NAMES, "offsets": offsets, **more}


def own(*columns, **more):
    """A table of offsets by id, under the name of a correction."""
    return {
        **brought(None, **more),
        "correction": lambda folder: f"offsets:{parquet('own.parquet', **columns[0])(folder)}",
    }


OF_OFFSETS = rows_of(
    "build",
    (brought(OWN[1:]), "offsets: expected 1000 numbers, one a target, got 999"),
    (brought(np.stack([OWN, OWN])), "offsets: expected 1000 numbers, one a target, got an array of shape"),
    (brought(among(OWN, np.nan)), "offsets, row 699: expected a finite number, got nan"),
    (brought([True] * ROWS), "offsets: expected numbers, got bool"),
    (brought(None), "offsets: expected one number a target, as offsets:FILE or offsets:COLUMN, got none"),
    *(
        (brought(given, correction=name), "correction: expected offsets:FILE or offsets:COLUMN, without other offsets")
        for name, given in (("offsets:", None), ("offsets:x.npy", OWN))
    ),
    (brought(OWN, correction="csls"), "correction: expected 'offsets' beside offsets, … got csls"),
    (brought(OWN, target_prior=COUNTS), "target prior: expected none beside correction offsets"),
    (brought(OWN, fit_by="title"), "fit_by: expected none beside correction offsets"),
    (brought(OWN, target_bank=BANK), "target bank: expected none beside correction offsets"),
    (brought(OWN, parameters={"k": 3}), "parameter of offsets: expected no parameters, got k"),
    (brought("no_column"), "offsets: expected a file, as there is no payload, got no_column"),
    (own({"id": NAMES[:998], "own": OWN[:998]}), "…a row for the id of each target, got none for 'id-998' and 1 more"),
    (own({"id": [*NAMES, "id-5"], "own": [*OWN, 1.0]}), "…id: expected each id once, got 'id-5' in rows 5 and 1000"),
    (
        own({"id": NAMES, "a": OWN, "b": OWN}),
        "…expected a column named offsets, or a single one beside id, got id, a, b",
    ),
)
OF_GROUPS = rows_of(
    "build",
    *(
        ({"query_bank": ASKED, "payload": TENANTS, "fit_by": "tenant", **more}, words)
        for more, words in (
            ({"correction": "none"}, "fit_by: expected a correction that folds into offsets, such as auto, got none"),
            ({"correction": "ls"}, "fit_by: expected a correction that folds into offsets, such as auto, got ls"),
            ({"target_prior": COUNTS}, "fit_by: expected none beside a target prior"),
            ({"correction": "dbsn", "target_bank": TARGETS}, "fit_by: expected none beside a target bank"),
            ({"fit_by": "tennant"}, "payload: expected a column tennant, … got tenant, price"),
            ({"fit_by": "price"}, "payload, column price: expected texts, whole numbers or booleans"),
            ({"query_bank": BANK}, "payload of the query bank: expected a column tenant, … got no columns"),
            (
                {"query_bank": ASKED.set_column(1, "tenant", pa.array(["x"] * 40))},
                "query bank, column tenant: expected groups that have targets, such as 'a', 'b', got 'x'",
            ),
        )
    ),
)
OF_PRIOR = rows_of(
    "fit",
    *(
        (
            {"correction": "sn", "payload": {"odd": values}, "target_prior": "odd"},
            f"target prior (payload column odd){words}",
        )
        for values, words in (
            (NAMES, ": expected numbers, got string"),
            ([True] * ROWS, ": expected numbers, got bool"),
            (among(COUNTS, None), ", row 699: expected a finite number above 0; … got nan"),
            (among(COUNTS, float("nan")), ", row 699: expected a finite number above 0"),
            (among(COUNTS, 0), ", row 699: expected …add 1 to counts that may be 0, got 0"),
        )
    ),
    (
        {"correction": "sn", "payload": TENANTS, "target_prior": "missing"},
        "target prior: expected a file, or a payload column: tenant, price, got missing",
    ),
    (
        {"correction": "sn", "target_prior": "clicks"},
        "target prior: expected a file, as there is no payload, got clicks",
    ),
    ({"correction": "sn", "target_prior": among(COUNTS, 0)}, "target prior, row 699: expected a finite number above 0"),
    (
        {"correction": "sn", "target_prior": content("p.txt", among(NUMBERS, "x"))},
        "target prior (p.txt), …699",
    ),
    ({"correction": "csls", "target_prior": COUNTS}, "target prior: expected none with this correction"),
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
    ({"correction": "csls", "keep_full": True}, "keep_full: expected dims beside it"),
    *(
        ({"metric": metric}, 'metric: expected metric="cosine" …, metric="dot" …, metric="euclidean"')
        for metric in (None, "l2")
    ),
    *(
        (
            {"metric": "euclidean", "correction": "csls", "dims": 6, **more},
            "dims: expected …distances of metric euclidean need all dimensions",
        )
        for more in ({}, {"keep_full": True})
    ),
    (
        {"metric": "euclidean", "correction": "csls", "targets": TARGETS + 1000, "query_bank": BANK + 1000},
        "targets: expected …subtract the mean of the targets",
    ),
)
OF_BUILD = rows_of(
    "build",
    ({"strength": 1, "live_queries": BANK}, "strength: expected none …, got 1"),
    shard_targets=[
        (wrong, "shard_targets: expected a whole number from 1000") for wrong in (0, 999, -8, 2.5, True, "1000")
    ],
    executor=[(name, "executor: expected ") for name in ("dask", "processes:2", "ray:8", "ray://", "ray://host")],
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
            *((name, "correction: expected one that folds into offsets, such as auto") for name in ("dis", "gc", "mp")),
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
ROWS_OF_BUILDS = [
    *OF_CLICKS,
    *OF_OFFSETS,
    *OF_GROUPS,
    *OF_PRIOR,
    *OF_BANK,
    *OF_INDEX,
    *OF_BUILD,
    *OF_PARAMETERS,
    *OF_CREATION,
    *OF_FUNCTIONS,
]
