"""Encoders for texts and for functions: sums of word vectors, rare words first. Nothing is trained.

The vectors stand beside this file, in `words.npz`; `words.json` says from where and under which licence.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from hubless.encoders import BagOfWords, tokenise
from hubless.vectors.arrays import F32
from hubless_demo.pairs import Pair

TABLE = Path(__file__).with_name("words.npz")


@dataclass(frozen=True)
class Functions:
    """Encodes functions: the directions of the words of the source, and of those of the name, count alike."""

    vocabulary: dict[str, int]
    of_code: F32
    of_name: F32

    def encode(self, pairs: Sequence[Pair]) -> F32:
        """Return a vector of each function, (n, d). Source repeats its words, so their counts are dampened."""
        code = count_words([pair.code for pair in pairs], self.vocabulary)
        code.data = 1 + np.log(code.data)
        name = count_words([pair.name for pair in pairs], self.vocabulary)
        return normalise(normalise(code @ self.of_code) + normalise(name @ self.of_name))


@dataclass(frozen=True)
class Encoders:
    """Both sides of a search for functions by what their documentation says, in one space."""

    text: BagOfWords
    code: Functions


def learn(pairs: Sequence[Pair]) -> Encoders:
    """Weigh the words of the table by how rare they are in the documentation, the source and the names of functions."""
    with np.load(TABLE) as table:
        words = table["words"].tobytes().decode().split()
        rows = table["rows"] * table["scales"][:, np.newaxis]
    vocabulary = {word: row for row, word in enumerate(words)}
    doc, code, name = (
        rows * rarity([getattr(pair, part) for pair in pairs], vocabulary)[:, np.newaxis]
        for part in ("doc", "code", "name")
    )
    return Encoders(BagOfWords(vocabulary, doc), Functions(vocabulary, code, name))


def count_words(texts: Sequence[str], vocabulary: dict[str, int]) -> csr_array:
    """Return how often each known word is in each text, (n, v)."""
    counted = [Counter(vocabulary[word] for word in tokenise(text) if word in vocabulary) for text in texts]
    starts = np.cumsum([0, *map(len, counted)])
    columns = np.fromiter((column for counts in counted for column in counts), np.int32, starts[-1])
    counts = np.fromiter((count for counts in counted for count in counts.values()), np.float32, starts[-1])
    return csr_array((counts, columns, starts), shape=(len(texts), len(vocabulary)))


def rarity(texts: Sequence[str], vocabulary: dict[str, int]) -> F32:
    """Return the inverse document frequency (v,) of each word: 1 + ln((1 + n) / (1 + texts that have it))."""
    having = np.bincount(count_words(texts, vocabulary).indices, minlength=len(vocabulary))
    idf: F32 = (1 + np.log((1 + len(texts)) / (1 + having))).astype(np.float32)
    return idf


def normalise(vectors: F32) -> F32:
    """Return vectors (n, d) of length 1; zero vectors stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: F32 = np.divide(vectors, lengths, where=lengths > 0, out=np.zeros_like(vectors))
    return unit
