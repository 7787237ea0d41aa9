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
            ("[a.npy, b.npy]", "{path: a.npy}", "query_bank: expected a valid list, got {'path'"),
            ("collection:", "xyz:", "collection: expected a value, got none"),
            ("min: 0.9", "", "gates.recall: expected a bound, or no such key, got none"),
            ("{min: 10}", "{}", "gates.rows: expected a bound: min or max or max_change or max_gone, got {}"),
            ("{min: 10}", "{min: null}", "gates.rows: expected a bound"),
            ("min: 0.9", "min: high", "gates.recall.min: expected a number, got 'high'"),
            ("min: 0.9", "min: 1.5", "gates.recall.min: expected less than or equal to 1, got 1.5"),
            ("version: 1", "version: 2", "version: expected 1, which this hubless reads, got 2"),
            ("version: 1", "version: true", "version: expected 1"),
            ("version: 1\n", "", "version: expected a value"),
            ("photos", "a b", "collection: expected 1 to 64 letters"),
            ("items/*.parquet", "[]", "targets: expected at least one, got []"),
            ("items/*.parquet", "5", "targets.0: expected keys and values, got 5"),
        )
    ),
    *(
        ({"before": "gates:", "after": f"{line}\ngates:"}, f"job.yaml{words}")
        for line, words in (
            ("schedule: daily", ": schedule: expected "),
            ("quux: 1", ": quux: expected one of version, catalog, collection"),
            ("payload_schema: {zip: text}", ": payload_schema: expected one of string, int64"),
            ("payload_schema: zip", ": payload_schema: expected keys and values, got 'zip'"),
            ("correction: {from: a.json, name: nnn}", ": correction: expected either `from`"),
            ("correction: [csls]", ": correction: expected keys and values, got ['csls']"),
            ("correction: csls:k", ": correction: expected NAME:KEY=VALUE,…, got 'csls:k'"),
            ("correction: {1: 2}", ": correction.1: expected text, got 1"),
            ("executor: {type: dask}", ": executor.type: expected local, ray, or ray://HOST:PORT"),
            ("index: flat", ": index: expected keys and values, got 'flat'"),
            ("index: {shard_targets: 1.5}", ": index.shard_targets: expected a whole number, got 1.5"),
            ("target_prior: {column: a}", ": target_prior: expected text, got {'column'"),
            ("target_bank: [a.npy, 5]", ": target_bank.1: expected text, got 5"),
            ("fit_by: ''", ": fit_by: expected text, got ''"),
            ("skip_bad_rows: 5", ": skip_bad_rows: expected true or false, got 5"),
            ("seed: 1\nseed: 2", "…: expected YAML, got a mistake: key seed stands twice"),
            ("seed: [", "…: expected YAML, got a mistake"),
        )
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
