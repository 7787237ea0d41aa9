"""A bundle that 0.1.0 built opens, and answers as it did then."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from support import writing

import hubless

FIXTURES = Path(__file__).parents[1] / "fixtures"
RECORDED = json.loads((FIXTURES / "answers.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def collection():
    return hubless.open(FIXTURES / "bundle_0_1_0", "photos")


@pytest.mark.parametrize("name", RECORDED["asked"])
def test_hits_and_scores_are_those_that_0_1_0_gave(collection, name):
    recorded = RECORDED["answers"][name]
    found = collection.query(limit=6, **RECORDED["asked"][name])
    assert found.ids == recorded["ids"]
    np.testing.assert_allclose(found.scores, recorded["scores"], atol=1e-6)
    np.testing.assert_allclose(found.offsets, recorded["offsets"], atol=1e-6)


def test_it_proves_itself_and_its_numbers_are_as_they_were(collection):
    collection.check_hashes()
    collection.check_canaries()
    manifest = collection.manifest
    new = {"hubness_chance", "fitted_queries", "strength"}
    assert manifest.measured.model_dump(mode="json", exclude=new) == RECORDED["measured"]
    assert manifest.measured.hubness_chance is None
    assert manifest.measured.fitted_queries is None
    assert (collection.strength, manifest.strength_choice) == (1, None)
    assert manifest.provenance.versions["hubless"] == "0.1.0"
    assert (manifest.count, manifest.dim, manifest.index.type, manifest.correction.name) == (40, 8, "flat", "auto")
    assert collection.payload_types == {"title": "string", "year": "int64"}
    assert collection.point("photo 5").payload == {"title": "title 5", "year": 1985}
    found = collection.query(RECORDED["asked"]["corrected"]["vectors"], explain=True)
    assert found[0][0].explanation.rank == 1
    assert found[0][0].explanation.occurrence is not None


def test_texts_are_encoded_as_then(collection):
    np.testing.assert_allclose(collection.encode(["amber cedar"]), RECORDED["asked"]["in words"]["vectors"], atol=1e-6)


def test_offsets_of_other_targets_compare_with_the_stored_ones_though_the_constant_was_not_stored(collection):
    targets = np.array(RECORDED["targets"], np.float32)
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    assert abs(collection.correction().constant) > 0.01
    np.testing.assert_allclose(collection.correction().offsets(targets), RECORDED["offsets"], atol=1e-6)


def test_it_can_be_changed_and_saved_as_a_version_of_today(tmp_path):
    shutil.copytree(FIXTURES / "bundle_0_1_0", tmp_path / "catalog")
    index = hubless.open(tmp_path / "catalog", "photos")
    index.add(RECORDED["targets"][:1], ids=["copy"])
    index.remove(["photo 0"])
    assert index.point("copy").offset == pytest.approx(RECORDED["offsets"][0], abs=1e-6)
    index.save(tmp_path / "catalog", "photos")
    opened = hubless.open(tmp_path / "catalog", "photos")
    opened.check_canaries()
    asked = RECORDED["asked"]["corrected"]
    np.testing.assert_allclose(
        opened.query(limit=6, **asked).scores, RECORDED["answers"]["corrected"]["scores"], atol=1e-6
    )


def test_it_is_written_to_over_http_and_merged(tmp_path):
    shutil.copytree(FIXTURES / "bundle_0_1_0", tmp_path / "catalog")
    new = {"id": "copy", "vector": RECORDED["targets"][0], "payload": {"year": 1999}}
    with writing.writable(tmp_path / "catalog") as client:
        assert client.put("/points", json={"points": [new]}).json()["seq"] == 1
        assert client.post("/points/delete", json={"ids": ["photo 1"]}).json()["deleted"] == 1
    assert hubless.merge(tmp_path / "catalog", "photos").log_seq == 2
    opened = hubless.open(tmp_path / "catalog", "photos")
    opened.check_canaries()
    assert (opened.count, opened.seq) == (40, 2)
    assert opened.point("copy").offset == pytest.approx(RECORDED["offsets"][0], abs=1e-6)
    assert opened.point("copy").payload == {"title": None, "year": 1999}
