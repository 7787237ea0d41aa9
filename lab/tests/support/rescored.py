"""The lab's rescorers again, as support/formulas.py has the others: similarities s (m, n) and b (b, n), float64."""

import numpy as np
from scipy.stats import norm
from support.by_distance import TAU, similarities


def gc(s, b):
    """Ranks by counting, one query and one target at a time."""
    above = (b[np.newaxis] > s[:, np.newaxis]).sum(axis=1)
    tied = (b[np.newaxis] == s[:, np.newaxis]).sum(axis=1)
    return -((1 + above + tied / 2) - s)


def dsl(s, b, temperature):
    own = np.exp(s / temperature)
    return s * own / (np.exp(b / temperature).sum(axis=0) + own)


def ls(s, b, k):
    """With the query's own radius, over all targets."""
    of_targets, of_queries = np.sort(1 - b, axis=0)[k - 1], np.sort(1 - s, axis=1)[:, [k - 1]]
    return -(1 - np.exp(-((1 - s) ** 2) / (of_queries * of_targets)))


def nicdm(s, b, k):
    of_targets = np.sort(1 - b, axis=0)[:k].mean(axis=0)
    of_queries = np.sort(1 - s, axis=1)[:, :k].mean(axis=1, keepdims=True)
    return -(1 - s) / np.sqrt(of_queries * of_targets)


def mp(s, b, k=None):
    """In distances, as the paper has it; the logarithm, as the product is 1 for more than one target."""
    distances, of_bank = 1 - s, np.sort(1 - b, axis=0)[:k]
    further = norm.logsf(distances, distances.mean(axis=1, keepdims=True), distances.std(axis=1, keepdims=True))
    return further + norm.logsf(distances, of_bank.mean(axis=0), of_bank.std(axis=0))


def mp_empiric(s, b, of_queries):
    """One query and one target at a time; `of_queries` (m, b) are similarities of queries and bank."""
    return np.array(
        [[((to < x) & (b[:, j] < x)).mean() for j, x in enumerate(row)] for row, to in zip(s, of_queries, strict=True)]
    )


BY_DISTANCE = {
    "gc": {},
    "dsl": {"temperature": TAU},
    "ls": {"k": 5},
    "nicdm": {"k": 5},
    "mp": {"k": None},
    "mp_empiric": {},
}
"""Every rescorer, and its parameters under Euclidean distance."""


def scores_by_distance(name, problem):
    """Scores (m, n) that a rescorer ranks by under Euclidean distance."""
    s, b = (similarities(rows, problem.targets) for rows in (problem.queries, problem.bank))
    near, near_bank = (1 - np.sqrt(-2 * each) for each in (s, b))  # formulas take 1 − s for a distance
    of_queries = similarities(problem.queries, problem.bank)
    # the share of the bank that is further from both than they are apart; the nearer target wins a tie
    further = (of_queries[:, np.newaxis] < s[:, :, np.newaxis]) & (s[:, :, np.newaxis] > b.T)
    return {
        "gc": lambda: gc(s, b),
        "dsl": lambda: dsl(s, b, TAU) * np.exp(s / TAU) / s,
        "ls": lambda: ls(near, near_bank, 5),
        "nicdm": lambda: nicdm(near, near_bank, 5),
        "mp": lambda: mp(near, near_bank),
        "mp_empiric": lambda: further.mean(axis=2) + 1e-3 * s / (1 + np.abs(s)) / len(b),
    }[name]()
