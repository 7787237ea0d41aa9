"""A small collection `stdlib` with the columns of the demo's, for the examples of the clients' pages."""

import dataclasses

import numpy as np

import hubless
from hubless.encoders import BagOfWords
from hubless_demo.pairs import Pair

DIM, COUNT = 256, 300


def payload():
    """The columns that the demo stores: all that it knows of a function but its code."""
    made = {str: lambda field, row: f"{field.name} {row}", int: lambda field, row: row}
    fields = [field for field in dataclasses.fields(Pair) if field.name != "code"]
    return [{field.name: made[field.type](field, row) for field in fields} for row in range(COUNT)]


def build(catalog, texts, name="stdlib"):
    """Build it. Its encoder knows the words of the texts, which will be asked for."""
    rng = np.random.default_rng(4)
    words = sorted(set(" ".join(texts).split()))
    encoder = BagOfWords({word: row for row, word in enumerate(words)}, rng.normal(size=(len(words), DIM)))
    targets, bank = rng.normal(size=(COUNT, DIM)), rng.normal(size=(100, DIM))
    ids = ["subprocess.run", "subprocess.getstatusoutput", *(f"function-{row}" for row in range(2, COUNT))]
    hubless.build(catalog, name, targets, bank, ids=ids, payload=payload(), encoder=encoder)
