"""Job files that say something wrong, and jobs whose files do not go together."""

import numpy as np
from support.jobs import write_targets
from support.refusals.shape import TARGETS, content, npy, npz, rows_of, wrong

from hubless.errors import DuplicateIds, NotFinite, StorageError, ZeroVector

OF_FILES = rows_of(
    "job",
    *(
        ({"before": before, "after": after}, f"job.yaml: {words}")
        for before, after, words in (
            ("recall:", "recal:", "gates.recal: expected recall, the nearest known key, got recal"),
            ("[a.npy, b.npy]", "{path: a.npy}", "query_bank.0: expected a valid string"),
            ("collection:", "xyz:", "collection: expected a value, got none"),
            ("gates:", "schedule: daily\ngates:", "schedule: expected "),
            ("gates:", "quux: 1\ngates:", "quux: expected one of version, catalog, collection"),
            ("min: 0.9", "", "gates.recall: expected a bound, or no such key, got None"),
            ("{min: 10}", "{}", "gates.rows: expected a bound: min or max or max_change or max_gone, got {}"),
            ("{min: 10}", "{min: null}", "gates.rows: expected a bound"),
            ("min: 0.9", "min: high", "gates.recall.min: expected a valid number"),
            ("min: 0.9", "min: 1.5", "gates.recall.min: expected less than or equal to 1, got 1.5"),
            ("version: 1", "version: 2", "version: expected 1, which this hubless reads, got 2"),
            ("version: 1", "version: true", "version: expected 1"),
            ("version: 1\n", "", "version: expected a value"),
            ("photos", "a b", "collection: expected 1 to 64 letters"),
            ("gates:", "payload_schema: {zip: text}\ngates:", "payload_schema: expected types that are one of"),
            ("gates:", "correction: {from: a.json, name: nnn}\ngates:", "correction: expected either `from`"),
            ("gates:", "executor: {type: dask}\ngates:", "executor.type: expected local, ray, or ray://HOST:PORT"),
            ("gates:", "target_prior: {column: a}\ngates:", "target_prior: expected a valid string"),
        )
    ),
    *(
        ({"before": "gates:", "after": f"{line}\ngates:"}, f"job.yaml…: expected YAML, got a mistake{words}")
        for line, words in (("seed: 1\nseed: 2", ": key seed stands twice"), ("seed: [", ""))
    ),
    *(
        ({"after": text}, "job.yaml…: expected ")
        for text in ("# nothing", "&a [*a]", "[]", "photos", "\x00", "a: !!python/object:os.system {}", "a: *b")
    ),
)


def targets(name, ids, **columns):
    return lambda folder: write_targets(folder / "items" / name, ids, **columns)


def of_three(folder):
    (folder / "items").mkdir()
    return npz("items/c.npz", TARGETS[:2, :3], ids=["x-1", "x-2"])(folder)


OF_JOBS = rows_of(
    "reindex",
    ({"target_prior": "clicks", "correction": {"name": "sn"}}, "target prior: expected a payload column: title, got"),
    (
        {"target_prior": "title", "correction": {"name": "sn"}},
        "target prior (payload column title): expected numbers",
    ),
    *(
        ({"targets": "t.npy", "more": npy("t.npy", wrong(value))}, f"targets (t.npy), row 699{words}", error)
        for value, words, error in ((np.nan, ", column 2: expected a", NotFinite), (0, ": expected a", ZeroVector))
    ),
    correction=[({"name": "offsets:size"}, "offsets: expected a payload column: title, got size")],
    targets=[
        ("missing/*.parquet", "…targets.0: there is no such", StorageError),
        ("http://bucket/items", "targets.0.path: expected a path: copy the files"),
        (["items", "items/a.parquet"], "targets.1.path: expected files that no other entry names"),
    ],
    query_bank=[("nowhere.npy", "…query_bank.0: there is no such", StorageError)],
    encoder=[("nowhere.toml", "…nowhere.toml", StorageError)],
    more=[
        (targets("c.parquet", ["item-5"]), "…in a.parquet and in c.parquet", DuplicateIds),
        (targets("c.parquet", [5]), "…ids of one type"),
        (targets("c.parquet", ["x-1"], title=[5]), "…payload"),
        (content("items/c.npy", b""), "…c.npy"),
        (of_three, "…8 dimensions, as targets (b.parquet) has"),
    ],
)
ROWS_OF_JOBS = [*OF_FILES, *OF_JOBS]
