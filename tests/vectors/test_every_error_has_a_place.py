"""One bad value among 1,000 is named with its place, by whatever reads it.

`READERS` is the table: what is wrong → a function that reads it from a folder, and so raises. The bad value stands in
row 699, which the message has to say. Files whose lines people count say line 700 or 701.
"""

import csv
import datetime
import json
import re
import uuid

import faiss
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from support.files import write_npy, write_npz, write_parquet

import hubless
from hubless.errors import HublessError

ROWS, DIM, BAD = 1000, 4, 699
BANK = np.random.default_rng(1).normal(size=(40, DIM)).astype(np.float32)
LATE = datetime.date(2026, 1, 31)
PLACES = re.compile(r"\b(699|line 70[01])\b")


def good():
    return np.random.default_rng(0).normal(size=(ROWS, DIM)).astype(np.float32)


def wrong(value):
    """Vectors of which one number, or all of one row, is another."""
    rows = good()
    rows[BAD, 2 if value else slice(None)] = value
    return rows


def listed(value):
    return [*good()[:BAD].tolist(), value, *good()[BAD + 1 :].tolist()]


def among(values, value):
    return [*values[:BAD], value, *values[BAD + 1 :]]


def objects(values):
    array = np.empty(len(values), object)
    array[:] = values
    return array


def masked():
    array = np.ma.array(good())
    array[BAD, 1] = np.ma.masked
    return array


def lines(path, values):
    path.write_text("".join(f"{value}\n" for value in values))
    return path


def in_cp1252(path, values):
    path.write_bytes("".join(f"{value}\n" for value in values).encode("cp1252"))
    return path


def table(path, **columns):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def numbered(values):
    return {f"e{column}": values for column in range(8)}


def jsonl(path, value):
    return lines(path, [json.dumps(each) for each in among([{"vector": each} for each in LISTS], value)])


def feather(path, values):
    pa.feather.write_feather(pa.table({"vector": values}), str(path), chunksize=64)
    return path


def fvecs(path, rows, dims=DIM):
    lengths = np.broadcast_to(np.array(dims, "<i4"), len(rows))[:, None].copy()
    np.hstack([lengths.view("<f4"), rows]).tofile(path)
    return path


def indexed(path, rows):
    index = faiss.IndexFlatIP(DIM)
    index.add(rows)
    faiss.write_index(index, str(path))
    return path


def parquet(path, **columns):
    pq.write_table(pa.table(columns), path, row_group_size=64)
    return path


def fit(targets=None, bank=BANK, metric="cosine", correction="none", **more):
    return hubless.Index(metric=metric, correction=correction).fit(bank, good() if targets is None else targets, **more)


def built(folder, bank=BANK, **more):
    return hubless.build(folder / "catalog", "photos", good(), bank, **more)


def added(vectors=None, **more):
    return fit(good()[:50], ids=[f"id-{row}" for row in range(50)]).add(good() if vectors is None else vectors, **more)


def shards(folder):
    write_npy(folder / "0.npy", good())
    write_npy(folder / "1.npy", wrong(np.nan))
    return folder


def job(folder, targets):
    np.save(folder / "bank.npy", BANK)
    job = {"version": 1, "collection": "photos", "targets": targets, "query_bank": "bank.npy"}
    (folder / "job.yaml").write_text(json.dumps({**job, "correction": {"name": "none"}}))
    return hubless.reindex(folder / "job.yaml", catalog=folder / "catalog")


NAMES = [f"id-{row}" for row in range(ROWS)]
NUMBERS = list(range(ROWS))
TITLES = [{"n": row} for row in range(ROWS)]

LISTS = good().tolist()
WIDE = np.ones((40, 8), np.float32)

