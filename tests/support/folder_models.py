"""What holds for each encoder with a model in a folder: a test file says which kind, in a fixture `kind`."""

import importlib.util
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import pytest
from support import small
from support.model_folders import load_model
from support.serving import serving_catalog

import hubless
from hubless.errors import EncoderFailed, InputError, how_to_install
from hubless.search.collection import open_collection

TEXTS = ["amber", "birch cedar birch", "fjord " * 40]


@dataclass(frozen=True)
class Kind:
    """A kind of encoder, how to write a small model of it, and what it needs."""

    name: str
    write: Any
    file: str
    package: str
    quick: bool
    distribution: str = "hubless"

    def load(self, folder, **fields):
        return load_model(self.name, folder, **fields)


class FolderModels:
    def test_model_of_other_dimensions_is_refused_with_both_numbers(self, tmp_path, kind):
        encoder = kind.load(kind.write(tmp_path), dim=5)
        with pytest.raises(InputError, match=r"a model of 5 dimensions, got .*, which has 8"):
            encoder.check()
        with pytest.raises(EncoderFailed, match="8 dimensions, the collection has 5"):
            encoder.encode(["amber"])

    def test_without_the_package_it_says_what_to_install(self, tmp_path, monkeypatch, kind):
        find = importlib.util.find_spec
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == kind.package else find(name))
        line = re.escape(how_to_install(kind.name, kind.distribution))
        expected = rf"{line}, got '{kind.name}' without {kind.package}"
        with pytest.raises(InputError, match=expected):
            kind.load(kind.write(tmp_path)).check()

    def test_missing_model_is_a_failure_that_tells_no_paths(self, tmp_path, kind):
        encoder = kind.load(tmp_path, path="secret/model")
        with pytest.raises(EncoderFailed) as failed:
            encoder.encode(["amber"])
        assert "model model: the log of the server says why" in str(failed.value)
        assert "secret" not in str(failed.value)

    def test_several_threads_load_it_once_and_get_the_same_vectors(self, tmp_path, monkeypatch, kind):
        encoder = kind.load(kind.write(tmp_path))
        read, loads = encoder._read, []
        monkeypatch.setattr(encoder, "_read", lambda: loads.append(1) or read())
        assert not encoder.quick  # a server must not load a model in the thread that answers requests
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(encoder.encode, [TEXTS] * 32))
        assert (len(loads), encoder.quick) == (1, kind.quick)
        for vectors in found:
            np.testing.assert_allclose(vectors, found[0], atol=1e-6)

    def test_collection_is_built_with_it_and_answers_vectors_where_the_model_has_moved(self, tmp_path, kind):
        folder = kind.write(tmp_path / "models" / "mini")
        vector = kind.load(folder).encode(["amber birch"])[0]
        description = tmp_path / "encoder.toml"
        description.write_text(f'type = "{kind.name}"\npath = "models/mini"\n')
        small.build(tmp_path / "catalog", encoder=description)
        opened = hubless.open(tmp_path / "catalog", "photos")
        np.testing.assert_array_equal(opened.encode(["amber birch"])[0], vector)
        folder.rename(tmp_path / "moved")
        with serving_catalog(tmp_path / "catalog") as url:
            ask = f"{url}/v1/collections/photos/query"
            failed = httpx.post(ask, json={"text": "amber birch"})
            assert (failed.status_code, failed.json()["code"]) == (502, "encoder_failed")
            assert httpx.post(ask, json={"vector": vector.tolist()}).status_code == 200
        changed = {"path": str(tmp_path / "moved")}
        again = open_collection(tmp_path / "catalog", "photos", encoder=changed)
        np.testing.assert_array_equal(again.encode(["amber birch"])[0], vector)
