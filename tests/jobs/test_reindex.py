import json
import time
from dataclasses import replace
from threading import Event, Thread

import numpy as np
import pytest
from support import jobs, small, writing
from support.hubs import unit
from support.jobs import NAME, names, run, stored, vector, write_targets
from support.segments import unnamed

import hubless
from hubless.builder.lifecycle import create
from hubless.errors import (
    BundleDamaged,
    DimensionMismatch,
    InputError,
)
from hubless.jobs import next_parts
from hubless.store.locks import lease
from hubless.store.log import Log


@pytest.fixture
def folder(tmp_path):
    jobs.write(tmp_path / "job")
    return tmp_path / "job"


@pytest.fixture
def built(folder):
    run(folder)
    return folder


def expected(*ids, **seeds):
    return {each: unit(vector(each, seeds.get(each.replace("-", "_"), 0))) for each in ids}


def of_three(path):
    np.savez(path, vectors=np.ones((2, 3), np.float32), ids=["x-1", "x-2"])


def check(folder, wanted):
    found = stored(folder)
    assert found.keys() == wanted.keys()
    for each, rows in wanted.items():
        np.testing.assert_allclose(found[each], rows, atol=1e-6)
    assert hubless.open(folder / "catalog", NAME).check_canaries() is None


def test_first_run_gives_the_bytes_of_a_build_with_the_same_files(folder):
    done = run(folder)
    assert done.published
    assert (done.manifest.job.offsets, done.manifest.job.built) == ("fitted", "trained")
    assert (done.manifest.job.new, done.manifest.frozen) == (60, 0)
    options = {"correction": "csls", "parameters": {"k": 3}, "index": "flat"}
    other = hubless.build(folder / "other", NAME, folder / "items", folder / "bank.npy", **options)
    assert done.manifest.measured == other.measured
    assert unnamed(done.manifest) == unnamed(other) | {"sources.arrow": done.manifest.files["sources.arrow"]}


@pytest.mark.parametrize("settings", [{}, {"index": {"type": "hnsw"}}])
def test_version_whose_offsets_are_not_those_of_its_correction_is_not_published(built, monkeypatch, settings):
    write_targets(built / "items" / "c.parquet", ["item-70"])
    jobs.rewrite(built, **settings)
    before, make = hubless.Catalog(built / "catalog").version_ids(NAME), next_parts._noted

    def wrong(*given):
        correction = (made := make(*given)).correction()
        return replace(made, correction=lambda: replace(correction, constant=correction.constant + 0.5))

    monkeypatch.setattr(next_parts, "_noted", wrong)
    with pytest.raises(BundleDamaged, match=r"nothing is published: .* offsets differ"):
        run(built)
    assert hubless.Catalog(built / "catalog").version_ids(NAME) == before


def test_nothing_changed_builds_nothing_whatever_the_times_say(built):
    before = stored(built)
    for file in (built / "items").iterdir():
        file.touch()
    done = run(built)
    assert (done.manifest, done.published, done.plan.why) == (None, False, [])
    assert len(hubless.Catalog(built / "catalog").version_ids(NAME)) == 1
    assert stored(built).keys() == before.keys()


def test_target_without_a_vector_stays_without_one(built):
    with writing.writable(built / "catalog") as client:
        points = [{"id": "bare", "payload": {"title": "bare"}}]
        assert client.put("/points", json={"points": points}).status_code == 200
    write_targets(built / "items" / "c.parquet", ["item-80"], clicks=[3.0])
    with_prior = {"correction": {"name": "sn"}, "target_prior": "clicks"}
    for settings, options in (({}, {}), ({}, {"full": True}), (with_prior, {})):
        jobs.rewrite(built, **settings)
        made = run(built, **options).manifest
        assert (made.count, made.vectorless) == (62, 1)
        opened = hubless.open(built / "catalog", NAME)
        opened.check_canaries()
        row = opened.row("bare")
        assert (row, opened.payload([row])) == (61, [{"title": "bare", "clicks": None}])


