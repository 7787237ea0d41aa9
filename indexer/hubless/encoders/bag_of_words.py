"""The built-in encoder: one vector per word. It needs NumPy only, not the library that trained it."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from hubless.encoders.base import ENCODER_FILE, check_texts, named
from hubless.errors import InputError, UnknownWords, ZeroVector, one_line, storage_errors
from hubless.vectors.arrays import F32, F64, as_float32
from hubless.vectors.npy import read_npy, write_array
from hubless.vectors.object_rows import brief

WORDS_FILE = "encoder.npy"

# give it another name if `tokenise` changes: an encoder is right only with the words of its training
TOKENISER = "identifier-words-1"

# the borders in "readLine" and "HTTPServer" are before L and S. Look-behinds of one character keep the time linear
_CAMEL_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")


def tokenise(text: str) -> list[str]:
    """Return the lower-case words of a text or of source code. Identifiers are split at underscores and camel case.

    >>> tokenise("HTTPServer.read_line(maxBytes=80)")
    ['http', 'server', 'read', 'line', 'max', 'bytes', '80']
    """
    return _WORD.findall(_CAMEL_BORDER.sub(" ", text).lower())


class BagOfWords:
    """An encoder with one vector per known word. A text is the normalised sum of its words' rows, repeated ones too."""

    def __init__(self, vocabulary: Mapping[str, int], rows: np.ndarray[Any, Any]) -> None:
        self.rows = as_float32(rows, "encoder rows")
        if self.rows.size == 0:
            raise InputError("encoder rows", "one row a word, and at least one", f"shape {self.rows.shape}")
        self.vocabulary = dict(vocabulary)
        _check_vocabulary(self.vocabulary, len(self.rows))

    quick = True
    left_alone = None

    @property
    def dim(self) -> int:
        return int(self.rows.shape[1])

    def check(self) -> None:
        """Do nothing: the constructor checks everything."""

    def encode(self, texts: Sequence[str], seconds: float | None = None) -> F32:
        check_texts(texts)
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        for number, text in enumerate(texts):
            vectors[number] = self._encode_one(text, named(number, texts))
        return vectors

    def save(self, folder: Path) -> None:
        description = {
            "type": "bag-of-words",
            "tokeniser": TOKENISER,
            "vocabulary": sorted(self.vocabulary, key=self.vocabulary.__getitem__),
        }
        folder = Path(folder)
        with storage_errors(folder):
            (folder / ENCODER_FILE).write_text(json.dumps(description, ensure_ascii=False), encoding="utf-8")
            write_array(folder / WORDS_FILE, self.rows)

    @classmethod
    def load(cls, folder: Path, description: Mapping[str, Any]) -> Self:
        path = folder / ENCODER_FILE
        if description.get("tokeniser") != TOKENISER:
            raise InputError(f"{path}, tokeniser", repr(TOKENISER), brief(description.get("tokeniser")))
        words = description.get("vocabulary")
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise InputError(f"{path}, vocabulary", "a list of words", brief(words))
        vocabulary = {word: row for row, word in enumerate(words)}
        if len(vocabulary) != len(words):
            raise InputError(f"{path}, vocabulary", "each word once", "a word twice")
        rows = _read_rows(folder / WORDS_FILE)
        if len(rows) != len(words):
            raise InputError(str(folder / WORDS_FILE), f"a row for each of {len(words)} words", f"{len(rows)} rows")
        try:
            return cls(vocabulary, rows)
        except InputError as error:
            raise error.about(f"{folder}: {error.parameter}") from error

    def _encode_one(self, text: str, name: str) -> F64:
        known = Counter(row for word in tokenise(text) if (row := self.vocabulary.get(word)) is not None)
        if not known:
            raise UnknownWords(name, f"at least one of the encoder's {len(self.rows)} words", brief(text))
        # counts, so that a long text takes no more memory than the vocabulary; float64, since sums of rows and their
        # squares can overflow float32
        counts = np.fromiter(known.values(), np.float64)
        total = counts @ self.rows[list(known)]
        length = float(np.sqrt(total @ total))
        if length == 0.0:
            raise ZeroVector(name, "words whose vectors do not cancel out", brief(text))
        return np.asarray(total / length)


def _check_vocabulary(vocabulary: Mapping[str, int], rows: int) -> None:
    if len(vocabulary) != rows:
        raise InputError("encoder vocabulary", f"a word for each of {rows} rows", f"{len(vocabulary)} words")
    if any(type(row) is not int for row in vocabulary.values()) or set(vocabulary.values()) != set(range(rows)):
        raise InputError("encoder vocabulary", f"each row from 0 to {rows - 1} once", "other row numbers")
    for word in vocabulary:
        if tokenise(word) != [word]:
            raise InputError("encoder vocabulary", "lower-case words as tokenise cuts them", brief(word))


def _read_rows(path: Path) -> np.ndarray[Any, Any]:
    try:
        rows = read_npy(path)
    except (OSError, ValueError) as error:
        raise InputError(str(path), "an array of float32 rows", one_line(error)) from error
    if rows.dtype != np.float32 or rows.ndim != 2:
        raise InputError(str(path), "a matrix of float32", f"{rows.dtype}, shape {rows.shape}")
    return rows
