import json
import pickle

import numpy as np
import pytest

from hubless.encoders import BESIDE, ENCODERS, BagOfWords, load_encoder
from hubless.errors import InputError, UnknownWords, ZeroVector

KNOWN = [*ENCODERS, *BESIDE]
WORDS = ["open", "file", "read", "line"]
ROWS = np.array([[1, 0, 0], [0, 2, 0], [0, 0, 3], [-1, 0, 0]], dtype=np.float32)


@pytest.fixture
def encoder():
    return BagOfWords({word: row for row, word in enumerate(WORDS)}, ROWS)


@pytest.fixture
def saved(encoder, tmp_path):
    encoder.save(tmp_path)
    return tmp_path


def test_a_text_is_the_normalised_sum_of_its_words_rows(encoder):
    expected = np.array([[1, 2, 0]]) / np.sqrt(5)
    np.testing.assert_allclose(encoder.encode(["Open the file!"]), expected, atol=1e-7)


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (["zebra 斑马"], "text: expected .* 4 words, got 'zebra 斑马'"),
        ([""], "''"),
        (["open", "zebra", "file"], "text 1: .*zebra"),
        (["zebra" * 10_000], "zebrazebra"),
    ],
)
def test_text_without_a_known_word_is_named_in_short(encoder, texts, problem):
    with pytest.raises(UnknownWords, match=problem) as caught:
        encoder.encode(texts)
    assert len(str(caught.value)) < 200


def test_words_that_cancel_out_raise_zero_vector(encoder):
    with pytest.raises(ZeroVector, match="open line"):
        encoder.encode(["open line"])


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        ("open file", "sequence of texts, got one text"),
        (None, "sequence of texts, got none"),
        (["open", b"file"], "text 1: expected a text, got b'file'"),
    ],
)
def test_something_else_than_texts_is_refused(encoder, texts, problem):
    with pytest.raises(InputError, match=problem):
        encoder.encode(texts)


def test_saved_and_loaded_encoder_gives_the_same_vectors(encoder, saved):
    texts = ["Open the file", "read_line line"]
    np.testing.assert_array_equal(load_encoder(saved).encode(texts), encoder.encode(texts))


@pytest.mark.parametrize("file", ["encoder.json", "encoder.npy"])
def test_file_that_is_missing_or_truncated_at_any_length_is_named(saved, file):
    content = (saved / file).read_bytes()
    (saved / file).unlink()
    with pytest.raises(InputError, match=file):
        load_encoder(saved)
    for length in range(len(content)):
        (saved / file).write_bytes(content[:length])
        with pytest.raises(InputError, match=file):
            load_encoder(saved)


def change(folder, **members):
    path = folder / "encoder.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | members), "utf-8")


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"type": "transformer"}, f"type: expected one of {', '.join(KNOWN)}, got 'transformer'"),
        ({"type": None}, f"type: expected one of {', '.join(KNOWN)}, got none"),
        ({"type": ["bag-of-words"]}, "type: expected one of bag-of-words"),
        ({"tokeniser": "other-2"}, "tokeniser: expected 'identifier-words-1', got 'other-2'"),
        ({"vocabulary": {"open": 0}}, "vocabulary: expected a list of words"),
        ({"vocabulary": ["open", 1, 2, 3]}, "vocabulary: expected a list of words"),
        ({"vocabulary": ["open", "open", "read", "line"]}, "vocabulary: expected each word once"),
        ({"vocabulary": ["open", "file", "read", "A B"]}, "got 'A B'"),
    ],
)
def test_wrong_member_of_the_description_is_named(saved, members, problem):
    change(saved, **members)
    with pytest.raises(InputError, match=problem) as caught:
        load_encoder(saved)
    assert str(saved) in str(caught.value)


@pytest.mark.parametrize(
    "rows", [ROWS[:3], ROWS.astype(np.float64), ROWS[0], np.vstack([ROWS, ROWS]), np.full_like(ROWS, np.inf)]
)
def test_rows_of_another_number_type_or_shape_or_not_finite_are_refused(saved, rows):
    np.save(saved / "encoder.npy", rows)
    with pytest.raises(InputError, match=r"encoder(\.npy| rows)"):
        load_encoder(saved)


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


@pytest.mark.parametrize("how", ["bare pickle", "array of objects", "zip"])
def test_pickled_rows_are_refused_and_never_loaded(saved, how):
    path = saved / "encoder.npy"
    if how == "bare pickle":
        path.write_bytes(pickle.dumps(Bomb()))
    elif how == "array of objects":
        np.save(path, np.array([Bomb()], dtype=object), allow_pickle=True)
    else:
        with path.open("wb") as file:
            np.savez(file, rows=ROWS)
    with pytest.raises(InputError, match=r"encoder\.npy"):
        load_encoder(saved)
