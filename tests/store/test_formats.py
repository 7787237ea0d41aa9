"""Catalogs of older formats, made with their backups by `make.py` in each archive: by a7d31add (6) and 02ecd3fe (4)."""

import json
import tarfile
from pathlib import Path

import httpx
import numpy as np
from support.serving import serving_catalog

import hubless
from hubless.builder.backup import restore
from hubless.builder.verification import verify_catalog
from hubless.search.kept_scores.kept_corrections import KeptCorrections
from hubless.search.transaction import open_written
from hubless.store.bundle import FORMAT_VERSION

NAMES = ["numbers", "photos"]
close = np.testing.assert_allclose


def made(number, folder):
    """Unpack what was made in a format: the catalog, and what its code said of it."""
    with tarfile.open(Path(__file__).parent / f"formats/format-{number}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return hubless.Catalog(folder / "catalog"), json.loads((folder / "expected.json").read_text())


def targets_of(catalog):
    """The ids of each collection, whether each has a vector, that, and payload, in the order of their texts."""
    found = {}
    for name in catalog.collections():
        parts = open_written(catalog, name).current.parts
        rows = np.arange(len(parts.targets))
        vectors = parts.targets.have_vectors(rows), parts.targets.vectors(rows)
        payload = [None] * len(rows) if parts.payload is None else parts.payload_table.to_pylist()
        each = zip(parts.ids.array.to_pylist(), *(column.tolist() for column in vectors), payload, strict=True)
        found[name] = sorted(map(list, each), key=str)
    return found


def check(catalog, expected):
    """Compare all that a catalog answers with what the code of then said."""
    assert targets_of(catalog) == expected["targets"]
    assert verify_catalog(catalog).problems == []
    for name in NAMES:
        found, said = hubless.open(catalog.path, name).query(expected["queries"], limit=5), expected["answers"][name]
        assert found.ids == said["ids"]
        for field in ("scores", "confidence", "presence"):
            close(getattr(found, field), said[field], rtol=1e-4)
    words, said = KeptCorrections(catalog.path).get("words"), expected["scores"]
    close(words.rerank(*said["list"]).scores, said["scores"], rtol=1e-5)
    close(words.confidence(*said["list"]), said["confidence"], rtol=1e-5)


def test_format_6_answers_as_then_and_so_does_its_backup(tmp_path):
    catalog, expected = made(6, tmp_path)
    check(catalog, expected)
    restored = hubless.Catalog(tmp_path / "restored")
    assert restore(tmp_path / "backup", restored).writes == {"numbers": 4, "photos": 2}
    check(restored, expected)
    assert restored.aliases().keys() == {"latest"}


def test_format_6_is_served_written_to_merged_and_fitted_anew(tmp_path):
    catalog, _ = made(6, tmp_path)
    point = {"id": "later", "vector": [1, 0, 0, 0], "payload": {"title": "later"}}
    with serving_catalog(catalog.path) as url:
        at = f"{url}/v1/collections/latest"
        assert httpx.put(f"{at}/points", json={"points": [point]}).json()["seq"] == 3
        answer = httpx.post(f"{at}/query", json={"vector": point["vector"], "limit": 1, "min_accuracy": 0.6}).json()
    assert answer["hits"][0]["id"] == "later"
    cut = hubless.open(catalog.path, "photos").cut
    assert cut.accuracies == [0.5, 0.6, 0.7, 0.8, 0.85, 0.9]
    before = targets_of(catalog)
    bank = np.random.default_rng(1).normal(size=(30, 4))
    for step, given in ((hubless.merge, ()), (hubless.refit, (bank,))):
        for name in NAMES:
            assert step(catalog.path, name, *given).format_version == FORMAT_VERSION
    assert targets_of(catalog) == before
    columns = hubless.open(catalog.path, "numbers").parts.targets.columns(np.arange(7))
    close(columns.by_role["target_prior"].values, np.arange(1.0, 8.0), rtol=1e-3)  # as offsets tell it
    after = hubless.open(catalog.path, "photos").cut
    assert (after.curve, after.cuts) == (cut.curve, cut.cuts)
    assert after.presence != cut.presence  # it was one of z alone
    assert verify_catalog(catalog).problems == []
