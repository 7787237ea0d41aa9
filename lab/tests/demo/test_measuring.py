import dataclasses

import numpy as np
from support.made_pairs import make_pairs

from hubless_demo.measuring import CORRECTED, rank_by_all, split_pairs
from hubless_demo.word_vectors import Encoders


class Planted:
    """Encodes the number in a text: all queries lean to one direction, and every tenth target does so too: a hub."""

    def __init__(self, lean):
        self.items = np.random.default_rng(0).normal(size=(900, 64)).astype(np.float32)
        self.lean = lean

    def encode(self, given):
        numbers = [int(getattr(each, "code", each)) for each in given]
        vectors = self.items[numbers].copy()
        vectors[:, 0] = [self.lean(number) for number in numbers]
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_compare_finds_the_planted_hubs_and_each_correction_evens_them_out():
    numbered = [
        dataclasses.replace(pair, doc=str(number), code=str(number)) for number, pair in enumerate(make_pairs(900))
    ]
    encoders = Encoders(Planted(lambda number: 12.0), Planted(lambda number: 6.0 if number % 10 == 0 else 0.0))
    parts = split_pairs(numbered, seed=0)
    done = []
    rankings = rank_by_all(encoders, parts, done.append)
    assert [ranking.name for ranking in rankings] == ["raw", *CORRECTED]
    assert len(done) == len(rankings)
    raw = rankings[0]
    hubs = np.array([int(pair.code) % 10 == 0 for pair in parts.held_out])
    assert raw.occurrence[hubs].min() > raw.occurrence[~hubs].max()
    for corrected in rankings[1:]:
        assert round(corrected.occurrence.sum()) == round(raw.occurrence.sum()) == 10 * 300
        assert corrected.quality["skewness"] < raw.quality["skewness"]
        assert corrected.quality["recall_at_1"] > raw.quality["recall_at_1"]
    assert rankings[-1].occurrence.max() < raw.occurrence.max() / 2
