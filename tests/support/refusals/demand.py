"""What a fit is told about clicks, priors, groups and offsets that somebody brings, and cannot go together."""

import numpy as np
import pyarrow as pa
from support.refusals.shape import (
    BANK,
    NAMES,
    NUMBERS,
    ROWS,
    among,
    content,
    parquet,
    rows_of,
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
    (
        {"correction": "sn", "target_prior": content("p.txt", among(NUMBERS, "x"))},
        "target prior (p.txt), …699",
    ),
    *(
        ({"correction": "sn", "target_prior": given}, f"target prior: expected 1000 numbers, one a target, got {got}")
        for given, got in ((COUNTS[1:], "999"), (COUNTS[:, np.newaxis], "an array of shape"))
    ),
)
ROWS_OF_DEMAND = [*OF_CLICKS, *OF_OFFSETS, *OF_GROUPS, *OF_PRIOR]
