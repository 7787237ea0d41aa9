import numpy as np
import pytest
from support import small

import hubless
from hubless.builder.lifecycle import create
from hubless.errors import CollectionExists, CollectionNotFound, InputError
from hubless.search.transaction import WritableCollection
from hubless.search.writes import Put, Remove
from hubless.store.log import Log
from hubless.vectors.free_payload import free_table
from hubless.vectors.ids import id_array

SETTINGS = {"dim": small.DIM, "metric": "cosine", "id_type": "string"}


@pytest.fixture
def catalog(tmp_path):
    create(tmp_path, "notes", **SETTINGS)
    return hubless.Catalog(tmp_path)


def write(catalog, *writes):
    small.record(catalog.log("notes"), *writes)


def put(*names, seed=0, payload=None):
    vectors = np.random.default_rng(seed).normal(size=(len(names), small.DIM)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Put(vectors, id_array(list(names), "ids"), free_table(payload or [{} for _ in names]))


def test_created_collection_is_empty_raw_and_whole(catalog):
    index = hubless.open(catalog.path, "notes")
    index.parts.check_hashes()
    index.check_canaries()
    assert (index.count, index.manifest.correction.name, index.manifest.measured) == (0, "none", None)
    found = index.query(small.targets()[:2], explain=True, filter={"field": "title", "exists": True})
    assert found.ids == [[], []]


def test_creating_again_changes_nothing_and_other_settings_are_named(catalog):
    before = catalog.current("notes")
    assert not create(catalog.path, "notes", **SETTINGS)
    other = {"dim": 3, "metric": "dot", "id_type": "int64", "payload_schema": {"title": "string"}}
    with pytest.raises(CollectionExists) as refused:
        create(catalog.path, "notes", **other)
    assert str(refused.value) == (
        "collection 'notes' is there with other settings: dim is 5, not 3; metric is cosine, not dot; "
        "id_type is string, not int64; payload_schema is free JSON, not title string"
    ).replace("dim is 5", f"dim is {small.DIM}")
    assert catalog.current("notes") == before


def test_merge_makes_a_version_with_an_index_of_what_was_written(catalog):
    rows = [{"n": i} if i % 2 else {} for i in range(30)]
    write(catalog, put(*(f"id-{i}" for i in range(30)), payload=rows), Remove(id_array(["id-3"], "ids")))
    before = hubless.open(catalog.path, "notes")
    made = hubless.merge(catalog.path, "notes", keep=1)
    assert (made.count, made.measured, made.log_seq) == (29, None, 2)
    after = hubless.open(catalog.path, "notes")
    after.check_canaries()
    assert after.parts.added == 0
    queries = small.targets()[:5]
    assert after.query(queries).ids == before.query(queries).ids
    assert after.payload([0, 1]) == [{}, {"n": 1}]
    assert after.ids(after.matches({"field": "n", "lt": 6}).rows) == ["id-1", "id-5"]


def test_merge_of_writes_of_which_nothing_is_left(catalog):
    for _ in range(2):
        write(catalog, put("a"))
        assert hubless.merge(catalog.path, "notes").count == 1
        write(catalog, Remove(id_array(["a"], "ids")))
        assert hubless.merge(catalog.path, "notes").count == 0
        write(catalog, put("b"), Remove(id_array(["b"], "ids")))
        assert hubless.merge(catalog.path, "notes").count == 0
    hubless.open(catalog.path, "notes").check_canaries()


def test_index_of_a_created_collection_takes_targets_with_free_payload(catalog):
    index = hubless.open(catalog.path, "notes")
    index.add(small.targets()[:2], ids=["a", "b"], payload=[{"x": [1, None]}, {}])
    index.add(small.targets()[2:3], ids=["c"])
    assert index.payload([0, 1, 2]) == [{"x": [1, None]}, {}, {}]
    with pytest.raises(InputError, match="payload: expected 1 rows, one a vector, got 2 rows"):
        index.add(small.targets()[3:4], ids=["d"], payload=[{}, {}])


def test_deleted_collection_is_gone_with_what_a_kill_left_of_others(catalog):
    left = catalog.path / ".deleted-older-123"
    left.mkdir()
    catalog.delete("notes")
    assert catalog.collections() == []
    assert not left.exists()
    with pytest.raises(CollectionNotFound):
        catalog.delete("notes")


def test_log_of_a_deleted_collection_takes_no_write_though_there_is_another_of_its_name(catalog):
    home = catalog.path / "notes"
    write(catalog, put("a"))
    living = WritableCollection(hubless.Collection(hubless.open(catalog.path, "notes").parts), Log(home))
    catalog.delete("notes")
    for _ in range(2):
        with pytest.raises(CollectionNotFound), living.log.writing():
            raise AssertionError("the lock was given")
        create(catalog.path, "notes", **SETTINGS)
    assert hubless.open(catalog.path, "notes").count == 0
    assert not (home / "log.sqlite").exists()