READERS = {
    # vectors
    "nan in an array": lambda folder: fit(wrong(np.nan)),
    "infinity in float64": lambda folder: fit(wrong(np.inf).astype(np.float64)),
    "beyond float32": lambda folder: fit(np.where(np.isnan(wrong(np.nan)), 1e300, 1.0)),
    "zeros": lambda folder: fit(wrong(0)),
    "too long under dot": lambda folder: fit(wrong(1e30), metric="dot"),
    "ragged lists": lambda folder: fit(listed([1.0, 2.0])),
    "none among lists": lambda folder: fit(listed(None)),
    "none within a list": lambda folder: fit(listed([1.0, 2.0, None, 4.0])),
    "text within a list": lambda folder: fit(listed([1.0, 2.0, "x", 4.0])),
    "ragged array of objects": lambda folder: fit(objects(listed(np.ones(3)))),
    "none in an array of objects": lambda folder: fit(objects(listed(None))),
    "masked": lambda folder: fit(masked()),
    "arrow null": lambda folder: fit(pa.array(listed(None))),
    "arrow null within": lambda folder: fit(pa.array(listed([1.0, 2.0, None, 4.0]))),
    "arrow ragged": lambda folder: fit(pa.array(listed([1.0]))),
    "npy": lambda folder: fit(write_npy(folder / "t.npy", wrong(np.nan))),
    "npy of zeros": lambda folder: fit(write_npy(folder / "t.npy", wrong(0))),
    "npy in Fortran's order": lambda folder: fit(write_npy(folder / "t.npy", np.asfortranarray(wrong(np.nan)))),
    "npz": lambda folder: fit(write_npz(folder / "t.npz", wrong(np.nan))),
    "parquet nan": lambda folder: fit(write_parquet(folder / "t.parquet", wrong(np.nan))),
    "parquet null": lambda folder: fit(write_parquet(folder / "t.parquet", listed(None))),
    "parquet ragged": lambda folder: fit(write_parquet(folder / "t.parquet", listed([1.0]))),
    "parquet of numbered columns": lambda folder: fit(
        parquet(folder / "t.parquet", **numbered(among(NUMBERS, None))), WIDE
    ),
    "csv of numbered columns": lambda folder: fit(table(folder / "t.csv", **numbered(among(NUMBERS, "x"))), WIDE),
    "csv of lists": lambda folder: fit(table(folder / "t.csv", id=NAMES, vector=listed("[0.1 0.2"))),
    "csv of ragged lists": lambda folder: fit(table(folder / "t.csv", id=NAMES, vector=listed("[1.0]"))),
    "csv of vectors, a cell too many": lambda folder: fit(
        lines(folder / "t.csv", ["id,vector", *among([f'{row},"{each}"' for row, each in enumerate(LISTS)], "1,2,3")])
    ),
    "jsonl of vectors, a text among them": lambda folder: fit(jsonl(folder / "t.jsonl", {"vector": [0, "x", 0, 0]})),
    "jsonl of vectors, one ragged": lambda folder: fit(jsonl(folder / "t.jsonl", {"vector": [1.0]})),
    "jsonl of vectors, one missing": lambda folder: fit(jsonl(folder / "t.jsonl", {"title": "x"})),
    "jsonl of vectors, no object": lambda folder: fit(jsonl(folder / "t.jsonl", [1])),
    "feather null": lambda folder: fit(feather(folder / "t.feather", listed(None))),
    "feather ragged": lambda folder: fit(feather(folder / "t.feather", listed([1.0]))),
    "feather null within": lambda folder: fit(feather(folder / "t.feather", listed([1.0, 2.0, None, 4.0]))),
    "fvecs nan": lambda folder: fit(fvecs(folder / "t.fvecs", wrong(np.nan))),
    "fvecs ragged": lambda folder: fit(fvecs(folder / "t.fvecs", good(), among([DIM] * ROWS, 3))),
    "faiss zeros": lambda folder: fit(indexed(folder / "t.faiss", wrong(0))),
    "shards": lambda folder: fit(shards(folder)),
    "query bank": lambda folder: fit(bank=wrong(np.nan)),
    "query bank in a file": lambda folder: fit(bank=write_npz(folder / "b.npz", wrong(0))),
    "target bank": lambda folder: built(folder, target_bank=wrong(0), correction="dual_is"),
    "live queries": lambda folder: built(folder, live_queries=wrong(np.nan), correction="csls"),
    "queries": lambda folder: fit().query(wrong(np.nan)),
    "queries of zeros": lambda folder: fit().query(wrong(0)),
    "added": lambda folder: added(wrong(np.nan), ids=NAMES),
    "job": lambda folder: job(folder, str(write_npy(folder / "t.npy", wrong(np.nan)))),
    "job of zeros": lambda folder: job(folder, str(write_npy(folder / "t.npy", wrong(0)))),
    # ids
    "ids of two types": lambda folder: fit(ids=among(NAMES, 7)),
    "ids of two types, numbers first": lambda folder: fit(ids=among(NUMBERS, "x")),
    "ids with none": lambda folder: fit(ids=among(NAMES, None)),
    "ids of objects": lambda folder: fit(ids=objects(among(NAMES, 7))),
    "ids of objects with none": lambda folder: fit(ids=objects(among(NAMES, None))),
    "ids beyond 64 bits": lambda folder: fit(ids=among(NUMBERS, 2**63)),
    "ids of uint64": lambda folder: fit(ids=np.array(among(NUMBERS, 2**63), np.uint64)),
    "ids of floats": lambda folder: fit(ids=among(NUMBERS, 0.5)),
    "ids masked": lambda folder: fit(ids=np.ma.array(NUMBERS, mask=[row == BAD for row in NUMBERS])),
    "ids of uuids and more": lambda folder: fit(ids=among([uuid.UUID(int=row) for row in NUMBERS], 7)),
    "ids twice": lambda folder: fit(ids=among(NAMES, "id-3")),
    "ids with bytes": lambda folder: fit(ids=np.array(among([b"%d" % row for row in NUMBERS], b"\xff\xfe"))),
    "ids in npy": lambda folder: fit(ids=write_npy(folder / "ids.npy", np.array(among(NUMBERS, 2**63), np.uint64))),
    "ids in txt twice": lambda folder: fit(ids=lines(folder / "ids.txt", among(NAMES, "id-3"))),
    "ids in parquet": lambda folder: fit(ids=parquet(folder / "ids.parquet", id=among(NAMES, None))),
    "ids beside vectors": lambda folder: fit(write_parquet(folder / "t.parquet", good(), id=among(NAMES, None))),
    "ids in payload": lambda folder: fit(payload=[{"id": each} for each in among(NAMES, None)]),
    "ids in payload twice": lambda folder: fit(payload=[{"id": each} for each in among(NAMES, "id-3")]),
    "ids of added": lambda folder: added(ids=among(NAMES, 7)),
    # payload
    "payload with no dict": lambda folder: fit(payload=among(TITLES, "x")),
    "payload of two types": lambda folder: fit(payload=among(TITLES, {"n": "x"})),
    "payload columns of two types": lambda folder: fit(payload={"n": among(NUMBERS, "x")}),
    "payload that json cannot say": lambda folder: fit(payload=among(TITLES, {"n": object()})),
    "jsonl broken": lambda folder: fit(
        payload=lines(folder / "p.jsonl", among([json.dumps(row) for row in TITLES], '{"n": '))
    ),
    "jsonl of two types": lambda folder: fit(
        payload=lines(folder / "p.jsonl", among([json.dumps(row) for row in TITLES], '{"n": "x"}'))
    ),
    "csv of a type": lambda folder: fit(
        payload=table(folder / "p.csv", n=among(NUMBERS, "x"), m=NUMBERS), payload_schema={"n": "int64"}
    ),
    "csv with a cell more": lambda folder: fit(
        payload=lines(folder / "p.csv", ["n,m", *among([f"{row},1" for row in NUMBERS], "1,2,3")])
    ),
    "csv with an open quote": lambda folder: fit(payload=lines(folder / "p.csv", ["n", *among(NAMES, '"x')])),
    "csv with a decimal comma": lambda folder: fit(payload=table(folder / "p.csv", n=among(NUMBERS, "1,5"))),
    "csv of another encoding": lambda folder: fit(payload=in_cp1252(folder / "p.csv", ["n", *among(NAMES, "café")])),
    "jsonl of another encoding": lambda folder: fit(
        payload=in_cp1252(folder / "p.jsonl", among([json.dumps(row) for row in TITLES], '{"n": "café"}'))
    ),
    # labels and priors
    "prior": lambda folder: built(folder, target_prior=wrong(0)[:, 0] ** 2, correction="sn"),
    "prior in a file": lambda folder: built(
        folder, target_prior=lines(folder / "p.txt", among([*NUMBERS[1:], 1], "x")), correction="sn"
    ),
    "relevant": lambda folder: built(folder, bank=good(), bank_of_targets=True, relevant=among(NUMBERS, 10**6)),
}


@pytest.mark.parametrize("reader", READERS)
def test_bad_value_is_named_with_its_row(tmp_path, reader):
    with pytest.raises(HublessError) as caught:
        READERS[reader](tmp_path)
    assert PLACES.search(str(caught.value)), str(caught.value)
