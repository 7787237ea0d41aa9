"""A small catalog whose answers can be worked out by hand.

`words`: string ids, payload, an encoder; metric cosine. Targets are the sum of their words' vectors; the first few lean
towards what all queries have in common, and are hubs. `numbers`: int64 ids, no payload, no encoder; metric dot.
"""

from dataclasses import dataclass

import numpy as np
from support.hubs import unit

import hubless
from hubless.encoders import BagOfWords

DIM = 24
COUNT = 300
HUBS = 10  # the first targets
WORDS = "amber birch cedar delta ember fjord grove heath islet jetty knoll larch maple north ocean pearl quartz ridge"
VOCABULARY = {word: row for row, word in enumerate(WORDS.split())}
AWKWARD_IDS = ["a/b", "ä ö", "%41", "..", "?x=1#y"]
LARGEST_ID = 2**53 + 1  # a double cannot hold it


@dataclass(frozen=True)
class Data:
    targets: np.ndarray
    query_bank: np.ndarray
    ids: list


def encoder():
    rng = np.random.default_rng(1)
    common = rng.normal(size=DIM)
    return BagOfWords(VOCABULARY, (rng.normal(size=(len(VOCABULARY), DIM)) + common).astype(np.float32))


def words_of(target):
    """The two words that a target is made of."""
    words = list(VOCABULARY)
    first, step = target % len(words), 1 + target // len(words)
    return words[first], words[(first + step) % len(words)]


def words():
    rng = np.random.default_rng(2)
    texts = [" ".join(words_of(target)) for target in range(COUNT)]
    rows = encoder().encode(texts).astype(np.float64)
    targets = rows - 0.8 * rows.mean(axis=0) + 0.05 * rng.normal(size=rows.shape)
    targets[:HUBS] += 1.5 * rows.mean(axis=0)
    bank = encoder().encode([" ".join(rng.choice(list(VOCABULARY), 3)) for _ in range(200)])
    ids = [*AWKWARD_IDS, *(f"target-{i}" for i in range(len(AWKWARD_IDS), COUNT))]
    return Data(unit(targets), bank, ids)


def numbers():
    rng = np.random.default_rng(3)
    targets = rng.normal(size=(COUNT, DIM)).astype(np.float32) * rng.uniform(0.5, 2, size=(COUNT, 1)).astype(np.float32)
    bank = rng.normal(size=(200, DIM)).astype(np.float32)
    return Data(targets, bank, [LARGEST_ID, *(7 * i - 1000 for i in range(1, COUNT))])


def payload():
    return [{"title": " ".join(words_of(i)), "rank": i, "tags": list(words_of(i))} for i in range(COUNT)]


def build(path, **options):
    text, number = words(), numbers()
    more = {"ids": text.ids, "payload": payload(), "encoder": encoder(), **options}
    hubless.build(path, "words", text.targets, text.query_bank, **more)
    more = {"ids": number.ids, "metric": "dot", **options}
    hubless.build(path, "numbers", number.targets, number.query_bank, **more)
    return path
