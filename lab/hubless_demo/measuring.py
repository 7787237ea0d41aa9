"""Measure hubness on functions that encoders and corrections have not seen."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np

from hubless.errors import InputError, UnknownWords, ZeroVector
from hubless.progress import Advance
from hubless.vectors.arrays import F32, F64
from hubless_demo.pairs import Pair
from hubless_demo.word_vectors import Encoders
from hubless_lab.experiments.methods import Method
from hubless_lab.experiments.tally import Quality, Tally
from hubless_lab.experiments.trials import Pairs, Trial, banked_trial

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
    quality: Quality
    occurrence: F64


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
    query_bank, _ = encode_known(encoders, parts.known)
    trial = trial_of(encoders, parts.held_out, query_bank, encoders.code.encode(parts.known))
    rankings = []
    for name in ("none", *CORRECTED):
        # a small package has fewer than the published k of nnn
        method = Method(name, {"k": min(128, len(query_bank))} if name == "nnn" else {})
        rankings.append(rank(trial, method))
        advance(1)
    return rankings


def trial_of(encoders: Encoders, pairs: Sequence[Pair], query_bank: F32, target_bank: F32 | None = None) -> Trial:
    """Return a search for each function by its documentation, to be corrected by a bank whose copies count."""
    queries, rows = encode_known(encoders, pairs)
    given = Pairs(queries, encoders.code.encode(pairs), [np.array([row]) for row in rows])
    return replace(banked_trial(given, query_bank, target_bank), keep_copies=True)


def rank(trial: Trial, method: Method) -> Ranking:
    """Measure the ranking of a trial by a method."""
    tally = Tally(len(trial.targets))
    for _, block, scores in trial.rankings([method.fit(trial)]):
        # functions with the same words tie, however a processor rounds the products
        tally.add(np.round(scores, DECIMALS), trial.relevant[block])
    name = "raw" if method.name == "none" else method.name
    return Ranking(name, tally.quality(tally.per_query()), tally.occurrence)