def test_writes_after_the_run_began_stay_in_the_log_and_are_served(built):
    jobs.rewrite(built, retention={"versions": 1})
    with writing.writable(built / "catalog", poll_seconds=0.02) as client:
        client.put("/points", json={"points": [writing.point("first", 1)]})
        plan = hubless.reindex(built / "job.yaml", catalog=built / "catalog")
        client.put("/points", json={"points": [writing.point("second", 2)]})
        while client.post("/count").json()["version"] != plan.manifest.version:
            time.sleep(0.01)
        assert client.post("/count").json()["count"] == 62
        log = Log(built / "catalog" / NAME)
        assert (log.first(), log.last(), plan.cut) == (2, 2, 1)
        log.close()
        assert run(built).cut == 2
    assert {"first", "second"} <= stored(built).keys()


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"correction": "nnn:k=3"}, "correction is nnn, and was csls"),
        ({"seed": 3}, "seed is 3, and was 0"),
        ({"refit": {"days": 1e-9}}, "days old"),
        ({"refit": {"frozen": 0.1}}, "14.3 % of the targets came after the fit"),
    ],
)
def test_changed_settings_and_a_large_share_of_frozen_offsets_ask_for_a_new_fit(built, settings, why):
    write_targets(built / "items" / "c.parquet", names(60, 70))
    jobs.rewrite(built, **settings)
    done = run(built)
    assert (done.manifest.job.offsets, done.manifest.frozen) == ("fitted", 0)
    assert any(why in each for each in done.manifest.job.why)


def test_changed_bank_asks_for_a_new_fit_unless_it_never_shall(built):
    np.save(built / "bank.npy", small.vectors(80, 3))
    jobs.rewrite(built, refit={"bank": "never"})
    assert run(built).manifest is None
    jobs.rewrite(built)
    done = run(built)
    assert done.manifest.job.why == ["query_bank.0 changed"]
    assert done.manifest.bank.queries == 80


def test_gated_correction_is_prepared_anew_for_all_targets(folder):
    jobs.rewrite(folder, correction="dis")
    run(folder)
    write_targets(folder / "items" / "c.parquet", ["item-80"])
    done = run(folder)
    assert done.manifest.job.offsets == "fitted"
    assert any("prepares all targets together" in each for each in done.manifest.job.why)
    (folder / "encoder.toml").write_text('type = "openai"\nurl = "http://127.0.0.1:1/v1"\nmodel = "m"\n')
    jobs.rewrite(folder, correction="dis", encoder="encoder.toml")
    done = run(folder)
    assert (done.manifest.job.why, done.manifest.job.offsets) == (["the encoder changed"], "kept")
    assert "query_time.npz" in done.manifest.files


def test_collection_that_was_built_otherwise_is_taken_over_with_its_other_targets(folder):
    vectors = np.stack([vector(each) for each in ["item-1", "item-900"]])
    bank = small.query_bank()
    hubless.build(folder / "catalog", NAME, vectors, bank, ids=["item-1", "item-900"])
    done = run(folder)
    assert "the current version was not made by a job" in done.manifest.job.why
    check(folder, expected(*names(0, 60), "item-900"))


@pytest.mark.parametrize("schema", [None, {"title": "string"}, {}], ids=["free", "columns", "no payload"])
def test_collection_that_was_created_over_http_is_filled_and_gets_its_correction(folder, schema):
    create(folder / "catalog", NAME, dim=small.DIM, metric="cosine", id_type="string", payload_schema=schema)
    with writing.writable(folder / "catalog") as client:
        title = {} if schema == {} else {"title": "mine"}
        client.put("/points", json={"points": [writing.point("by-hand", 8, **title)]})
    done = run(folder)
    assert (done.manifest.count, done.manifest.correction.name, done.manifest.log_seq) == (61, "csls", 1)
    opened = hubless.open(folder / "catalog", NAME)
    titles = [each.get("title") for each in opened.payload([opened.row("by-hand"), opened.row("item-3")])]
    assert titles == [None if schema == {} else "mine", "title 3"]
    assert run(folder).manifest is None


