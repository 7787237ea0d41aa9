"""With each setting, a job makes what a build makes, and later targets are the same whatever brings them."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import jobs, small
from support.jobs import NAME, names, vector
from support.segments import unnamed

import hubless
from hubless.corrections.grouped import with_groups
from hubless_service.http.arrow import put_of

ROWS = np.arange(60)
COLUMNS = {"own": np.sin(ROWS), "clicks": 1 + ROWS, "shop": np.where(ROWS % 3, "north", "south")}
"""What the files say of each target beside its vector."""
LATER = {"own": [4.0, None, 0.5], "clicks": [500, None, 30], "shop": ["south", "north", "west"]}
"""Of a target that changes, and of two that come."""
CHANGED = ["item-1", "item-60", "item-61"]
SN = {"name": "sn"}
SETTINGS = {
    "euclidean": {"metric": "euclidean"},
    "fewer dimensions": {"dims": 6},
    "whole beside fewer dimensions": {"dims": 6, "keep_full": True},
    "own offsets": {"correction": {"name": "offsets:own"}},
    "a prior": {"correction": SN, "target_prior": "clicks"},
    "groups": {"correction": SN, "fit_by": "shop"},
}


def bank():
    rows = small.query_bank()
    return with_groups(rows, "shop", ["north"] * 40 + ["south"] * (len(rows) - 40))


@pytest.fixture
def folder(tmp_path):
    jobs.write(tmp_path)
    for file, some in (("a", ROWS[:40]), ("b", ROWS[40:])):
        columns = {name: values[some] for name, values in COLUMNS.items()}
        jobs.write_targets(tmp_path / "items" / f"{file}.parquet", names(some[0], some[-1] + 1), **columns)
    pq.write_table(bank(), tmp_path / "bank.parquet")
    return tmp_path


def held(opened):
    """What the collection has of each target, by its id, without the constant of its offsets; and what it answers."""
    rows = np.arange(opened.count)
    order = np.argsort(opened.ids(rows))
    parts = opened.vectors(rows)[order], opened.offsets[order] - opened.offsets[order][5], opened.payload(order)
    found = opened.query(small.query_bank()[:5], 10, parameters={"exact": True} if opened.manifest.keep_full else {})
    return [*parts, found.ids, found.scores]


def assert_same(catalog, expected):
    opened = hubless.open(catalog, NAME)
    opened.check_canaries()
    for ours, theirs in zip(held(opened), expected, strict=True):
        if isinstance(ours, np.ndarray):
            np.testing.assert_allclose(ours, theirs, atol=2e-5)
        else:
            assert ours == theirs


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_job_is_a_build_and_targets_that_come_and_change_are_the_same_by_index_log_merge_and_job(folder, settings):
    settings = {"correction": {"name": "csls", "parameters": {"k": 3}}, **settings}
    jobs.rewrite(folder, query_bank="bank.parquet", refit={"frozen": 1}, **settings)
    made = jobs.run(folder).manifest
    correction = settings.pop("correction")
    options = {"correction": correction["name"], "parameters": correction.get("parameters"), "index": "flat"}
    built = hubless.build(folder / "other", NAME, folder / "items", folder / "bank.parquet", **options, **settings)
    assert unnamed(made) == unnamed(built) | {"sources.arrow": made.files["sources.arrow"]}

    table = pq.read_table(folder / "items" / "a.parquet").to_pylist()
    table[1] |= {"vector": vector("item-1", 7).tolist(), **{name: values[0] for name, values in LATER.items()}}
    pq.write_table(pa.Table.from_pylist(table), folder / "items" / "a.parquet")
    jobs.write_targets(
        folder / "items" / "c.parquet", CHANGED[1:], **{name: values[1:] for name, values in LATER.items()}
    )
    done = jobs.run(folder).manifest
    assert (done.job.offsets, done.job.new, done.job.changed) == ("kept", 2, 1)
    index = hubless.open(folder / "other", NAME)
    index.remove(CHANGED[:1])
    vectors = np.array([vector("item-1", 7), *map(vector, CHANGED[1:])])
    index.add(vectors, ids=CHANGED, payload=LATER)
    expected = held(index)
    assert np.ptp(expected[1]) > 0.01
    assert_same(folder / "catalog", expected)
    put = put_of(pa.table({"id": CHANGED, "vector": list(vectors), **LATER}), hubless.open(folder / "other", NAME))
    small.record(hubless.Catalog(folder / "other").log(NAME), put)
    assert_same(folder / "other", expected)
    hubless.merge(folder / "other", NAME)
    assert_same(folder / "other", expected)
    index.save(folder / "saved", NAME)
    assert_same(folder / "saved", expected)

    jobs.rewrite(folder, query_bank="bank.parquet", correction=correction)
    for name in {"fit_by", "target_prior"} & settings.keys():
        left = jobs.run(folder)
        assert getattr(left.manifest, name) is None
        assert any(f"{name} is none, and was " in each for each in left.plan.refit)
