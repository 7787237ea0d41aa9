"""The index is trained anew while others write to the collection, and flush what they wrote."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from support import small
from support.segments import assert_stamps_stand_once, sizes

import hubless
from hubless.builder import indexing, lifecycle
from hubless.builder.pipeline import compaction
from hubless.builder.pipeline.publishing import Draft
from hubless.knn import aims
from hubless.search.transaction import open_written
from hubless.search.writes import Put, Remove

NAME = "photos"
TEXT = pa.large_string()


@pytest.fixture(params=["fastscan", "hnsw", "flat_fp16"])
def home(request, tmp_path):
    """A catalog with a collection of 700 targets, of an index that can be trained."""
    payload = [{"title": f"title {row}"} for row in range(700)]
    ids = [f"target-{row}" for row in range(700)]
    options = {"ids": ids, "payload": payload, "correction": "csls", "parameters": {"k": 3}, "index": request.param}
    hubless.build(tmp_path, NAME, small.vectors(700, 0), small.query_bank(), **options)
    return hubless.Catalog(tmp_path)


def put(home, ids, seed):
    vectors = small.vectors(len(ids), seed)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    payload = pa.table({"title": pa.array([f"new {each}" for each in ids], pa.string())})
    schema = hubless.open(home.path, NAME).parts.payload_schema
    small.record(home.log(NAME), Put(vectors, pa.array(ids, TEXT), payload.cast(schema)))


def remove(home, ids):
    small.record(home.log(NAME), Remove(pa.array(ids, TEXT)))


def flush(home):
    made = lifecycle.flush(home, open_written(home, NAME).current.parts)
    assert made is not None
    return made


def stored(home):
    """What the collection holds: id → vector, offset and payload; and its exact answers."""
    opened = hubless.open(home.path, NAME)
    rows = np.arange(opened.count)
    vectors, payload = opened.vectors(rows), opened.payload(rows)
    held = zip(opened.ids(rows), vectors.tolist(), opened.offsets.tolist(), payload, strict=True)
    found = opened.query(
        small.query_bank(), 10, parameters={"exact": True} if opened.manifest.index.type != "flat" else {}
    )
    return {each[0]: each[1:] for each in held}, found


def assert_same(home, before):
    (held, found), (known, answer) = stored(home), before
    assert held == known
    np.testing.assert_allclose(found.scores, answer.scores, atol=2e-3)
    opened = hubless.open(home.path, NAME)
    opened.check_canaries()
    targets = opened.parts.targets
    assert_stamps_stand_once(targets)


def meanwhile(monkeypatch, work):
    """Do some work once the index was trained, and before its version is published."""
    with_segments, todo = Draft.with_segments, [work]

    def trained(*given):
        made = with_segments(*given)
        while todo:
            todo.pop()()
        return made

    monkeypatch.setattr(Draft, "with_segments", trained)


def test_nothing_is_trained_until_it_is_due(home):
    put(home, [f"new-{row}" for row in range(70)], 5)
    assert sizes(flush(home)) == [700, 70]
    assert lifecycle.compact(home.path, NAME) is None
    put(home, [f"more-{row}" for row in range(10)], 6)
    flushed, before = flush(home), stored(home)
    made = lifecycle.compact(home.path, NAME)
    assert (flushed.grown, made.grown, sizes(made)) == (80, 0, [780])
    assert [each.seq for each in made.segments] == [flushed.log_seq]  # the number of a point never falls
    assert (made.built, made.fit, made.log_seq) == (made.version, flushed.fit, 2)
    assert_same(home, before)
    assert lifecycle.compact(home.path, NAME) is None


def test_writes_that_are_flushed_while_it_is_trained_are_in_the_version(home, monkeypatch):
    put(home, [f"new-{row}" for row in range(90)], 5)
    flush(home)
    before = []

    def work():
        put(home, ["target-3", "new-4", "other"], 7)
        remove(home, ["target-9", "new-8", *(f"target-{row}" for row in range(100, 120))])
        flush(home)
        put(home, ["last"], 8)  # stays in the log
        before.append(stored(home))

    meanwhile(monkeypatch, work)
    made = lifecycle.compact(home.path, NAME)
    assert (sizes(made), [each.removed for each in made.segments]) == ([790, 3], [24, 0])
    assert (made.grown, made.count, made.log_seq) == (3, 769, 3)
    assert_same(home, before[0])
    assert hubless.open(home.path, NAME).seq == 4
    assert sizes(flush(home)) == [790, 3, 1]


def test_version_of_another_fit_is_not_replaced(home, monkeypatch):
    put(home, [f"new-{row}" for row in range(90)], 5)
    flush(home)
    meanwhile(monkeypatch, lambda: hubless.refit(home.path, NAME, small.vectors(50, 9), progress=False))
    assert lifecycle.compact(home.path, NAME) is None
    assert hubless.open(home.path, NAME).manifest.bank.queries == 50


def saved(home, ids, seed, *, without=()):
    """Save targets with no write in the log, so that the versions before and after have the same writes."""
    index = hubless.open(home.path, NAME)
    index.add(small.vectors(len(ids), seed), ids, [{"title": f"saved {seed}"}] * len(ids))
    index.remove(without)
    return index.save(home.path, NAME)


@pytest.mark.parametrize(("gone", "follows"), [(["target-3"], False), ([], True)])
def test_version_with_as_many_writes_that_is_activated_meanwhile_is_followed_only_if_it_grew(
    home, monkeypatch, gone, follows
):
    first = home.current(NAME)
    saved(home, ["one", "two"], 5, without=gone)
    monkeypatch.setattr(compaction, "BEHIND", 0)
    before = []

    def work():
        monkeypatch.setattr(compaction, "BEHIND", 1)
        home.rollback(NAME, first)
        saved(home, ["one", "other"], 6)
        before.append(stored(home))

    meanwhile(monkeypatch, work)
    assert (lifecycle.compact(home.path, NAME) is not None) == follows
    assert_same(home, before[0])


def test_what_another_flush_has_written_is_not_flushed_again(home):
    put(home, ["one"], 5)
    written = open_written(home, NAME).current.parts
    flush(home)
    assert lifecycle.flush(home, written) is None
    assert sizes(hubless.open(home.path, NAME).manifest) == [700, 1]


def test_collection_that_stays_flat_because_nothing_else_finds_enough_is_trained_once(tmp_path, monkeypatch):
    monkeypatch.setattr(aims, "FLAT_BYTES", 1)
    tuned, kinds = indexing._tuned, []

    def missing(made, order, steps):
        indexes, curve, setting = tuned(made, order, steps)
        kinds.append(made[0].kind.name)
        return indexes, curve, setting if kinds[-1] == "flat" else replace(setting, recall=0.1)

    monkeypatch.setattr(indexing, "_tuned", missing)
    lifecycle.create(
        tmp_path, NAME, dim=small.DIM, metric="cosine", id_type="string", payload_schema={"title": "string"}
    )
    home = hubless.Catalog(tmp_path)
    put(home, [f"target-{row}" for row in range(700)], 3)
    flush(home)
    made = lifecycle.compact(tmp_path, NAME)
    assert (made.index.type, sizes(made), kinds) == ("flat", [700], ["fastscan", "flat"])
    for name in ("more", "again"):
        assert lifecycle.compact(tmp_path, NAME) is None
        put(home, [f"{name}-{row}" for row in range(60)], 4)
        flush(home)
    assert sizes(lifecycle.compact(tmp_path, NAME)) == [820]
