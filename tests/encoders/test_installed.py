import numpy as np
import pytest

from hubless.encoders import installed, load_encoder
from hubless.errors import EncoderFailed, InputError, UnknownWords

SOUND = {"type": "installed", "name": "lengths", "options": {"dim": 3}}


class Lengths:
    """As another package would bring it."""

    def __init__(self, dim):
        self.dim = dim

    def encode(self, texts):
        if "unknown" in texts:
            raise UnknownWords("text", "known words", "unknown")
        return [[1 / len(text)] * self.dim for text in texts]


class EntryPoint:
    def load(self):
        return Lengths


@pytest.fixture(autouse=True)
def package(monkeypatch):
    """A package that brings the encoder `lengths`."""

    def entry_points(group, name):
        return [EntryPoint()] if (group, name) == ("hubless.encoders", "lengths") else []

    monkeypatch.setattr(installed, "entry_points", entry_points)


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


def test_description_is_saved_as_it_was_and_refused_with_other_fields(tmp_path):
    load(tmp_path).save(tmp_path)
    assert load_encoder(tmp_path).description == load(tmp_path).description
    with pytest.raises(InputError, match="encoder, path"):
        load(tmp_path, path="/x")
