"""What becomes of the collections in Milvus when versions are built, rolled back, merged, fitted anew and deleted."""

import numpy as np
import pytest
from support import small

import hubless
from hubless.builder.pipeline import engines
from hubless.errors import InputError
from hubless_milvus.names import alias_name, collection_name


@pytest.fixture(autouse=True)
def client(milvus, monkeypatch):
    monkeypatch.setenv("HUBLESS_MILVUS_URI", milvus.uri)
    return milvus.client


def build(catalog, name, **options):
    return small.build(catalog, name, engine="milvus", **options)


def place(manifest):
    return manifest.index.engine.name


def standing(client, name):
    """The Milvus collection that the alias of a collection stands for."""
    return client.describe_alias(alias_name(name))["collection_name"]


def test_alias_follows_builds_and_a_roll_back(tmp_path, client):
    from typer.testing import CliRunner

    from hubless.cli import app

    first = build(tmp_path, "follows")
    assert standing(client, "follows") == place(first)
    second = build(tmp_path, "follows", data=1)
    assert standing(client, "follows") == place(second)
    done = CliRunner().invoke(app, ["rollback", "--catalog", str(tmp_path), "--collection", "follows"])
    assert done.exit_code == 0, done.output
    assert standing(client, "follows") == place(first)
    assert client.has_collection(place(second))
    known = hubless.open(tmp_path, "follows", version=second.version).query(small.query_bank()[:2])
    assert len(known[0]) == 10


def test_fewer_dimensions_are_stored_and_answer_as_on_this_machine(tmp_path, client):
    made = build(tmp_path, "fewer", correction="csls", parameters={"k": 3}, dims=4)
    fields = {field["name"]: field for field in client.describe_collection(place(made))["fields"]}
    small.build(tmp_path, "here", correction="csls", parameters={"k": 3}, dims=4, index="flat")
    queries = small.query_bank()[:5]
    found, known = (hubless.open(tmp_path, name).query(queries) for name in ("fewer", "here"))
    np.testing.assert_array_equal(found.ids, known.ids)
    np.testing.assert_allclose(found.scores, known.scores, atol=1e-5)
    assert max(field["params"].get("dim", 0) for field in fields.values()) < small.DIM + 2
    hubless.refit(tmp_path, "fewer", queries, append=True, progress=False)
    assert hubless.open(tmp_path, "fewer").manifest.dims == 4


def test_alias_that_somebody_else_uses_is_refused_before_the_work(tmp_path, client):
    client.create_collection(alias_name("taken"), 4)
    with pytest.raises(InputError, match="Milvus alias: expected a name that is free"):
        build(tmp_path, "taken")
    assert client.has_collection(alias_name("taken"))
    assert not [name for name in client.list_collections() if name.startswith("hubless_taken_")]


def test_pruned_versions_leave_milvus_and_others_stay(tmp_path, client):
    made = [build(tmp_path, "pruned", data=data) for data in range(3)]
    other = build(tmp_path, "spared")
    engines.prune(hubless.Catalog(tmp_path), "pruned", 1)
    assert [client.has_collection(place(each)) for each in (*made, other)] == [False, False, True, True]


def test_versions_that_were_pruned_while_milvus_was_away_go_with_the_next_build(tmp_path, client, monkeypatch, caplog):
    made = [build(tmp_path, "later", data=data) for data in range(2)]
    with monkeypatch.context() as patch:
        patch.setenv("HUBLESS_MILVUS_URI", "http://127.0.0.1:1")
        assert engines.prune(hubless.Catalog(tmp_path), "later", 1) == [made[0].version]
    assert f"left in Milvus: {place(made[0])}" in caplog.text
    assert client.has_collection(place(made[0]))
    build(tmp_path, "later", data=2)
    assert not client.has_collection(place(made[0]))


def test_deleted_collection_leaves_milvus_with_its_alias(tmp_path, client):
    made = [build(tmp_path, "deleted", data=data) for data in range(2)]
    engines.delete(hubless.Catalog(tmp_path), "deleted")
    assert not any(client.has_collection(place(each)) for each in made)
    assert not client.has_collection(alias_name("deleted"))


def test_collection_without_our_mark_is_never_dropped(tmp_path, client):
    made = [build(tmp_path, "unmarked", data=data) for data in range(2)]
    client.drop_collection(place(made[0]))
    client.create_collection(place(made[0]), 4)
    engines.prune(hubless.Catalog(tmp_path), "unmarked", 1)
    assert client.has_collection(place(made[0]))


