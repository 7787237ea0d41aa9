import shutil

import numpy as np
import pytest
from support import jobs, shards
from support.problems import normal
from support.shards import inodes, same_answers

import hubless
from hubless.builder import indexing as files
from hubless.errors import InputError

KINDS = ["flat", "fastscan", "hnsw_sq8"]


@pytest.fixture(scope="module", params=KINDS)
def built(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("built")
    shards.build(path, index=request.param)
    return path


@pytest.fixture
def catalog(built, tmp_path):
    """A catalog that may be changed. Its files have their own places on the disk."""
    return shutil.copytree(built, tmp_path / "catalog")


def more(count, seed=5):
    return normal(count, shards.DIM, seed)


def test_offsets_and_exact_answers_are_those_of_a_build_in_one_file(built, tmp_path):
    kind = hubless.open(built, shards.NAME).manifest.index.type
    one = shards.build(tmp_path, index=kind, shard_targets=None)
    assert one.index.shards == []
    cut, whole = hubless.open(built, shards.NAME), hubless.open(tmp_path, shards.NAME)
    assert cut.offsets.tobytes() == whole.offsets.tobytes()
    assert cut.manifest.measured.recall_at_10 >= 0.99
    exact = {"parameters": {"exact": True}}
    before, after = whole.query(shards.queries(), 10, **exact), cut.query(shards.queries(), 10, **exact)
    assert after.ids == before.ids
    np.testing.assert_allclose(after.scores, before.scores, rtol=0, atol=1e-6)


@pytest.mark.parametrize("wrong", [0, 999, -8, 2.5, True, "1000"])
def test_size_of_a_shard_is_a_whole_number_from_a_thousand(tmp_path, wrong):
    with pytest.raises(InputError, match="shard_targets: expected a whole number from 1000"):
        shards.build(tmp_path, shard_targets=wrong)


def test_shards_begin_at_multiples_of_eight(tmp_path):
    assert shards.build(tmp_path, shard_targets=1001).index.shards == [1008, 1008, 884]


def test_shards_take_at_most_so_many_bytes_unless_told_otherwise(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "SHARD_BYTES", 1200 * 32 * 4)
    made = shards.build(tmp_path, shard_targets=None)
    assert (made.index.shards, made.index.shard_targets) == ([1200, 1200, 500], None)


def test_added_targets_go_into_the_last_shard_and_then_into_new_ones(catalog):
    before, index = inodes(catalog), hubless.open(catalog, shards.NAME)
    fits, flows = 90, 20
    index.add(more(fits), ids=np.arange(5000, 5000 + fits))
    with index:
        index.save(catalog, shards.NAME)
        assert index.manifest.index.shards == [1000, 1000, 990]
    index = hubless.open(catalog, shards.NAME)
    index.add(more(flows, 6), ids=np.arange(9000, 9000 + flows))
    answered = hubless.open(catalog, shards.NAME)
    answered.add(more(flows, 6), ids=np.arange(9000, 9000 + flows))
    made = index.save(catalog, shards.NAME)
    assert made.index.shards == [1000, 1000, 1000, 10]
    after = inodes(catalog)
    assert [name for name in before if after[name] == before[name]] == ["index-000.faiss", "index-001.faiss"]
    opened = hubless.open(catalog, shards.NAME)
    opened.check_canaries()
    same_answers(answered, opened)
    assert opened.query(more(flows, 6), 1, strength=0).ids == [[each] for each in range(9000, 9020)]


def test_removed_targets_change_the_shards_that_they_were_in(catalog):
    before, index = inodes(catalog), hubless.open(catalog, shards.NAME)
    index.remove([1000, 1003, 1999])
    answered = hubless.open(catalog, shards.NAME)
    answered.remove([1000, 1003, 1999])
    assert index.save(catalog, shards.NAME).index.shards == [1000, 997, 900]
    after = inodes(catalog)
    assert [name for name in before if after[name] != before[name]] == ["index-001.faiss"]
    opened = hubless.open(catalog, shards.NAME)
    opened.check_canaries()
    same_answers(answered, opened)
    # the shards that come after it do not begin at multiples of 8 now
    opened.remove([0])
    assert opened.query(normal(3, shards.DIM, 7), 10).rows.shape == (3, 10)


def test_shard_that_loses_all_its_targets_is_gone(catalog):
    index = hubless.open(catalog, shards.NAME)
    index.remove(list(range(1000, 2000)))
    assert index.save(catalog, shards.NAME).index.shards == [1000, 900]
    index = hubless.open(catalog, shards.NAME)
    index.remove([*range(300), *range(2000, 2900)])
    made = index.save(catalog, shards.NAME)
    assert (made.index.shards, made.count) == ([], 700)
    hubless.open(catalog, shards.NAME).check_canaries()


def test_index_in_one_file_is_cut_when_it_has_grown(tmp_path):
    made = shards.build(tmp_path, 950, index="fastscan")
    assert made.index.shards == []
    index = hubless.open(tmp_path, shards.NAME)
    index.add(more(100), ids=np.arange(5000, 5100))
    assert index.save(tmp_path, shards.NAME).index.shards == [1000, 50]
    opened = hubless.open(tmp_path, shards.NAME)
    opened.check_canaries()
    assert opened.query(more(100), 1, strength=0).ids == [[each] for each in range(5000, 5100)]


def test_version_that_was_merged_needs_no_older_one(catalog):
    first = hubless.open(catalog, shards.NAME)
    first.add(more(5), ids=np.arange(5000, 5005))
    made = first.save(catalog, shards.NAME)
    hubless.Catalog(catalog).prune(shards.NAME, 1)
    assert hubless.Catalog(catalog).version_ids(shards.NAME) == [made.version]
    hubless.open(catalog, shards.NAME).check_canaries()


@pytest.fixture
def written(monkeypatch):
    names = []

    def write(index, path, kept=files.write_whole):
        kept(index, path)
        names.append(path.stem)

    monkeypatch.setattr(files, "write_whole", write)
    return names


def test_job_writes_the_shards_that_changed(tmp_path, monkeypatch, written):
    monkeypatch.setattr(files, "SHARD_LEAST", 8)
    folder = tmp_path / "job"
    jobs.write(folder, index={"type": "flat", "shard_targets": 16})
    jobs.run(folder)
    written.clear()
    jobs.write_targets(folder / "items" / "c.parquet", jobs.names(60, 66))
    grown = jobs.run(folder).manifest
    assert (grown.job.built, grown.index.shards) == ("grown", [16, 16, 16, 16, 2])
    assert written == ["index-003", "index-004"]
    assert jobs.stored(folder).keys() == set(jobs.names(0, 66))
    jobs.rewrite(folder, index={"type": "flat", "shard_targets": 32})
    again = jobs.run(folder).manifest
    assert any("index.shard_targets is 32, and was 16" in why for why in again.job.why)
    assert again.index.shards == [32, 32, 2]
