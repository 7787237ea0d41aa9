import numpy as np
import pytest
from support import stores

import hubless
from hubless.errors import InputError

JOB = """
version: 1
catalog: catalog
collection: photos
targets: {address}
query_bank: bank.npy
bank_of_targets: true
publish: {address}
"""


@pytest.fixture
def job(store, tmp_path, monkeypatch):
    monkeypatch.setenv("HUBLESS_CACHE", str(tmp_path / "cache"))
    np.save(tmp_path / "bank.npy", stores.BANK_QUERIES)
    path = tmp_path / "job.yaml"
    path.write_text(JOB.format(address=store.address))
    return path


@pytest.mark.parametrize("store", ["qdrant", "pgvector"], indirect=True)
def test_job_reads_a_database_and_writes_what_changed_to_it(job, store, best):
    first = hubless.reindex(job)
    index = hubless.open(job.parent / "catalog", "photos")
    assert first.corrected[0].written == index.count == stores.FIRST
    assert index.point(3).payload["stock"] == 3
    lines = first.corrected[0].query
    assert stores.asked(store, lines) == best(index)
    again = hubless.reindex(job)
    assert (again.published, again.corrected) == (False, [])
    store.fill(stores.FIRST)
    third = hubless.reindex(job)
    assert third.corrected[0].written == stores.COUNT
    assert third.plan.rows.counts == {"new": stores.COUNT - stores.FIRST, "changed": 0, "gone": 0}
    index = hubless.open(job.parent / "catalog", "photos")
    assert stores.asked(store, lines) == best(index)


def test_address_that_is_none_is_named_with_its_line(tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text(JOB.format(address="oracle://me:sec/ret@h/t"))
    with pytest.raises(InputError, match=r"publish: expected one of qdrant://.*oracle://me:…@h/t"):
        hubless.reindex(path)
    path.write_text(path.read_text().partition("publish")[0])
    with pytest.raises(InputError, match=r"expected a path.*got oracle://me:…@h/t"):
        hubless.reindex(path)


@pytest.mark.parametrize("line", ["correction: {name: none}", "correction: {name: gc}", "dims: 8"])
def test_job_that_could_not_publish_is_refused_before_it_runs(tmp_path, line):
    path = tmp_path / "job.yaml"
    path.write_text(JOB.format(address="qdrant://localhost/photos") + line)
    with pytest.raises(InputError, match=r"(one that folds into offsets|none beside publish)"):
        hubless.reindex(path)
