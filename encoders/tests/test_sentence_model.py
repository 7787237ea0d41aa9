"""A model of sentence-transformers: a stand-in package, and the real one where it is installed."""

import importlib.util
import re
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import small

import hubless
from hubless.encoders import load_encoder
from hubless.encoders.endpoint import EndpointDescription
from hubless.errors import EncoderFailed, InputError

ROOT = Path(__file__).parents[2]
PAGE = "".join((ROOT / page).read_text("utf-8") for page in ("docs/encoders.md", "encoders/docs/models.md"))
REAL = importlib.util.find_spec("sentence_transformers") is not None
PACKAGE = """
import numpy as np

made = []

class SentenceTransformer:
    def __init__(self, name, device=None):
        if "missing" in name:
            raise OSError("no such model in the hub of /srv/secret")
        self.name, self.device, self.asked = name, device, []
        made.append(self)

    def encode(self, texts, prompt=None, batch_size=32, show_progress_bar=None):
        self.asked.append((texts, prompt, batch_size, show_progress_bar))
        return np.float32([[len(text), 1, 2, 3, 4, 5, 6, 7] for text in texts])
"""


@pytest.fixture
def package(tmp_path_factory, monkeypatch):
    """A package of that name with the calls that are used; yields its module as soon as it is imported."""
    site = tmp_path_factory.mktemp("site")
    (site / "sentence_transformers.py").write_text(PACKAGE)
    monkeypatch.delitem(sys.modules, "sentence_transformers", raising=False)
    monkeypatch.syspath_prepend(site)
    importlib.invalidate_caches()
    yield lambda: sys.modules["sentence_transformers"]
    sys.modules.pop("sentence_transformers", None)


@pytest.fixture
def describe(tmp_path):
    def write(**fields):
        lines = [f"{name} = {value!r}" for name, value in ({"type": "sentence-transformers"} | fields).items()]
        (tmp_path / "encoder.toml").write_text("\n".join(lines))
        return tmp_path / "encoder.toml"

    return write


def test_texts_are_encoded_by_the_model_with_the_prompt(package, describe):
    encoder = load_encoder(describe(model="mini", prompt="query: ", device="cpu", batch=5), dim=8)
    encoder.check()
    np.testing.assert_array_equal(encoder.encode(["a", "bcd"])[:, 0], [1, 3])
    (model,) = package().made
    assert (model.name, model.device) == ("mini", "cpu")
    assert model.asked == [(["a", "bcd"], "query: ", 5, False)]


def test_model_with_an_encoding_of_its_own_for_queries_is_asked_for_that(package, describe):
    encoder = load_encoder(describe(model="mini"), dim=8)
    encoder.encode(["a"])
    (model,) = package().made
    model.encode_query = lambda texts, **_: np.full((len(texts), 8), 9.0)
    assert encoder.encode(["a"])[0, 0] == 9


def test_folder_beside_the_description_is_found_and_stored_with_its_whole_path(package, describe, tmp_path):
    (tmp_path / "mini").mkdir()
    small.build(tmp_path / "catalog", encoder=describe(model="mini"))
    opened = hubless.open(tmp_path / "catalog", "photos")
    opened.encode(["a"])
    assert package().made[-1].name == str(tmp_path / "mini")
    (tmp_path / "mini").rmdir()
    with pytest.raises(InputError, match="mini, which does not exist"):
        load_encoder(describe(model=str(tmp_path / "mini")), dim=8).check()


@pytest.mark.skipif(REAL, reason="the package is installed")
def test_build_without_the_package_is_refused_and_says_what_to_install(describe, tmp_path):
    with pytest.raises(InputError, match=r"pip install .*encoders\[sentence-transformers\]"):
        small.build(tmp_path / "catalog", encoder=describe(model="mini"))
    with pytest.raises(EncoderFailed, match="model mini: sentence-transformers cannot be imported"):
        load_encoder(describe(model="mini"), dim=8).encode(["a"])


def test_model_that_is_missing_or_has_other_dimensions_is_a_failure_that_tells_no_paths(package, describe):
    with pytest.raises(EncoderFailed) as failed:
        load_encoder(describe(model="/srv/secret/missing"), dim=8).encode(["a"])
    assert "model missing: it raised OSError" in str(failed.value)
    assert "secret" not in str(failed.value)
    with pytest.raises(EncoderFailed, match="8 dimensions, the collection has 5"):
        load_encoder(describe(model="mini"), dim=5).encode(["a"])


def test_descriptions_on_the_page_are_some_and_have_all_fields(describe):
    blocks = map(tomllib.loads, re.findall(r"(?ms)^```toml\n(.*?)^```$", PAGE))
    loaded: dict[str, Any] = {block["type"]: load_encoder(describe(**block), dim=384) for block in blocks}
    encoders = {kind: each.description for kind, each in loaded.items()}
    assert encoders["sentence-transformers"].prompt == encoders["onnx"].prompt == "query: "
    fields = {kind: set(type(each).model_fields) for kind, each in encoders.items()}
    fields["openai"] = set(EndpointDescription.model_fields)
    for kind, first in (("openai", "url"), ("sentence-transformers", "model` | a name"), ("onnx", "path")):
        (rows,) = re.findall(rf"(?s)\| `{re.escape(first)}.*?\n\n", PAGE)
        cells = " ".join(re.findall(r"(?m)^\| (`.*?`) \|", rows))
        assert {"type", *re.findall(r"`(\w+)`", cells)} == fields[kind]
    assert set(type(encoders["static"]).model_fields) == {"type", "path", "prompt", "dim"}


@pytest.mark.skipif(not REAL, reason="needs the extra sentence-transformers")
@pytest.mark.filterwarnings("default")
def test_real_package_encodes_with_a_model_from_a_folder(describe, tmp_path):
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer, models, pre_tokenizers

    place = "sentence_transformer.modules" if version("sentence-transformers") >= "6" else "models"
    static_embedding = importlib.import_module(f"sentence_transformers.{place}").StaticEmbedding
    words = Tokenizer(models.WordLevel({"[UNK]": 0, "amber": 1, "birch": 2}, "[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    weights = np.random.default_rng(0).normal(size=(3, 8)).astype(np.float32)
    model = SentenceTransformer(modules=[static_embedding(words, embedding_weights=weights)], device="cpu")
    model.save(str(tmp_path / "tiny"))
    encoder = load_encoder(describe(model="tiny", device="cpu"), dim=8)
    encoder.check()
    np.testing.assert_allclose(
        encoder.encode(["amber birch", "birch"]), [weights[1:].mean(axis=0), weights[2]], atol=1e-6
    )
