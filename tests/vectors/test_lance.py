"""Lance datasets as inputs (`make extras`)."""

import importlib.util

import numpy as np
import pyarrow as pa
import pytest
from support import jobs

import hubless
from hubless.errors import InputError

HERE = importlib.util.find_spec("lance") is not None
needs_lance = pytest.mark.skipif(not HERE, reason="needs Lance: make extras")


def table(ids, seed=0, **columns):
    rows = np.stack([jobs.vector(each, seed) for each in ids])
    lists = pa.FixedSizeListArray.from_arrays(rows.ravel(), rows.shape[1])
    return pa.table({"id": ids, "vector": lists} | columns)


def write(path, ids, **given):
    import lance

    mode = given.pop("mode", "overwrite")
    lance.write_dataset(table(ids, **given), str(path), mode=mode)


@needs_lance
def test_build_takes_vectors_ids_and_payload(tmp_path):
    ids = jobs.names(0, 50)
    write(tmp_path / "items.lance", ids, title=[f"title {each}" for each in ids])
    bank = np.random.default_rng(0).normal(size=(40, jobs.DIM)).astype(np.float32)
    manifest = hubless.build(tmp_path / "c", "all", tmp_path / "items.lance", bank, correction="csls", progress=False)
    assert manifest.provenance.inputs["targets"].name == "items.lance"
    wanted = {"field": "title", "eq": "title item-7"}
    found = hubless.open(tmp_path / "c", "all").query(jobs.vector("item-7")[np.newaxis], limit=1, filter=wanted)
    assert found[0][0].id == "item-7"


@needs_lance
def test_job_takes_what_a_new_version_of_the_dataset_has(tmp_path):
    job = jobs.write(tmp_path, targets="items.lance", gates={})
    write(tmp_path / "items.lance", jobs.names(0, 50))
    first = hubless.reindex(job, catalog=tmp_path / "c", progress=False)
    assert first.manifest.count == 50
    assert not hubless.reindex(job, catalog=tmp_path / "c", progress=False).plan.why
    write(tmp_path / "items.lance", jobs.names(50, 53), mode="append")
    second = hubless.reindex(job, catalog=tmp_path / "c", progress=False)
    assert second.manifest.count == 53
    assert second.manifest.job.new == 3


@needs_lance
def test_blocks_and_rows_are_those_of_the_version_that_was_opened(tmp_path):
    from hubless.vectors.files import open_items

    ids = jobs.names(0, 20)
    write(tmp_path / "items.lance", ids)
    vectors = open_items(tmp_path / "items.lance", "targets").vectors
    write(tmp_path / "items.lance", jobs.names(20, 40), mode="append")
    expected = np.stack([jobs.vector(each) for each in ids])
    assert vectors.shape == expected.shape
    np.testing.assert_array_equal(np.concatenate(list(vectors.blocks(6))), expected)
    np.testing.assert_array_equal(vectors.take(np.array([7, 2, 7])), expected[[7, 2, 7]])


@needs_lance
def test_dataset_with_a_null_vector_names_the_row(tmp_path):
    import lance

    lists = pa.array([[1.0, 2.0], None, [3.0, 4.0]], pa.list_(pa.float32(), 2))
    lance.write_dataset(pa.table({"vector": lists}), str(tmp_path / "items.lance"))
    with pytest.raises(InputError, match=r"items\.lance\), row 1: expected a vector, got a null"):
        hubless.build(tmp_path / "c", "all", tmp_path / "items.lance", np.eye(2, dtype=np.float32), progress=False)


@needs_lance
def test_folder_that_is_no_dataset_is_refused(tmp_path):
    (tmp_path / "items.lance").mkdir()
    with pytest.raises(InputError, match=r"items\.lance\): expected a readable \.lance file"):
        hubless.build(tmp_path / "c", "all", tmp_path / "items.lance", np.eye(2, dtype=np.float32), progress=False)


@pytest.mark.skipif(HERE, reason="pylance is here")
def test_without_the_package_the_error_says_how_to_install_it(tmp_path):
    (tmp_path / "items.lance").mkdir()
    with pytest.raises(InputError, match=r"pylance for \.lance \(pip install '\.\[lance\]'"):
        hubless.build(tmp_path / "c", "all", tmp_path / "items.lance", np.eye(2, dtype=np.float32), progress=False)
