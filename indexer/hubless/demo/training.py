"""Encoders for texts and for code, trained on the spot in seconds: TF-IDF, truncated SVD, ridge regression.

A small model on purpose: it needs no download and no GPU, and its hubs are no milder than those of large models.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.preprocessing import normalize

from hubless.demo.pairs import Pair
from hubless.encoders import BagOfWords, tokenise
from hubless.vectors.arrays import F32

DIMENSIONS = 256
RIDGE_PENALTY = 1.0


@dataclass(frozen=True)
class Side:
    """One side of the pairs: TF-IDF over words, projected on the largest singular directions, normalised."""

    tfidf: TfidfVectorizer
    svd: TruncatedSVD

    def encode(self, texts: Sequence[str]) -> F32:
        """Return texts as (n, d) vectors of length 1. Texts without a known word become zero vectors."""
        return np.asarray(normalize(self.svd.transform(self.tfidf.transform(texts))), dtype=np.float32)


@dataclass(frozen=True)
class Encoders:
    """Both sides of a cross-modal search, in one space."""

    text: BagOfWords
    code: Side


def train(pairs: Sequence[Pair], seed: int = 0) -> Encoders:
    """Give texts and code a space each, and join them by a linear map.

    The map W minimises ‖A·W − C‖² + penalty·‖W‖² over the texts A (pairs, d) and the codes C (pairs, d').
    """
    texts, codes = [pair.doc for pair in pairs], [pair.code for pair in pairs]
    text_side = fit_side(texts, sublinear=False, seed=seed)
    code_side = fit_side(codes, sublinear=True, seed=seed)
    ridge = fit_map(text_side.encode(texts), code_side.encode(codes))
    return Encoders(fold(text_side, ridge), code_side)


def fit_side(texts: Sequence[str], *, sublinear: bool, seed: int) -> Side:
    """Learn the words and the directions of one side, at most `DIMENSIONS` of them.

    `sublinear` dampens the count of a word to 1 + log(count), which helps with code, where a variable's name is
    repeated; a bag of words cannot express it, so the text side goes without.
    """
    tfidf = TfidfVectorizer(analyzer=tokenise, sublinear_tf=sublinear, dtype=np.float32)
    words = tfidf.fit_transform(texts)
    return Side(tfidf, TruncatedSVD(min(DIMENSIONS, *words.shape), random_state=seed).fit(words))


def fit_map(texts: F32, codes: F32) -> Ridge:
    """The linear map from texts to codes."""
    return Ridge(alpha=RIDGE_PENALTY, fit_intercept=False).fit(texts, codes)


def fold(text_side: Side, ridge: Ridge) -> BagOfWords:
    """The text side and the map after it as one vector a word.

    All of it is linear but for the lengths of vectors, and what comes out is normalised in any case: a text is the
    normalised sum over its words of idf(word) · (the word's row of the projection) · W.
    """
    rows = text_side.tfidf.idf_[:, np.newaxis] * (text_side.svd.components_.T @ ridge.coef_.T)
    vocabulary = {word: int(row) for word, row in text_side.tfidf.vocabulary_.items()}
    return BagOfWords(vocabulary, rows.astype(np.float32))
