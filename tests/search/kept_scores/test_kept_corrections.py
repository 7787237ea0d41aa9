"""Corrections of scores that a catalog keeps: whole, seen by every process, and bounded in memory."""

import os

import pytest
from support import small

import hubless
from hubless.errors import InputError, ScoresNotFound, StorageError
from hubless.search.kept_scores import kept_corrections
from hubless.search.kept_scores.kept_corrections import KeptCorrections


def correction(*items):
    return hubless.ScoreCorrection.fit([(list(items), [1.0] * len(items))])


@pytest.fixture
def kept(tmp_path):
    return KeptCorrections(tmp_path)


def test_what_is_put_is_there_for_others_at_once(kept, tmp_path):
    other = KeptCorrections(tmp_path)
    assert (kept.put("words", correction("a")), other.get("words").offsets) == (True, {"a": 0.0})
    for number in range(20):
        assert not kept.put("words", correction("a", f"{number}"))
        assert [*other.get("words").offsets] == ["a", f"{number}"]
        assert other.loaded("words") is other.get("words")
    kept.delete("words")
    assert (other.loaded("words"), other.names()) == (None, [])
    for forget in (other.get, other.delete):
        with pytest.raises(ScoresNotFound, match="words"):
            forget("words")


def test_put_that_fails_leaves_what_was_there(kept, tmp_path, monkeypatch):
    kept.put("words", correction("a"))

    def full(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("hubless.store.durable.sync", full)
    with pytest.raises(StorageError):
        kept.put("words", correction("b"))
    assert [*KeptCorrections(tmp_path).get("words").offsets] == ["a"]
    assert sorted(path.name for path in (tmp_path / ".scores").iterdir()) == [".lock", "words.arrow"]


@pytest.mark.parametrize("name", [*small.NOT_NAMES, "../words", ".lock"])
def test_names_are_no_paths(kept, name):
    with pytest.raises(InputError, match="name: expected 1 to 64 letters"):
        kept.put(name, correction("a"))
    for forget in (kept.get, kept.delete):
        with pytest.raises(ScoresNotFound):
            forget(name)


def test_few_stay_in_memory(kept, monkeypatch):
    monkeypatch.setattr(kept_corrections, "MOST_LOADED", 3)
    monkeypatch.setattr(kept_corrections, "MOST_ITEMS", 6)
    for name in "abcde":
        kept.put(name, correction(*name))
        kept.get(name)
    assert [name for name in "abcde" if kept.loaded(name)] == ["c", "d", "e"]
    kept.put("large", correction(*"123456789"))
    assert len(kept.get("large").ids) == 9
    assert [name for name in [*"abcde", "large"] if kept.loaded(name)] == ["large"]
