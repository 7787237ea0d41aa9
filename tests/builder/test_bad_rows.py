"""Rows that are no vectors are counted and named, and left out with all that belongs to them if you ask for it."""

import json
import logging

import numpy as np
import pyarrow as pa
import pytest
from support.files import write_npy, write_npz, write_parquet

import hubless
from hubless.errors import InputError, NotFinite, ZeroVector

COUNT, DIM = 60, 6
BAD = [3, 10, 57]
LEFT = [row for row in range(COUNT) if row not in BAD]
BANK = np.random.default_rng(1).normal(size=(40, DIM)).astype(np.float32)


def rows(values=(np.nan, np.inf, 0), seed=0):
    vectors = np.random.default_rng(seed).normal(size=(COUNT, DIM)).astype(np.float32)
    for row, value in zip(BAD, values, strict=True):
        vectors[row] = value
    return vectors


def with_gaps():
    """Lists of which one is null, one is empty, and one has a null."""
    lists = rows((1, 1, 1)).tolist()
    lists[3], lists[10], lists[57] = None, [], [*lists[57][:-1], None]
    return lists


def of_shards(folder, vectors):
    (folder / "shards").mkdir()
    write_npy(folder / "shards/2.npy", vectors[:20])
    write_npy(folder / "shards/10.npy", vectors[20:])
    return folder / "shards"


GIVEN = {
    "array": lambda folder: rows(),
    "float64": lambda folder: rows().astype(np.float64),
    "lists": lambda folder: rows().tolist(),
    "arrow": lambda folder: pa.array(with_gaps(), pa.list_(pa.float32())),
    "npy": lambda folder: write_npy(folder / "t.npy", rows()),
    "npz": lambda folder: write_npz(folder / "t.npz", rows()),
    "parquet": lambda folder: write_parquet(folder / "t.parquet", with_gaps()),
    "shards": lambda folder: of_shards(folder, rows()),
}


def fit(targets, bank=BANK, **more):
    return hubless.Index(metric="cosine", correction="csls").fit(bank, targets, **more)


@pytest.mark.parametrize("given", GIVEN)
def test_bad_rows_are_counted_or_left_out_and_others_keep_their_numbers_as_ids(tmp_path, given, caplog):
    told = "3, 10 of .*2.npy.; 37 of .*10.npy" if given == "shards" else "3, 10, 57"
    targets = GIVEN[given](tmp_path)
    with pytest.raises(InputError, match=f"row 3.*; 3 of 60 rows are no vectors: {told}.*skip_bad_rows leaves them"):
        fit(targets)
    index = fit(targets, skip_bad_rows=True)
    assert index.ids(np.arange(index.count)) == LEFT
    assert [each.levelno for each in caplog.records if "3 of 60 rows are no vectors: 3, 10" in each.message] == [
        logging.WARNING
    ]
    good = rows((1, 1, 1))
    assert [hits[0].id for hits in index.query(good[LEFT], limit=1, strength=0)] == LEFT


def test_only_zeros_under_cosine_and_only_long_rows_under_dot_are_bad(caplog):
    with pytest.raises(ZeroVector, match=r"row 3: .*3 of 60 rows are no vectors: 3, 10, 57"):
        fit(rows((0, 0, 0)))
    index = hubless.Index(metric="dot", correction="none").fit(BANK, rows((0, 1e30, 0)), skip_bad_rows=True)
    assert index.count == COUNT - 1
    with pytest.raises(InputError, match="expected a row that is a vector, got none"):
        fit(np.full((4, DIM), np.nan), skip_bad_rows=True)


