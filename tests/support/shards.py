"""A collection whose index is cut into shards."""

import numpy as np
from support.problems import normal

import hubless

NAME, COUNT, DIM, MOST = "cut", 2900, 16, 1000


def targets(count=COUNT):
    return normal(count, DIM, 0)


def query_bank():
    return normal(200, DIM, 1)


def queries():
    return normal(8, DIM, 2)


def build(catalog, count=COUNT, **options):
    given = {"index": "flat", "correction": "csls", "shard_targets": MOST} | options
    return hubless.build(catalog, NAME, targets(count), query_bank(), **given)


def folder(catalog, version=None):
    return hubless.Catalog(catalog).folder(NAME, version)


def same_answers(first, second):
    """Fail unless two collections give the same exact hits with the same scores, raw and corrected."""
    for strength in (0, 1):
        options = {"strength": strength, "parameters": {"exact": True}}
        before, after = first.query(queries(), 10, **options), second.query(queries(), 10, **options)
        assert after.ids == before.ids
        np.testing.assert_allclose(after.scores, before.scores, rtol=0, atol=1e-5)
