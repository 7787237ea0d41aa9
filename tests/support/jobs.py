"""A job of a small collection: its file, the files that it names, and what must come of them."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from support import small

import hubless

NAME = "photos"
DIM = small.DIM


def write_targets(path, ids, seed=0, **columns):
    """A Parquet file of targets: the vector of an id depends on it and on the seed."""
    vectors = [vector(each, seed).tolist() for each in ids]
    table = {"id": pa.array(ids), "vector": pa.array(vectors, pa.list_(pa.float32()))}
    for name, values in columns.items():
        table[name] = pa.array(values)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(table), path)


def vector(wanted, seed=0):
    number = int(str(wanted).rpartition("-")[2])
    return np.random.default_rng([seed, number]).normal(size=DIM).astype(np.float32)


def names(start, stop):
    return [f"item-{number}" for number in range(start, stop)]


def write(folder, **more):
    """A job with 60 targets in two files and a bank; the path of its file. JSON is YAML, too."""
    folder.mkdir(exist_ok=True)
    write_targets(folder / "items" / "a.parquet", names(0, 40), title=[f"title {row}" for row in range(40)])
    write_targets(folder / "items" / "b.parquet", names(40, 60), title=[f"title {row}" for row in range(40, 60)])
    np.save(folder / "bank.npy", small.query_bank())
    return rewrite(folder, **more)


def rewrite(folder, **more):
    job = {
        "version": 1,
        "collection": NAME,
        "targets": "items/*.parquet",
        "query_bank": "bank.npy",
        "correction": {"name": "csls", "parameters": {"k": 3}},
        "index": {"type": "flat"},
        **more,
    }
    path = folder / "job.yaml"
    path.write_text(json.dumps(job))
    return path


def run(folder, **options):
    return hubless.reindex(folder / "job.yaml", catalog=folder / "catalog", **options)


def stored(folder, **options):
    """What the collection holds: id → vector as it is compared."""
    opened = hubless.open(folder / "catalog", NAME, **options)
    ids = opened.ids(np.arange(opened.count))
    return dict(zip(ids, opened.vectors(np.arange(opened.count)), strict=True))
