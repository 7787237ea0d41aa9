import json

import numpy as np
import pytest
from support.problems import normal

import hubless
from hubless.encoders import load_encoder
from hubless.errors import EncoderFailed, InputError, UnknownWords

SOUND = {"type": "installed", "name": "lengths", "options": {"dim": 3}}


MODULE = """
from hubless.errors import UnknownWords

class Lengths:
    def __init__(self, dim):
        self.dim = dim

    def encode(self, texts):
        if "unknown" in texts:
            raise UnknownWords("text", "known words", "unknown")
        return [[1 / len(text)] * self.dim for text in texts]
"""


@pytest.fixture(autouse=True)
def package(tmp_path_factory, monkeypatch):
    """An installed package that brings the encoder `lengths`."""
    site = tmp_path_factory.mktemp("site")
    (site / "measuring_words.py").write_text(MODULE)
    metadata = site / "measuring_words-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: measuring-words\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[hubless.encoders]\nlengths = measuring_words:Lengths\n")
    monkeypatch.syspath_prepend(site)


def load(tmp_path, **changes):
    return load_encoder(tmp_path, 3, SOUND | changes)


def test_texts_are_encoded_by_what_is_installed(tmp_path):
    found = load(tmp_path).encode(["a", "bbbb"])
    np.testing.assert_array_equal(found, np.float32([[1, 1, 1], [0.25, 0.25, 0.25]]))


@pytest.mark.parametrize(
    ("changes", "text", "problem"),
    [
        ({"name": "other"}, "a", "no package with an encoder 'other' is installed"),
        ({"options": {"size": 3}}, "a", "lengths raised TypeError"),
        ({"options": {"dim": 2}}, "a", "2 dimensions, the collection has 3"),
        ({}, "", "lengths raised ZeroDivisionError"),
    ],
)
def test_what_goes_wrong_in_it_is_a_failure_of_the_encoder(tmp_path, changes, text, problem):
    with pytest.raises(EncoderFailed, match=problem):
        load(tmp_path, **changes).encode([text])


def test_text_that_it_refuses_is_the_askers_mistake(tmp_path):
    with pytest.raises(UnknownWords):
        load(tmp_path).encode(["unknown"])


def test_description_is_saved_as_it_was(tmp_path):
    load(tmp_path).save(tmp_path)
    assert load_encoder(tmp_path).description == load(tmp_path).description


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"path": "/x"}, "path: expected one of type, dim, name, options, got an unknown field"),
        ({"nam": "x"}, "nam: expected one of type, dim, name, options, got an unknown field; did you mean name?"),
        ({"name": 3}, "name: expected a valid string, got 3"),
        ({"options": ["dim"]}, "options: expected a valid dictionary, got list"),
        ({"dim": 0}, "dim: expected greater than or equal to 1, got 0"),
    ],
)
def test_wrong_description_is_refused_naming_the_field(tmp_path, fields, problem):
    with pytest.raises(InputError) as caught:
        load(tmp_path, **fields)
    assert str(caught.value) == f"encoder, {problem}"


def build(tmp_path, name):
    (tmp_path / "encoder.json").write_text(json.dumps(SOUND | {"name": name}))
    rows = normal(12, 3, seed=1)
    return hubless.build(tmp_path / "catalog", "c", rows, rows, encoder=tmp_path / "encoder.json", correction="none")


def test_collection_with_an_encoder_that_is_not_installed_is_not_built(tmp_path):
    with pytest.raises(
        InputError, match=r"encoder, name: .*\(lengths\): install the one .* got 'widths', which is not"
    ):
        build(tmp_path, "widths")
    assert hubless.Catalog(tmp_path).collections() == []


def test_collection_with_an_installed_encoder_answers_texts(tmp_path):
    build(tmp_path, "lengths")
    opened = hubless.open(tmp_path / "catalog", "c")
    assert opened.query(opened.encode(["abc"]), limit=2).rows.shape == (1, 2)
