import hashlib
import json
from datetime import UTC, datetime
from importlib.metadata import version

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import small

import hubless
from hubless.store.bundle import read_manifest


def sha256sum(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def inputs(tmp_path):
    """Files of all that a build can be given, by parameter."""
    np.save(tmp_path / "targets.npy", small.targets())
    np.savez(tmp_path / "bank.npz", vectors=small.query_bank())
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(small.vectors(50, 3).ravel()), small.DIM)
    pq.write_table(pa.table({"vector": vectors}), tmp_path / "more.parquet")
    (tmp_path / "ids.txt").write_text("\n".join(f"id {row}" for row in range(small.COUNT)))
    (tmp_path / "payload.jsonl").write_text("\n".join(json.dumps(row) for row in small.payload()))
    (tmp_path / "encoder").mkdir()
    small.encoder().save(tmp_path / "encoder")
    return {
        "targets": tmp_path / "targets.npy",
        "query_bank": tmp_path / "bank.npz",
        "target_bank": tmp_path / "more.parquet",
        "ids": tmp_path / "ids.txt",
        "payload": tmp_path / "payload.jsonl",
        "encoder": tmp_path / "encoder",
    }


def test_manifest_in_the_hands_of_others_is_plain_json_with_a_hash_that_can_be_checked(template):
    (version,) = small.entries(template)
    text = (template / "photos" / "versions" / version / "manifest.json").read_text("utf-8")
    content = json.loads(text)
    assert list(content) == sorted(content)
    digest = content.pop("manifest_sha256")
    without = "".join(line for line in text.splitlines(keepends=True) if '"manifest_sha256"' not in line)
    assert hashlib.sha256(without.encode()).hexdigest() == digest


def test_manifest_says_what_the_bundle_is(template):
    (version_id,) = small.entries(template)
    manifest = hubless.open(template, "photos").manifest
    assert (manifest.format_version, manifest.collection, manifest.version) == (7, "photos", version_id)
    assert (manifest.count, manifest.dim, manifest.metric) == (small.COUNT, small.DIM, "cosine")
    assert manifest.correction.name == "sn"
    assert manifest.correction.details["iterations"] == 10
    assert manifest.index.type == "flat"
    assert manifest.id_type == "string"
    assert manifest.payload_columns == ["title", "tags"]
    assert manifest.encoder is not None
    assert abs(datetime.now(UTC) - datetime.fromisoformat(manifest.created)).days < 1
    assert version_id.startswith(f"{datetime.fromisoformat(manifest.created):%Y%m%dT%H}")
    assert manifest.provenance.versions["hubless"] == version("hubless")


def test_files_stand_in_the_manifest_with_size_and_hash(template):
    manifest = hubless.open(template, "photos").manifest
    folder = small.folder(template, manifest)
    home, shared = folder.parents[1], ("segments", "fits")
    paths = [path for kind in shared for path in (home / kind).rglob("*") if path.is_file()]
    found = {path.relative_to(home).as_posix(): path for path in paths} | {path.name: path for path in folder.iterdir()}
    del found["manifest.json"]
    records = {name: (record.size, record.sha256) for name, record in manifest.files.items()}
    assert records == {name: (path.stat().st_size, sha256sum(path)) for name, path in found.items()}


def test_manifest_says_which_segments_and_fit_it_has_and_what_is_gone(merged):
    catalog = hubless.Catalog(merged)
    first, second = (catalog.folder("photos", version) for version in catalog.version_ids("photos"))
    first, second = read_manifest(first), read_manifest(second)
    of_first = {name: record for name, record in first.files.items() if "/" in name}
    assert of_first.items() <= second.files.items()
    assert first.fit == second.fit == first.built == second.built == first.version
    (built,) = first.segments
    assert (built.name, built.index, built.count, built.removed) == (first.version, "flat", small.COUNT, 0)
    again, written = second.segments
    assert again == built.model_copy(update={"removed": 1})
    assert (written.name, written.index, written.count, written.bare) == (second.version, "flat", 3, 1)
    assert (second.count, second.vectorless, second.grown) == (small.COUNT + 2, 1, 3)


def test_provenance_names_each_input_with_the_size_and_hash_that_others_compute(tmp_path, inputs):
    records = hubless.build(tmp_path / "catalog", "photos", **inputs).provenance.inputs
    assert sorted(records) == sorted(inputs)
    for parameter, path in inputs.items():
        record = records[parameter]
        assert record.name == path.name
        if path.is_file():
            assert (record.size, record.sha256) == (path.stat().st_size, sha256sum(path))
    hashes = "".join(sha256sum(inputs["encoder"] / name) for name in ("encoder.json", "encoder.npy"))
    assert records["encoder"].sha256 == hashlib.sha256(hashes.encode()).hexdigest()


def build_with(catalog, correction):
    bank, more = small.vectors(200, 4), small.vectors(50, 5)  # enough for every correction's defaults
    return hubless.build(catalog, "photos", small.targets(), bank, target_bank=more, correction=correction)


@pytest.mark.parametrize("correction", sorted(hubless.CORRECTIONS))
def test_same_inputs_and_seed_give_the_same_bytes(tmp_path, correction):
    first, second = (build_with(tmp_path, correction) for _ in range(2))
    for name in ("offsets.npy", "index.faiss", "ids.arrow", "canary.npz", "correction.npz"):
        one, other = (small.path_of(small.folder(tmp_path, manifest), name) for manifest in (first, second))
        if name.endswith(".npz"):  # a zip archive bears the time
            with np.load(one) as a, np.load(other) as b:
                assert {key: a[key].tobytes() for key in a} == {key: b[key].tobytes() for key in b}
        else:
            assert one.read_bytes() == other.read_bytes(), name
    assert first.measured == second.measured
    assert first.version != second.version


def test_other_seed_holds_out_other_bank_queries(tmp_path):
    first, second = (small.build_full(tmp_path, correction="sn", seed=seed) for seed in (0, 1))
    canaries = [np.load(small.folder(tmp_path, made) / "canary.npz")["queries"] for made in (first, second)]
    assert not np.array_equal(*canaries)
    offsets = [np.load(small.path_of(small.folder(tmp_path, made), "offsets.npy")) for made in (first, second)]
    np.testing.assert_array_equal(*offsets)  # they come from all of the bank
    assert (first.provenance.seed, second.provenance.seed) == (0, 1)