def test_ids_payload_prior_and_labels_stay_with_their_rows(tmp_path):
    vectors, bank = rows(), rows((np.nan, 0, np.nan), seed=7)
    names = [f"id-{row}" for row in range(COUNT)]
    manifest = hubless.build(
        tmp_path,
        "photos",
        vectors,
        bank,
        ids=names,
        payload=[{"n": row} for row in range(COUNT)],
        correction="sn",
        target_prior=np.arange(1, COUNT + 1),
        relevant=names,  # of queries and targets that are left out, too
        skip_bad_rows=True,
    )
    assert (manifest.count, manifest.bank.queries) == (57, 57)
    opened = hubless.open(tmp_path, "photos")
    assert opened.ids(np.arange(57)) == [f"id-{row}" for row in LEFT]
    assert opened.payload(range(57)) == [{"n": row} for row in LEFT]
    np.testing.assert_allclose(
        opened.vectors([opened.row("id-59")])[0], vectors[59] / np.linalg.norm(vectors[59]), 1e-5
    )
    # the same as a build of the rows that are left
    other = hubless.build(
        tmp_path,
        "left",
        vectors[LEFT],
        bank[LEFT],
        ids=[f"id-{row}" for row in LEFT],
        correction="sn",
        target_prior=np.arange(1, COUNT + 1)[LEFT],
        relevant=[f"id-{row}" for row in LEFT],
    )
    assert manifest.measured == other.measured
    assert manifest.confidence == other.confidence


@pytest.mark.parametrize("first", [None, [], [np.nan] * DIM])
def test_first_row_may_be_bad(tmp_path, first):
    path = write_parquet(tmp_path / "t.parquet", [first, *rows((1, 1, 1))[1:].tolist()])
    assert fit(path, skip_bad_rows=True).count == COUNT - 1


def test_empty_cells_of_numbered_columns_are_bad(tmp_path):
    lines = [",".join(map(str, row)) for row in np.random.default_rng(0).normal(size=(COUNT, 8))]
    lines[5] = "," + lines[5].partition(",")[2]
    path = tmp_path / "t.csv"
    path.write_text("\n".join([",".join(f"e{place}" for place in range(8)), *lines]))
    bank = np.random.default_rng(1).normal(size=(40, 8))
    with pytest.raises(InputError, match=r"row 5.*; 1 of 60 rows are no vectors: 5\. skip_bad_rows"):
        fit(path, bank)
    assert fit(path, bank, skip_bad_rows=True).count == COUNT - 1


def job(folder, **more):
    np.save(folder / "bank.npy", rows((np.nan, 0, np.nan), seed=7))
    settings = {"version": 1, "collection": "photos", "targets": "items", "query_bank": "bank.npy"}
    (folder / "job.yaml").write_text(json.dumps({**settings, "correction": {"name": "csls"}, **more}))
    return hubless.reindex(folder / "job.yaml", catalog=folder / "catalog")


def test_job_counts_bad_rows_or_leaves_them_out(tmp_path):
    (tmp_path / "items").mkdir()
    names = [f"id-{row}" for row in range(COUNT)]
    write_parquet(tmp_path / "items/t.parquet", rows(), id=names, n=list(range(COUNT)))
    with pytest.raises(NotFinite, match=r"t\.parquet\), row 3, .*3 of 60 rows are no vectors: 3, 10, 57"):
        job(tmp_path)
    done = job(tmp_path, skip_bad_rows=True)
    assert (done.manifest.count, done.manifest.bank.queries) == (57, 57)
    opened = hubless.open(tmp_path / "catalog", "photos")
    assert opened.payload([opened.row("id-58")]) == [{"n": 58}]
    assert job(tmp_path, skip_bad_rows=True).manifest is None


def test_zeros_of_one_changed_row_are_named_by_the_row_of_the_file(tmp_path):
    (tmp_path / "items").mkdir()
    good = rows((1, 2, 3))
    good[10, 0] = good[57, 1] = 9
    write_npy(tmp_path / "items/t.npy", good)
    job(tmp_path, skip_bad_rows=True)
    good[57] = 0
    write_npy(tmp_path / "items/t.npy", good)
    np.save(tmp_path / "bank.npy", BANK)
    with pytest.raises(ZeroVector, match="row 57"):
        job(tmp_path, query_bank="bank.npy")
