"""Encoders for texts and for code, trained on the spot in seconds, small on purpose: TF-IDF, truncated SVD, ridge."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds
from threadpoolctl import threadpool_limits

from hubless.encoders import BagOfWords, tokenise
from hubless.vectors.arrays import F32, F64
from hubless_demo.pairs import Pair

DIMENSIONS = 256
RIDGE_PENALTY = 1.0


@dataclass(frozen=True)
class Side:
    """One side of the pairs: TF-IDF over words, projected on the largest singular directions (v, d), normalised."""

    vocabulary: dict[str, int]
    idf: F32
    directions: F32
    dampened: bool

    def encode(self, texts: Sequence[str]) -> F32:
        counts = count_words(texts, self.vocabulary)
        # a text's length before the projection does not matter, as the vector is normalised after it
        return normalise(weigh(counts, self.idf, dampened=self.dampened) @ self.directions)


@dataclass(frozen=True)
class Encoders:
    """Both sides of a cross-modal search, in one space."""

    text: BagOfWords
    code: Side


def train(pairs: Sequence[Pair], seed: int = 0) -> Encoders:
    """Give texts A and codes C a space each, and join them by the map W that minimises ‖A·W − C‖² + penalty·‖W‖²."""
    texts = [pair.doc for pair in pairs]
    codes = [pair.code for pair in pairs]
    text_side = fit_side(texts, dampened=False, seed=seed)
    code_side = fit_side(codes, dampened=True, seed=seed)
    return Encoders(fold(text_side, fit_map(text_side.encode(texts), code_side.encode(codes))), code_side)


def fit_side(texts: Sequence[str], *, dampened: bool, seed: int) -> Side:
    """Learn the words and the directions of one side; `dampened` counts help with code, which repeats names."""
    vocabulary = {
        word: column for column, word in enumerate(sorted({word for text in texts for word in tokenise(text)}))
    }
    counts = count_words(texts, vocabulary)
    idf = np.log((1 + len(texts)) / (1 + np.bincount(counts.indices, minlength=len(vocabulary)))) + 1
    weights = weigh(counts, idf.astype(np.float32), dampened=dampened)
    lengths = np.sqrt(weights.power(2).sum(axis=1))
    weights.data /= np.repeat(np.where(lengths > 0, lengths, 1), np.diff(weights.indptr))
    directions = singular_directions(weights, min(DIMENSIONS, *weights.shape), seed)
    return Side(vocabulary, idf.astype(np.float32), directions, dampened)


def count_words(texts: Sequence[str], vocabulary: dict[str, int]) -> csr_array:
    """Return how often each known word is in each text, (n, v)."""
    counted = [Counter(vocabulary[word] for word in tokenise(text) if word in vocabulary) for text in texts]
    starts = np.cumsum([0, *map(len, counted)])
    columns = np.fromiter((column for counts in counted for column in counts), np.int32, starts[-1])
    counts = np.fromiter((count for counts in counted for count in counts.values()), np.float32, starts[-1])
    return csr_array((counts, columns, starts), shape=(len(texts), len(vocabulary)))


def weigh(counts: csr_array, idf: F32, *, dampened: bool) -> csr_array:
    """Return TF-IDF, not normalised, (n, v)."""
    weights = counts.copy()
    if dampened:
        weights.data = 1 + np.log(weights.data)
    weights.data *= idf[weights.indices]
    return weights


def singular_directions(matrix: csr_array, count: int, seed: int) -> F32:
    """Return the right singular vectors (v, count) of the largest singular values."""
    if count == min(matrix.shape):
        # ARPACK finds all but one at most
        _, _, directions = np.linalg.svd(matrix.toarray(), full_matrices=False)
    else:
        # a start of our own: the same vectors each time, to rounding
        start = np.random.default_rng(seed).standard_normal(min(matrix.shape))
        # thousands of short products: threads that wait for each other would make it slow on a busy machine
        with threadpool_limits(1):
            _, _, directions = svds(matrix.astype(np.float64), count, v0=start, return_singular_vectors="vh")
    return np.ascontiguousarray(directions.T, np.float32)


def fit_map(texts: F32, codes: F32) -> F64:
    """Return the linear map W (d, d') from texts to codes."""
    left = texts.astype(np.float64)
    penalty = RIDGE_PENALTY * np.eye(left.shape[1])
    return np.asarray(np.linalg.solve(left.T @ left + penalty, left.T @ codes), np.float64)


def fold(text_side: Side, linear: F64) -> BagOfWords:
    """Return the text side and the map after it as one vector a word: idf(word) · (row of the projection) · W."""
    rows = text_side.idf[:, np.newaxis] * (text_side.directions @ linear)
    return BagOfWords(text_side.vocabulary, rows.astype(np.float32))


def normalise(vectors: F32) -> F32:
    """Return vectors (n, d) of length 1; zero vectors stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: F32 = np.divide(vectors, lengths, where=lengths > 0, out=np.zeros_like(vectors))
    return unit
