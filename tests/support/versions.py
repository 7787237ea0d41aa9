"""Versions of one collection whose ids tell which version they belong to."""

import numpy as np
from support import small

import hubless
from hubless.store.durable import replace_text

NAME = "songs"
STEP = 1_000_000
ASK = {"vector": [1.0, -0.5, 0.25, 0, 0, 0.5, 1, -1]}


def build(path, count, *, targets=60, dim=8):
    """`count` versions, the last of them current; their ids, in order. Version i has the ids from i·STEP on."""
    rng = np.random.default_rng(5)
    bank = rng.normal(size=(40, dim)).astype(np.float32)
    versions = []
    for number in range(count):
        rows = rng.normal(size=(targets, dim)).astype(np.float32)
        ids = [number * STEP + row for row in range(targets)]
        versions.append(hubless.build(path, NAME, rows, bank, ids=ids, correction="csls", index="flat").version)
    return versions


def activate(path, version):
    """Make a version current without a look at it."""
    replace_text(path / NAME / "CURRENT", version)


def corrupt(path, version):
    file = small.path_of(hubless.Catalog(path).folder(NAME, version), "index.faiss")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