@pytest.mark.parametrize(
    ("gate", "bound", "told"),
    [
        ("rows", {"min": 61}, "rows.min: 60 is below the bound, 61"),
        ("rows", {"max": 59}, "rows.max: 60 is above the bound, 59"),
        ("hubness", {"max_skewness": -5}, "hubness.max_skewness"),
        ("hubness", {"max_most": 1}, "hubness.max_most"),
        ("coverage", {"min": 0.5}, "coverage.min: too few"),
    ],
)
def test_failed_gate_leaves_the_version_unpublished_and_names_number_and_bound(folder, gate, bound, told):
    jobs.rewrite(folder, gates={gate: bound})
    done = run(folder)
    assert not done.published
    assert [str(each).startswith(told) for each in done.failed] == [True]
    assert hubless.Catalog(folder / "catalog").collections() == []
    jobs.rewrite(folder)
    assert run(folder).published


def asked(built):
    """Write a query for each of ten targets, and return their names."""
    pairs = names(0, 10)
    np.save(built / "queries.npy", np.stack([vector(each) for each in pairs]))
    return pairs


def test_gates_compare_with_the_version_before(built):
    write_targets(built / "items" / "a.parquet", names(0, 40), seed=1, title=["another"] * 40)
    pairs = asked(built)
    (built / "right.txt").write_text("\n".join(pairs))
    first = {"queries": "queries.npy", "relevant": "right.txt", "max_drop": 0.5}
    gates = {"rows": {"max_change": 0.01}, "canaries": {"max_changed": 0.3}, "r_at_1": first}
    jobs.rewrite(built, gates=gates)
    done = run(built)
    results = {each.gate: (each.value, each.passed) for each in done.gates}
    assert results["rows.max_change"] == (0, True)
    assert results["canaries.max_changed"][0] > 0.3
    assert results["r_at_1.max_drop"][0] > 0.5
    assert sorted(each.gate for each in done.failed) == ["canaries.max_changed", "r_at_1.max_drop"]
    assert not done.published
    several = [[each, "gone"] for each in pairs[:-1]] + [None]
    (built / "right.json").write_text(json.dumps(several))
    jobs.rewrite(built, gates={"r_at_1": {**first, "max_drop": 1, "min": 0.0, "relevant": "right.json"}})
    assert run(built).manifest.job.gates["r_at_1.min"]["value"] < 0.5


def test_gate_names_the_first_wrong_label(built):
    pairs = asked(built)
    (built / "right.json").write_text(json.dumps([*pairs[:7], 7, 8, 9]))
    jobs.rewrite(built, gates={"r_at_1": {"queries": "queries.npy", "relevant": "right.json", "min": 0.5}})
    with pytest.raises(InputError, match=r"gates.r_at_1.relevant \(right.json\), entry 7: .* 2 more entries are wrong"):
        run(built, full=True)


def test_other_dimension_or_metric_than_the_collection_is_refused(built):
    of_three(built / "items" / "c.npz")
    jobs.rewrite(built, targets="items/*")
    with pytest.raises(DimensionMismatch, match="8 dimensions, as the collection has"):
        run(built)
    jobs.rewrite(built, metric="dot")
    with pytest.raises(InputError, match="metric: expected cosine"):
        run(built)


def test_merge_waits_a_moment_for_a_server_that_flushes(built):
    held = Event()

    def flush():
        with lease(built / "catalog" / NAME, "hubless serve, which flushes writes"):
            held.set()
            time.sleep(0.3)

    flushing = Thread(target=flush)
    flushing.start()
    held.wait()
    assert hubless.merge(built / "catalog", NAME) is None  # nothing was written
    flushing.join()
