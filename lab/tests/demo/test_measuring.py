import dataclasses

import numpy as np
from support.made_pairs import make_pairs

from hubless_demo.measuring import CORRECTED, rank, rank_by_all, split_pairs
from hubless_demo.word_vectors import Encoders


def test_rank_measures_a_gallery_whose_answers_are_known():
    gallery = np.eye(20, dtype=np.float32)
    queries = gallery[[3, 4, 5]]
    perfect = rank("perfect", queries, gallery, [3, 4, 5], np.zeros(20, np.float32))
    assert perfect.recall == {1: 1.0, 5: 1.0, 10: 1.0}
    assert perfect.occurrence.sum() == 30
    offsets = np.zeros(20, np.float32)
    offsets[3] = 2  # pushed below everything
    pushed = rank("pushed", queries, gallery, [3, 4, 5], offsets)
    assert pushed.recall == {1: 2 / 3, 5: 2 / 3, 10: 2 / 3}
    assert pushed.occurrence[3] == 0


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
    assert len(done) == len(CORRECTED)
    raw = rankings[0]
    hubs = np.array([int(pair.code) % 10 == 0 for pair in parts.held_out])
    assert raw.occurrence[hubs].min() > raw.occurrence[~hubs].max()
    for corrected in rankings[1:]:
        assert corrected.occurrence.sum() == raw.occurrence.sum() == 10 * 300
        assert corrected.skewness < raw.skewness
        assert corrected.recall[1] > raw.recall[1]
    assert rankings[-1].occurrence.max() < raw.occurrence.max() / 2
