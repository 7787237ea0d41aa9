"""Passes over all targets in shards: the same offsets as in one pass. The executor here stands in for Ray."""

import numpy as np
import pytest
from support import executing as work, jobs
from support.segments import unnamed

import hubless
from hubless import errors
from hubless.builder import executors
from hubless.errors import CollectionNotFound, InputError, StorageError
from hubless.kernels import sharding
from hubless.kernels.sharding import on_executor, over_shards
from hubless.vectors.sources import SharedVectors

METHODS = [
    ("auto", {}),
    ("dbsn", {"temperature": 0.3}),
    ("sn", {"temperature": 0.3, "fit_sample": "all"}),
    ("nnn", {"k": 16}),
    ("dual_is", {"query_temperature": 0.3}),
]


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(sharding, "SHARD_ROWS", work.SHARD_ROWS)


@pytest.fixture
def shared(tmp_path):
    """Vectors of three shards, and a number along each."""
    rows = np.arange(work.TARGETS * 4, dtype=np.float32).reshape(-1, 4)
    rows.tofile(tmp_path / "rows")
    return SharedVectors(tmp_path / "rows", 4, 0, len(rows), "targets"), np.arange(len(rows))


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    monkeypatch.setattr(executors, "brought", lambda *_: work.InShards)


@pytest.mark.parametrize(("correction", "parameters"), METHODS)
def test_shards_give_the_offsets_and_the_figures_of_one_pass(tmp_path, correction, parameters):
    expected, manifest, _ = work.offsets_built(tmp_path / "one", "local", correction, parameters)
    offsets, other, _ = work.offsets_built(tmp_path / "more", "ray", correction, parameters)
    assert np.ptp(expected) > 0.1
    np.testing.assert_allclose(offsets, expected, atol=2e-5)
    after, before = (each.measured.hubness_corrected.skewness for each in (other, manifest))
    assert after == pytest.approx(before, rel=0.01)
    assert other.measured.recall_at_10 == manifest.measured.recall_at_10 == 1
    assert unnamed(other).keys() == unnamed(manifest).keys()


def test_parts_come_in_order_of_the_shards(shared):
    source, along = shared
    with on_executor(work.InShards()):
        parts = over_shards(source, work.sums, along)
    sums = source.array.sum(axis=1, dtype=np.float64) + along
    assert parts == pytest.approx([sums[:400].sum(), sums[400:800].sum(), sums[800:].sum()])


def test_mistakes_found_in_a_shard_are_told_as_they_are(shared):
    source, along = shared
    with on_executor(work.InShards()), pytest.raises(InputError, match="NaN in row 0") as error:
        over_shards(source, work.refuses, along)
    assert error.value.parameter == "targets"


def test_a_place_that_does_not_see_the_catalog_is_named(shared):
    source, along = shared
    source.path.unlink()
    with (
        on_executor(work.InShards()),
        pytest.raises(StorageError, match="storage that all machines of the executor share"),
    ):
        over_shards(source, work.sums, along)


def test_ray_without_its_package_says_which_line_brings_it(tmp_path, monkeypatch):
    monkeypatch.undo()  # the stand-in
    monkeypatch.setattr(errors, "entry_points", lambda **_: ())
    with pytest.raises(hubless.HublessError, match=r"^executor ray://h:1 is of hubless-ray.*\[ray\]"):
        work.offsets_built(tmp_path, "ray://h:1", "nnn", {"k": 16})
    with pytest.raises(CollectionNotFound):  # nothing was published
        hubless.Catalog(tmp_path).current("all")


def test_a_job_names_its_executor(tmp_path):
    job = jobs.write(tmp_path, executor={"type": "ray"}, correction={"name": "nnn", "parameters": {"k": 3}})
    outcome = hubless.reindex(job, catalog=tmp_path / "catalog")
    assert outcome.published
    plain = jobs.rewrite(tmp_path, correction={"name": "nnn", "parameters": {"k": 3}})
    other = hubless.reindex(plain, catalog=tmp_path / "other")
    made = ((tmp_path / "catalog", outcome), (tmp_path / "other", other))
    one, two = (hubless.open(catalog, jobs.NAME, version=each.manifest.version).offsets for catalog, each in made)
    np.testing.assert_allclose(one, two, atol=1e-6)
