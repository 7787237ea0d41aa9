"""A collection that takes a while to search, and requests that keep it busy: a real load, not a held one."""

import numpy as np

import hubless

NAME, DIM, COUNT = "busy", 64, 180_000
BATCH = f"/v1/collections/{NAME}/query/batch"
QUERY = f"/v1/collections/{NAME}/query"
_BINARY = {"content-type": "application/octet-stream"}


def build(catalog):
    rng = np.random.default_rng(4)
    targets = rng.normal(size=(COUNT, DIM)).astype(np.float32)
    bank = rng.normal(size=(64, DIM)).astype(np.float32)
    hubless.build(catalog, NAME, targets, bank, correction="none", index="flat")
    return catalog


def batch(rows):
    """A request, for httpx, of some rows: 300 of them are 3.5 billion products."""
    vectors = np.random.default_rng(5).normal(size=(rows, DIM)).astype("<f4")
    return {"content": vectors.tobytes(), "headers": _BINARY}
