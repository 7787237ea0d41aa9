"""Catalogs of older formats, made with their backups by `make.py` in each archive: by a7d31add (6) and 02ecd3fe (4)."""

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import numpy as np
import pytest
from support import small
from support.serving import serving_catalog

import hubless
from hubless.builder.backup import restore
from hubless.builder.exporting import export
from hubless.builder.verification import verify_catalog
from hubless.errors import InputError
from hubless.search.kept_scores.kept_corrections import KeptCorrections
from hubless.store.bundle import FORMAT_VERSION
from hubless.vectors.free_payload import free_table
from hubless.vectors.plain_arrow import plain_file

NAMES = ["numbers", "photos"]
close = np.testing.assert_allclose


def made(number, folder):
    """Unpack what was made in a format: the catalog, and what its code said of it."""
    shutil.unpack_archive(Path(__file__).parent / f"formats/format-{number}.tar.xz", folder, filter="data")
    return hubless.Catalog(folder / "catalog"), json.loads((folder / "expected.json").read_text())


def targets_of(catalog, name):
    """The id, the vector, 0 without one, and the payload of each target, as they are exported."""
    with TemporaryDirectory() as folder:
        here = Path(folder) / "files" / name
        export(catalog.path, here.parent)
        rows = np.nan_to_num(np.load(here / "targets.npy")).tolist()
        ids = plain_file(here / "ids.arrow")["id"].to_pylist()
        payload = here / "payload.arrow"
        values = plain_file(payload).to_pylist() if payload.exists() else [None] * len(ids)
        return sorted(map(list, zip(ids, rows, values, strict=True)), key=str)


def check(catalog, expected):
    """Compare what a catalog answers with what the code of then said."""
    assert verify_catalog(catalog).problems == []
    for name in NAMES:
        assert targets_of(catalog, name) == expected[name]["targets"]
        found = hubless.open(catalog.path, name).query(expected["queries"], limit=5)
        for field in ("scores", "confidence", "presence"):
            close(getattr(found, field), expected[name][field], rtol=1e-4)
    words, said = KeptCorrections(catalog.path).get("words"), expected["scores"]
    found = [*words.rerank(*said["list"]).scores, words.confidence(*said["list"])]
    close(found, [*said["scores"], said["confidence"]], rtol=1e-5)


def test_format_6_answers_as_then_and_is_restored_served_written_to_merged_and_fitted_anew(tmp_path):
    catalog, expected = made(6, tmp_path)
    check(catalog, expected)
    restored = hubless.Catalog(tmp_path / "restored")
    assert restore(tmp_path / "backup", restored).writes == {"numbers": 4, "photos": 2}
    check(restored, expected)
    point = {"id": "later", "vector": [1, 0, 0, 0]}
    with serving_catalog(restored.path) as url:
        at = f"{url}/v1/collections/latest"
        assert httpx.put(f"{at}/points", json={"points": [point]}).json()["seq"] == 3
        answer = httpx.post(f"{at}/query", json={"vector": point["vector"], "limit": 1, "min_accuracy": 0.6}).json()
    assert answer["hits"][0]["id"] == "later"
    before = [targets_of(restored, name) for name in NAMES]
    photos = hubless.open(restored.path, "photos")
    with pytest.raises(InputError, match="coverage: expected none, as confidence is not calibrated for it"):
        photos.query(np.ones(4), coverage=0.5)
    cut = photos.cut
    for step, given in ((hubless.merge, ()), (hubless.refit, (np.random.default_rng(1).normal(size=(30, 4)),))):
        assert [step(restored.path, name, *given).format_version for name in NAMES] == [FORMAT_VERSION] * 2
    assert [targets_of(restored, name) for name in NAMES] == before
    columns = hubless.open(restored.path, "numbers").parts.targets.columns(np.arange(7))
    close(columns.by_role["target_prior"].values, np.arange(1.0, 8.0), rtol=1e-3)  # as offsets tell it
    after = hubless.open(restored.path, "photos").cut
    assert (after.curve, after.accuracies) == (cut.curve, [0.5, 0.6, 0.7, 0.8, 0.85, 0.9])
    assert after.presence != cut.presence  # it was one of z alone
    assert verify_catalog(restored).problems == []


def test_format_5_is_read_without_its_model_of_confidence(tmp_path):
    catalog, expected = made(6, tmp_path)
    small.write_sealed(catalog.folder("photos"), small.read_plain(catalog.folder("photos")) | {"format_version": 5})
    assert hubless.open(catalog, "photos").cut is None
    assert targets_of(catalog, "photos") == expected["photos"]["targets"]


def test_format_4_is_named_and_what_is_exported_of_it_is_built_again(tmp_path):
    catalog, expected = made(4, tmp_path)
    said = r"format 4 by hubless 0\.2\.0; this version reads 5 to 7: build it again of what hubless export writes$"
    with pytest.raises(hubless.HublessError, match=said):
        hubless.open(catalog, "photos")
    assert [targets_of(catalog, name) for name in NAMES] == [expected[name]["targets"] for name in NAMES]
    hubless.build(catalog.path, "free", np.eye(2, 4), payload=free_table([{"a": [1]}, {}]), correction="none")
    files, new = tmp_path / "files", hubless.Catalog(tmp_path / "new")
    assert export(catalog.path, files) == {"free": 2, "numbers": 42, "photos": 41}
    with pytest.raises(hubless.HublessError, match=r"^to: expected a new folder"):
        export(catalog.path, files)
    for name in ("free", "photos"):
        vectors, ids, payload = (files / name / each for each in ("targets.npy", "ids.arrow", "payload.arrow"))
        hubless.build(new.path, name, vectors, ids=ids, payload=payload, correction="none", skip_bad_rows=True)
        found, given = targets_of(new, name), targets_of(catalog, name)
        assert [row[::2] for row in found] == [row[::2] for row in given if any(row[1])]
