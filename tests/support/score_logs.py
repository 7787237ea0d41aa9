"""Logs of a search with hubs, and naive references of what is computed from lists."""

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


def dense(matrix):
    """Return a matrix of lists as an array (b, n)."""
    full = np.zeros((matrix.height, matrix.width))
    full[matrix.rows, matrix.columns] = matrix.values
    return full


def log_sum_exp(values, axis):
    top = values.max(axis=axis, keepdims=True)
    return (top + np.log(np.exp(values - top).sum(axis=axis, keepdims=True))).squeeze(axis)


def naive_potentials(full, temperature, iterations, weights=None):
    """Sinkhorn on the whole matrix (b, n), as `list_potentials`, in the log domain."""
    b, n = full.shape
    share = np.full(b, 1 / b) if weights is None else weights / weights.sum()
    c = np.full(n, -np.log(n))
    for _ in range(iterations):
        a = np.log(share) - log_sum_exp(full / temperature + c, 1)
        v = log_sum_exp(full / temperature + a[:, np.newaxis], 0)
        c = -np.log(n) - v
    return a, temperature * v


def naive_entropy(full, temperature):
    """Return the mean entropy over items of the softmax over lists."""
    p = np.exp(full / temperature - log_sum_exp(full / temperature, 0))
    return float(-(p * np.log(p)).sum(axis=0).mean())