def test_build_that_was_killed_is_cleared_away_by_the_next(tmp_path, client, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("hubless_milvus.engine.drop", lambda *_: [])  # as if there had been no time
        patch.setattr("hubless.builder.pipeline.publishing.described", lambda *_, **options: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            build(tmp_path, "killed")
    [left] = [name for name in client.list_collections() if name.startswith("hubless_killed_")]
    build(tmp_path, "killed")
    assert not client.has_collection(left)


def changed_in_both(catalog, name, ids):
    """Save a change, with as many new targets as ids, of a collection in Milvus and of the same one in files.

    Fail unless they answer the same. Return the manifest of the first version in Milvus, and that of the second.
    """
    answers, made = [], []
    for each, engine in ((f"{name}-here", "faiss"), (name, "milvus")):
        made = [small.build_full(catalog, each, correction="auto", engine=engine)]
        index = hubless.open(catalog, each)
        index.remove(["target-20"])
        index.add(small.vectors(len(ids), 5), ids=ids, payload=[{"title": "title 9"}] * len(ids))
        made.append(index.save(catalog, each))
        opened = hubless.open(catalog, each)
        assert opened.count == small.COUNT + len(ids) - 1
        filters = (None, {"field": "title", "gte": "title 3"})
        answers.append([opened.query(small.query_bank()[:4], limit=8, filter=filter) for filter in filters])
        opened.check_canaries()
    for one, other in zip(*answers, strict=True):
        for ours, known in zip(other, one, strict=True):
            assert [hit.id for hit in ours] == [hit.id for hit in known]
            assert [hit.score for hit in ours] == pytest.approx([hit.score for hit in known], abs=1e-5)
    return made


def test_save_after_few_changes_keeps_the_collection_and_puts_a_segment_beside_it(tmp_path, client):
    first, saved = changed_in_both(tmp_path, "beside", ["x", "y", "z"])
    assert (place(saved), standing(client, "beside")) == (place(first), place(first))
    assert [(each.index, each.count) for each in saved.segments] == [("milvus", small.COUNT), ("flat", 3)]
    answer = hubless.open(tmp_path, "beside").query(small.query_bank()[:2])
    # the version that brought it may go
    assert engines.prune(hubless.Catalog(tmp_path), "beside", 1) == [first.version]
    build(tmp_path, "another")
    assert client.has_collection(place(first))
    assert hubless.open(tmp_path, "beside").query(small.query_bank()[:2]).ids == answer.ids
    engines.delete(hubless.Catalog(tmp_path), "beside")
    assert not client.has_collection(place(first))


@pytest.mark.nullable  # new points have no payload
def test_save_after_many_changes_makes_a_new_collection_with_all_targets(tmp_path, client):
    first, saved = changed_in_both(tmp_path, "moved", [f"more-{row}" for row in range(9)])
    assert saved.index.engine.name == collection_name("moved", saved.version) != place(first)
    assert standing(client, "moved") == place(saved)
    assert engines.prune(hubless.Catalog(tmp_path), "moved", 1) == [first.version]
    assert [client.has_collection(place(each)) for each in (first, saved)] == [False, True]


def test_refit_keeps_the_engine_and_the_kind_of_index(tmp_path, client):
    build(tmp_path, "refitted", index="hnsw", correction="csls")
    made = hubless.refit(tmp_path, "refitted", small.vectors(30, 77), keep=1)
    assert (made.index.type, made.index.engine.kind) == ("milvus", "hnsw")
    left = [name for name in client.list_collections() if name.startswith("hubless_refitted_")]
    assert left == [place(made)]
    same = hubless.offsets(small.targets(), small.vectors(30, 77), metric="cosine", correction="csls")
    assert np.allclose(hubless.open(tmp_path, "refitted").parts.offsets, same, atol=1e-5)


def test_job_file_names_the_engine(tmp_path, client):
    np.save(tmp_path / "targets.npy", small.targets())
    np.save(tmp_path / "bank.npy", small.query_bank())
    job = tmp_path / "job.yaml"
    job.write_text(
        "version: 1\ncollection: jobs\nmetric: cosine\ntargets: targets.npy\nquery_bank: bank.npy\n"
        "index: {type: flat, engine: milvus}\nretention: {versions: 1}\n"
    )
    first = hubless.reindex(job, catalog=tmp_path / "catalog")
    np.save(tmp_path / "targets.npy", small.targets(1))
    second = hubless.reindex(job, catalog=tmp_path / "catalog")
    assert second.published
    assert standing(client, "jobs") == place(second.manifest)
    assert not client.has_collection(place(first.manifest))
    known = hubless.open(tmp_path / "catalog", "jobs").query(small.targets(1)[:3], strength=0, limit=1)
    assert [hits[0].row for hits in known] == [0, 1, 2]


def test_collection_that_was_emptied_and_filled_again_stays_in_milvus(tmp_path, client):
    first = build(tmp_path, "emptied", index="hnsw")
    index = hubless.open(tmp_path, "emptied")
    index.remove(list(range(small.COUNT)))
    empty = index.save(tmp_path, "emptied")
    assert (empty.count, place(empty), empty.index.engine.kind) == (0, place(first), "hnsw")
    index = hubless.open(tmp_path, "emptied")
    assert len(index.query(small.query_bank()[:1])[0]) == 0
    index.add(small.targets(3), ids=np.arange(small.COUNT))
    filled = index.save(tmp_path, "emptied")
    assert client.has_collection(place(filled))
    assert standing(client, "emptied") == place(filled) != place(first)
    found = hubless.open(tmp_path, "emptied").query(small.targets(3)[:3], strength=0, limit=1)
    assert [hits[0].id for hits in found] == [0, 1, 2]
