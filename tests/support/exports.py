"""Collections to be exported, and their best targets."""

import datetime

import numpy as np
import pyarrow as pa

import hubless

COUNT, DIM, BANK, QUERIES = 200, 12, 120, 6


def _vectors(rows, seed):
    # a common direction makes hubs, and so offsets that matter
    return (np.random.default_rng(seed).normal(size=(rows, DIM)) + 0.7).astype(np.float32)


def queries():
    return _vectors(QUERIES, 3)


def payload():
    at = datetime.datetime(2024, 2, 29, 23, 30, 1, 250000)
    rows = range(COUNT)
    return pa.table(
        {
            "title": pa.array([None if row % 7 == 0 else f'"ä" {row}\n' for row in rows]),
            "price": pa.array([row / 3 for row in rows]),
            "stock": pa.array(rows, pa.int32()),
            "new": pa.array([row % 2 == 0 for row in rows]),
            "day": pa.array([datetime.date(2024, 2, 29)] * COUNT),
            "at": pa.array([at] * COUNT, pa.timestamp("us")),
            "instant": pa.array([at] * COUNT, pa.timestamp("us", "+02:00")),
            "tags": pa.array([["a", f"t{row}"] for row in rows]),
            "id": pa.array([f"other {row}" for row in rows]),
            "odd.name!": pa.array(rows),
        }
    )


def whole_ids():
    return np.arange(COUNT) * 3 - 5


def text_ids():
    return [f"ä/{row}" for row in range(COUNT)]


def build(catalog, name="pho-tos", **options):
    """Build a collection with payload of many types, and open it."""
    options = {"ids": text_ids(), "payload": payload(), "metric": "cosine", "correction": "auto"} | options
    hubless.build(catalog, name, _vectors(COUNT, 1), _vectors(BANK, 2), bank_of_targets=True, progress=False, **options)
    return hubless.open(catalog, name)


def best(index, strength=None, limit=10):
    """Ids and scores of the exact best targets of each query."""
    found = index.query(queries(), limit=limit, strength=strength, parameters={"exact": True})
    return [([hit.id for hit in hits], [hit.score for hit in hits]) for hits in found]
