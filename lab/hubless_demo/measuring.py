"""Measure hubness on functions that encoders and corrections have not seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from hubless import CORRECTIONS
from hubless.errors import InputError, UnknownWords, ZeroVector
from hubless.kernels.reductions import top_k
from hubless.measures import k_occurrence, skewness
from hubless.progress import Advance
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import ArrayVectors
from hubless_demo.pairs import Pair
from hubless_demo.word_vectors import Encoders
from hubless_lab.experiments.tally import RECALLS
from hubless_lab.measures import ranks, recall_at

_HELD_OUT = 1500
FEWEST_PAIRS = 60
CORRECTED = ("nnn", "is", "sn", "dbsn", "auto")
K = 10
DECIMALS = 5
"""Of a score. Scores of float32 are exact to about the seventh."""


@dataclass(frozen=True)
class Ranking:
    """The quality of one ranking of the gallery, and how often each function (n,) is in a top 10."""

    name: str
    recall: dict[int, float]
    """R@k by k, from 0 to 1."""
    occurrence: I64

    @property
    def skewness(self) -> float:
        """Skewness of N_10."""
        return skewness(self.occurrence)


@dataclass(frozen=True)
class Split:
    """Pairs that are known, as banks and to weigh words by, and pairs for testing."""

    known: list[Pair]
    held_out: list[Pair]


def split_pairs(pairs: Sequence[Pair], seed: int) -> Split:
    """Hold out 1,500 pairs, or a third of few. A pair's place in the draw depends on its name and the seed only."""
    if len(pairs) < FEWEST_PAIRS:
        raise InputError("package", f"at least {FEWEST_PAIRS} documented functions", len(pairs))
    drawn = sorted(pairs, key=lambda pair: sha256(f"{seed} {pair.name} {pair.doc}".encode()).digest())
    held_out = min(_HELD_OUT, len(pairs) // 3)
    return Split(drawn[held_out:], drawn[:held_out])


def encode_known(encoders: Encoders, pairs: Sequence[Pair]) -> tuple[F32, list[int]]:
    """Return vectors of all documentation with a word that the encoder knows, and the rows of those pairs."""
    vectors = []
    rows = []
    for row, pair in enumerate(pairs):
        try:
            vectors.append(encoders.text.encode([pair.doc]))
        except (UnknownWords, ZeroVector):
            continue
        rows.append(row)
    return np.concatenate(vectors), rows


def rank_by_all(encoders: Encoders, parts: Split, advance: Advance) -> list[Ranking]:
    """Find each held-out function among all held-out functions by its documentation, raw and corrected.

    The known pairs are query bank and target bank, so no bank query has its own function in the gallery.
    """
    queries, relevant = encode_known(encoders, parts.held_out)
    gallery = encoders.code.encode(parts.held_out)
    query_bank, _ = encode_known(encoders, parts.known)
    target_bank = encoders.code.encode(parts.known)
    rankings = [rank("raw", queries, gallery, relevant, np.zeros(len(gallery), np.float32))]
    for name in CORRECTED:
        # a small package has fewer than the published k of nnn
        parameters = {"k": min(128, len(query_bank))} if name == "nnn" else {}
        fitted = CORRECTIONS[name](**parameters).fit(query_bank, gallery, target_bank)
        rankings.append(rank(name, queries, gallery, relevant, fitted.offsets(gallery)))
        advance(1)
    return rankings


def rank(name: str, queries: F32, gallery: F32, relevant: Sequence[int], offsets: F32) -> Ranking:
    """Measure the ranking of the gallery (n, d) by q·t − h(t). `relevant` (m,) is the right row of each query."""
    # functions with the same words tie, however a processor rounds the products
    scores = np.round(queries @ gallery.T - offsets, DECIMALS)
    found = ranks(scores, [[row] for row in relevant])
    _, rows = top_k(queries, ArrayVectors(gallery, "gallery"), K, offsets)
    return Ranking(name, {k: recall_at(found, k) for k in RECALLS}, k_occurrence(rows, len(gallery)))
