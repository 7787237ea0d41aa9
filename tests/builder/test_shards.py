"""Segments on disk: a build cuts its index into some, and what is written later becomes further ones."""

import math
import shutil

import numpy as np
import pytest
from support import jobs, shards
from support.problems import normal
from support.segments import assert_stamps_stand_once, files_of, sizes
from support.shards import same_answers

import hubless
from hubless.builder import shards as parts
from hubless.builder.lifecycle import create
from hubless.knn import aims

KINDS = ["flat", "fastscan", "hnsw_sq8"]
SIZES = [1000, 1000, 900]


@pytest.fixture(scope="module", params=KINDS)
def built(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("built")
    shards.build(path, index=request.param)
    return path


@pytest.fixture
def catalog(built, tmp_path):
    """A catalog that may be changed. Its files have their own places on the disk."""
    return shutil.copytree(built, tmp_path / "catalog")


def now(catalog):
    return hubless.open(catalog, shards.NAME)


def more(count, seed=5):
    return normal(count, shards.DIM, seed)


def changed(catalog, *, add=0, first=5000, remove=()):
    """The collection, changed and not saved."""
    index = now(catalog)
    if add:
        index.add(more(add, first), ids=np.arange(first, first + add))
    if len(remove):
        index.remove(list(remove))
    return index


def save(catalog, **change):
    return changed(catalog, **change).save(catalog, shards.NAME)


def stored(catalog):
    return files_of(catalog, shards.NAME)


def kind_of(manifest):
    return manifest.index.type


def test_offsets_and_exact_answers_are_those_of_a_build_in_one_file(built, tmp_path):
    kind = kind_of(hubless.open(built, shards.NAME).manifest)
    one = shards.build(tmp_path, index=kind, shard_targets=None)
    assert sizes(one) == [shards.COUNT]
    cut, whole = hubless.open(built, shards.NAME), hubless.open(tmp_path, shards.NAME)
    assert sizes(cut.manifest) == SIZES
    assert cut.offsets.tobytes() == whole.offsets.tobytes()
    np.testing.assert_array_equal(cut.parts.occurrence(), whole.parts.occurrence())
    assert cut.manifest.measured.recall_at_10 >= 0.99
    exact = {"parameters": {"exact": True}}
    before, after = whole.query(shards.queries(), 10, **exact), cut.query(shards.queries(), 10, **exact)
    assert after.ids == before.ids
    np.testing.assert_allclose(after.scores, before.scores, rtol=0, atol=1e-6)


def test_shards_begin_at_multiples_of_eight(tmp_path):
    assert sizes(shards.build(tmp_path, shard_targets=1001)) == [1008, 1008, 884]


def test_shards_take_at_most_so_many_bytes_unless_told_otherwise(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "SHARD_BYTES", 1200 * 32 * 4)
    made = shards.build(tmp_path, shard_targets=None)
    assert (sizes(made), made.index.shard_targets) == ([1200, 1200, 500], None)


class TestSave:
    def test_added_targets_become_a_segment_and_no_other_file_is_touched(self, catalog):
        before, answered = stored(catalog), changed(catalog, add=20)
        made = save(catalog, add=20)
        assert [(each.index, each.count) for each in made.segments[-1:]] == [("flat", 20)]
        assert (sizes(made), made.grown, made.count) == ([*SIZES, 20], 20, shards.COUNT + 20)
        after = stored(catalog)
        assert before.items() <= after.items()
        assert {name.split("/")[1] for name in after.keys() - before.keys()} == {made.segments[-1].name}
        opened = now(catalog)
        opened.check_canaries()
        same_answers(answered, opened)
        assert opened.query(more(20, 5000), 1, strength=0).ids == [[each] for each in range(5000, 5020)]

    def test_small_segment_goes_into_the_next_one_and_the_others_stay_untouched(self, catalog):
        save(catalog, add=20)
        small = now(catalog).manifest.segments[-1].name
        before = {name: file for name, file in stored(catalog).items() if small not in name}
        answered = changed(catalog, add=19, first=6000, remove=[5003])
        made = save(catalog, add=19, first=6000, remove=[5003])
        assert sizes(made) == [*SIZES, 38]
        assert before.items() <= stored(catalog).items()
        opened = now(catalog)
        same_answers(answered, opened)
        assert opened.ids(np.arange(shards.COUNT, opened.count)) == [
            each for each in (*range(5000, 5020), *range(6000, 6019)) if each != 5003
        ]

    def test_removed_targets_are_marked_and_no_file_is_touched(self, catalog):
        before, gone = stored(catalog), [1000, 1003, 1999]
        answered = changed(catalog, remove=gone)
        made = save(catalog, remove=gone)
        assert (sizes(made), [each.removed for each in made.segments]) == (SIZES, [0, 3, 0])
        assert stored(catalog) == before
        opened = now(catalog)
        opened.check_canaries()
        same_answers(answered, opened)
        assert opened.find(gone) == [None, None, None]
        opened.remove([0])
        assert opened.query(normal(3, shards.DIM, 7), 10).rows.shape == (3, 10)

    def test_index_is_trained_anew_once_more_than_a_fifth_is_gone(self, catalog):
        first = now(catalog).manifest
        made = save(catalog, remove=range(580))
        assert (made.built, sizes(made), made.segments[0].removed) == (first.version, SIZES, 580)
        made = save(catalog, remove=[580])
        assert (made.built, sum(sizes(made)), "gone.npz" in made.files) == (made.version, shards.COUNT - 581, False)
        answered = changed(catalog)
        answered.check_canaries()
        assert answered.query(shards.targets()[2000:2008], 1, strength=0).ids == [[each] for each in range(2000, 2008)]

    def test_index_is_trained_anew_once_more_than_a_tenth_came_behind_it(self, catalog):
        first = now(catalog).manifest
        made = save(catalog, add=322)
        assert (made.built, sizes(made)) == (first.version, [*SIZES, 322])
        made = save(catalog, add=1, first=9000)
        if kind_of(made) == "flat":
            assert (made.built, sizes(made)) == (first.version, [*SIZES, 322, 1])
            return
        assert (made.built, sizes(made), made.grown) == (made.version, [1000, 1000, 1000, 223], 0)
        assert {each.index for each in made.segments} == {kind_of(first)}
        opened = now(catalog)
        opened.check_canaries()
        assert opened.query(more(322), 1, strength=0, parameters={"exact": True}).rows.shape == (322, 1)

    def test_segment_that_loses_all_its_targets_answers_no_more(self, catalog):
        answered = changed(catalog, remove=range(1000, 2000))
        made = save(catalog, remove=range(1000, 2000))
        assert made.count == 1900
        opened = now(catalog)
        same_answers(answered, opened)
        opened.check_canaries()
        # one that was written goes with its files
        save(catalog, add=5)
        made = save(catalog, remove=range(5000, 5005))
        assert (made.count, 5 in sizes(made)) == (1900, False)
        hubless.Catalog(catalog).prune(shards.NAME, 1)
        assert {name.split("/")[1] for name in stored(catalog)} == {each.name for each in made.segments} | {made.fit}

    def test_stamps_of_targets_that_were_added_in_memory_stand_once(self, catalog):
        save(catalog, add=12)
        save(catalog, add=3, first=6000)
        save(catalog, add=1, first=7000)
        targets = changed(catalog, add=4, first=8000, remove=[6001]).parts.targets
        assert len(targets.stored) > len(SIZES) + 1
        assert_stamps_stand_once(targets)


def test_many_small_merges_leave_few_segments_and_write_each_row_a_few_times(tmp_path):
    shards.build(tmp_path, 1000, shard_targets=None)
    written = dict.fromkeys(range(5000, 5500), 0)
    known = {each.name for each in hubless.open(tmp_path, shards.NAME).manifest.segments}
    for number in range(50):
        first = 5000 + 10 * number
        made = save(tmp_path, add=10, first=first, remove=[first - 7] if number else [])
        assert len(made.segments) <= 1 + math.log2(10 * (number + 1))
        for view in hubless.open(tmp_path, shards.NAME).parts.targets.stored:
            if view.segment.name not in known:
                for each in view.segment.ids.array.to_pylist():
                    written[each] = written.get(each, 0) + 1
        known |= {each.name for each in made.segments}
    assert made.count == 1000 + 500 - 49
    assert max(written.values()) <= 2 * math.log2(50)
    assert np.mean(list(written.values())) < math.log2(50)
    opened = hubless.open(tmp_path, shards.NAME)
    left = sorted({*range(5000, 5500)} - {5000 + 10 * number - 7 for number in range(1, 50)})
    assert opened.ids(np.arange(1000, opened.count)) == left


def test_flat_segment_of_which_more_than_a_fifth_is_gone_is_written_anew(tmp_path):
    shards.build(tmp_path, 1000, shard_targets=None)
    assert sizes(save(tmp_path, remove=range(200))) == [1000]
    assert sizes(save(tmp_path, remove=[200])) == [799]
    assert sizes(save(tmp_path, add=300)) == [799, 300]
    answered = changed(tmp_path, add=5, first=9000, remove=range(400, 700))
    made = save(tmp_path, add=5, first=9000, remove=range(400, 700))
    assert (sizes(made), [each.removed for each in made.segments]) == ([499, 300, 5], [0, 0, 0])
    same_answers(answered, hubless.open(tmp_path, shards.NAME))


def test_collection_that_began_empty_gets_another_index_once_it_is_large(tmp_path, monkeypatch):
    monkeypatch.setattr(aims, "FLAT_BYTES", 4 * 1100 * 32)
    create(tmp_path, shards.NAME, dim=shards.DIM, metric="cosine", id_type="int64", payload_schema={})
    for add, first in ((1000, 2000), (100, 5000)):
        made = save(tmp_path, add=add, first=first)
        assert (made.index.type, {each.index for each in made.segments}) == ("flat", {"flat"})
    made = save(tmp_path, add=1, first=6000)
    assert (made.index.type, sizes(made), made.built) == ("fastscan", [1101], made.version)
    hubless.open(tmp_path, shards.NAME).check_canaries()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "SHARD_LEAST", 8)
    jobs.write(tmp_path / "job", index={"type": "flat", "shard_targets": 16})
    return tmp_path / "job"


class TestJob:
    def test_other_size_of_a_shard_trains_the_index_anew(self, folder):
        jobs.run(folder)
        jobs.write_targets(folder / "items" / "c.parquet", jobs.names(60, 66))
        jobs.run(folder)
        jobs.rewrite(folder, index={"type": "flat", "shard_targets": 32})
        again = jobs.run(folder).manifest
        assert any("index.shard_targets is 32, and was 16" in why for why in again.job.why)
        assert sizes(again) == [32, 32, 2]
