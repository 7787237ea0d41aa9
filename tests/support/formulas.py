"""The methods again, obviously right: the published formula, whole matrices, float64.

Each takes similarities s (m, n) of queries and targets, b (b, n) of the query bank and v (g, n) of the target bank, and
gives scores (m, n) to rank by.
"""

import numpy as np
from scipy.special import logsumexp


def inverted_softmax(s, b, temperature):
    return s - temperature * logsumexp(b / temperature, axis=0)


def neighbours(s, b, k, weight):
    """`nnn`; with weight ½, `csls`."""
    return s - weight * np.sort(b, axis=0)[-k:].mean(axis=0)


def dual_is(s, b, v, temperatures):
    """The product of the two inverted softmaxes is exp(s·(1/τ1 + 1/τ2) − L1 − L2): its logarithm, over 1/τ1 + 1/τ2."""
    logs = [logsumexp(bank / temperature, axis=0) for bank, temperature in zip((b, v), temperatures, strict=True)]
    return s - sum(logs) / sum(1 / temperature for temperature in temperatures)


def sinkhorn_normalisation(s, columns, temperature, steps):
    """`sn` with `columns` (b, n) of the bank, `dbsn` with those of the target bank behind them: rows first."""
    rows, count = columns.shape
    c = np.zeros(count)
    for _ in range(steps):
        a = -np.log(rows) - logsumexp(columns / temperature + c, axis=1, keepdims=True)
        c = -np.log(count) - logsumexp(columns / temperature + a, axis=0)
    return s + temperature * c[: s.shape[1]]


def active(b, k):
    return np.isin(np.arange(b.shape[1]), np.argsort(-b, axis=1)[:, :k])


def dis(s, b, temperature, k):
    on = active(b, k)[s.argmax(axis=1)]
    return np.where(on[:, np.newaxis], inverted_softmax(s, b, temperature), s)


def dis_of_targets(s, b, temperature, k):
    h, on = temperature * logsumexp(b / temperature, axis=0), active(b, k)
    return s - np.where(on, h - h[on].mean(), 0)


def dual_dis(s, b, v, temperatures, k):
    """The product itself, so only where exp(s/τ) is a float."""
    factors = []
    for bank, temperature in zip((b, v), temperatures, strict=True):
        on = active(bank, k)[s.argmax(axis=1)]
        corrected = np.exp(s / temperature - logsumexp(bank / temperature, axis=0))
        factors.append(np.where(on[:, np.newaxis], corrected, s))
    return factors[0] * factors[1]


def sinkhorn(s, b, temperature, steps):
    """The paper's two equations on [bank; query] × targets, one query at a time; its row of the matrix."""
    rows = []
    for row in s:
        a = np.vstack([b, row]) / temperature
        for _ in range(steps):
            a = a - logsumexp(a, axis=0)
            a = a - logsumexp(a, axis=1, keepdims=True)
        rows.append(temperature * a[-1])
    return np.array(rows)


def dissimlocal(queries, targets, bank, k):
    """Squared distances, |q−t|² − |t−c(t)|², c(t) the mean of the k bank queries of largest s."""
    scores = np.empty((len(queries), len(targets)))
    for column, target in enumerate(targets):
        centre = bank[np.argsort(-(bank @ target), kind="stable")[:k]].mean(axis=0)
        scores[:, column] = -(((queries - target) ** 2).sum(axis=1) - ((target - centre) ** 2).sum()) / 2
    return scores
