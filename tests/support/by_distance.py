"""Every correction under Euclidean distance, naively: whole matrices of −½|q − t|², float64."""

import numpy as np
from scipy.special import logsumexp
from support import formulas

from hubless.corrections.testing import MadeUpProblem, with_hubs

TAU, OTHER = 3.0, 8.0
PARAMETERS = {
    "none": {},
    "nnn": {"k": 8, "weight": 0.75},
    "csls": {"k": 10},
    "is": {"temperature": TAU},
    "sn": {"temperature": TAU},
    "dbsn": {"temperature": TAU},
    "auto": {},
    "dual_is": {"query_temperature": TAU, "target_temperature": OTHER},
    "dn": {"weight": 0.5},
    "cent": {"weight": 1.0},
    "dis": {"temperature": TAU, "k": 2},
    "dual_dis": {"query_temperature": TAU, "target_temperature": OTHER, "k": 2},
    "sinkhorn": {"temperature": TAU, "iterations": 4},
    "dissimlocal": {"k": 5},
}
"""Of all corrections of this ring."""
TAKE_TARGETS = {"dbsn", "dual_is", "dual_dis"}
"""Those that are given a target bank."""


def away_from_origin(seed=0, **sizes):
    """A problem whose vectors have lengths of 6 to 16, and lie about 4 apart."""
    given, rng = with_hubs(seed=seed, **sizes), np.random.default_rng(seed)
    away = 2 * rng.normal(size=given.targets.shape[1])
    parts = (3 * rows + away for rows in (given.targets, given.bank, given.target_bank, given.queries))
    return MadeUpProblem(*(rows.astype(np.float32) for rows in parts))


def similarities(rows, targets):
    """−½|q − t|² of rows (m, d) with targets (n, d), from the differences themselves."""
    apart = rows.astype(np.float64)[:, np.newaxis] - targets.astype(np.float64)
    return -np.square(apart).sum(axis=2) / 2


def scores(name, problem, details=None):
    """Scores (m, n) that a correction ranks by; `details` of its fit are for `auto`."""
    sides = problem.queries, problem.bank, problem.target_bank
    s, b, v = (similarities(rows, problem.targets) for rows in sides)
    columns = np.concatenate([b, similarities(problem.bank, problem.target_bank)], axis=1)
    both, known = (TAU, OTHER), PARAMETERS[name]
    found = {
        "none": lambda: s,
        "nnn": lambda: formulas.neighbours(s, b, known["k"], known["weight"]),
        "csls": lambda: formulas.neighbours(s, b, known["k"], 0.5),
        "is": lambda: formulas.inverted_softmax(s, b, TAU),
        "sn": lambda: formulas.sinkhorn_normalisation(s, b, TAU, 10),
        "dbsn": lambda: formulas.sinkhorn_normalisation(s, columns, TAU, 10),
        "auto": lambda: s + details["shrinkage"] * (_plain_sinkhorn(s, b, details) - s),
        "dual_is": lambda: formulas.dual_is(s, b, v, both),
        "dn": lambda: s - 0.5 * b.mean(axis=0),
        "cent": lambda: s - b.mean(axis=0),
        "dis": lambda: formulas.dis(s, b, TAU, known["k"]),
        "dual_dis": lambda: dual_dis(s, b, v, both, known["k"]),
        "sinkhorn": lambda: formulas.sinkhorn(s, b, TAU, known["iterations"]),
        "dissimlocal": lambda: dissimlocal(s, b, problem, known["k"]),
    }
    return found[name]()


def dual_dis(s, b, v, temperatures, k):
    """Its logarithm; a factor whose gate is off is e^(s/τ) of the bank whose gate is on."""
    on = [formulas.active(bank, k)[s.argmax(axis=1)][:, np.newaxis] for bank in (b, v)]
    corrected = [s / t - logsumexp(bank / t, axis=0) for bank, t in zip((b, v), temperatures, strict=True)]
    first, second = temperatures
    return np.select(
        [on[0] & on[1], on[0], on[1]],
        [corrected[0] + corrected[1], corrected[0] + s / first, corrected[1] + s / second],
        s,
    )


def dissimlocal(s, b, problem, k):
    """−½ of |q − t|² − |t − c|², c the mean of the k bank queries nearest to t."""
    nearest = np.argsort(-b, axis=0)[:k]
    centres = problem.bank.astype(np.float64)[nearest].mean(axis=0)
    return s + np.square(problem.targets - centres).sum(axis=1) / 2


def _plain_sinkhorn(s, b, details):
    assert details["topic_removed"] == 0
    assert details["distinct_queries"] == len(b)
    return formulas.sinkhorn_normalisation(s, b, details["temperature"], details["iterations"])


def check_ranking(found, expected, tolerance=1e-4):
    """Fail unless rows (m, k) are the best of the expected scores (m, n), ties within rounding aside."""
    got = np.take_along_axis(expected, found, axis=1)
    best = -np.sort(-expected, axis=1)[:, : found.shape[1]]
    np.testing.assert_allclose(got, best, rtol=tolerance, atol=tolerance * np.abs(expected).max())
