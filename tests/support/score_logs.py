"""Logs of a search with hubs."""

import json

import numpy as np

HITS = 20


def hubby_log(queries=400, items=300, hubs=6, seed=0, hits=HITS):
    """Return ids (b, hits) and scores of a search whose first items are hubs, and the right item of each query."""
    rng = np.random.default_rng(seed)
    bias = np.zeros(items)
    bias[:hubs] = 1.2
    right = rng.integers(0, items, queries)
    matrix = rng.normal(0, 0.5, (queries, items)) + bias
    matrix[np.arange(queries), right] += 1.8
    ids = np.argsort(-matrix, axis=1)[:, :hits]
    return ids, np.take_along_axis(matrix, ids, axis=1), right


def as_lists(ids, scores):
    return [{"ids": some.tolist(), "scores": values.tolist()} for some, values in zip(ids, scores, strict=True)]


def write_log(path, ids, scores, right=()):
    """Write lists as lines of JSON, with labels if there are any."""
    lists = as_lists(ids, scores)
    for each, item in zip(lists, right, strict=False):
        each["relevant"] = int(item)
    path.write_text("\n".join(map(json.dumps, lists)))
