"""Types of encoders that other packages bring, and what happens where these are not installed."""

import json
import re
from importlib.metadata import EntryPoint

import httpx
import numpy as np
import pytest
from support import small
from support.serving import serving_catalog

import hubless
from hubless import encoders
from hubless.errors import EncoderFailed, InputError, how_to_install


def how(kind):
    return re.escape(f"needs hubless-encoders, which is not installed: `{how_to_install(kind)}`")


class Described(encoders.DescribedEncoder):
    """An encoder of another package, with fields of its own."""

    class described(encoders.base.EncoderDescription):  # noqa: N801
        path: str

    def check(self):
        pass

    def encode(self, texts, seconds=None):
        return np.ones((len(texts), self.dim), np.float32)


@pytest.fixture
def installed(monkeypatch):
    """Entry points of `hubless.encoders`, none at first."""
    found = []
    monkeypatch.setattr(encoders, "entry_points", lambda group, name: [each for each in found if each.name == name])
    return found


@pytest.fixture
def describe(tmp_path):
    def write(kind):
        (tmp_path / "encoder.json").write_text(json.dumps({"type": kind, "path": "model", "dim": small.DIM}))
        return tmp_path / "encoder.json"

    return write


@pytest.mark.parametrize("kind", encoders.BESIDE)
def test_building_with_an_encoder_that_is_not_installed_says_what_brings_it(installed, describe, tmp_path, kind):
    with pytest.raises(InputError, match=rf"one that is installed, got '{kind}' {how(kind)}"):
        small.build(tmp_path / "catalog", encoder=describe(kind))


def test_version_whose_encoder_is_not_installed_answers_vectors_and_says_what_brings_it(
    installed, describe, tmp_path, caplog
):
    installed.append(EntryPoint("onnx", f"{__name__}:Described", "hubless.encoders"))
    catalog = tmp_path / "catalog"
    small.build(catalog, encoder=describe("onnx"))
    installed.clear()
    with serving_catalog(catalog) as url:
        ask = f"{url}/v1/collections/photos/query"
        assert httpx.post(ask, json={"vector": [1] * small.DIM}).status_code == 200
        assert httpx.post(ask, json={"text": "amber"}).json()["code"] == EncoderFailed.code
    assert re.search(f"texts cannot be encoded, vectors are answered: .* {how('onnx')}", caplog.text)
    hubless.refit(catalog, "photos", small.query_bank(), correction="csls")
    opened = hubless.open(catalog, "photos")
    with pytest.raises(EncoderFailed, match=how("onnx")):
        opened.encode(["amber"])
    stored = small.path_of(opened.parts.folder, "encoder.json")
    assert json.loads(stored.read_text()) == json.loads(describe("onnx").read_text())


def test_type_of_another_package_is_found_by_its_entry_point(installed, describe):
    installed.append(EntryPoint("ones", f"{__name__}:Described", "hubless.encoders"))
    assert encoders.load_encoder(describe("ones")).encode(["a"]).tolist() == [[1] * small.DIM]
