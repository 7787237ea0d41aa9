"""Rankings by a correction: by its dense reference, and from the index of a collection."""

from dataclasses import replace

import numpy as np

from hubless import CORRECTIONS
from hubless.corrections import corrected_scores


def dense(problem, name, candidates=None, strength=1.0, **parameters):
    """Scores (m, n) of all targets, with `candidates` of them rescored."""
    fitted = CORRECTIONS[name](**parameters).fit(problem.bank, problem.targets, problem.target_bank)
    offsets = fitted.offsets(problem.targets)
    return corrected_scores(
        problem.queries,
        problem.queries @ problem.targets.T,
        strength,
        offsets - offsets.mean(),
        fitted.query_time(problem.targets),
        problem.targets.__getitem__,
        candidates,
    )


def best(scores, k=10):
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def similarities(problem):
    """Of queries, query bank and target bank with the targets: (m, n), (b, n), (g, n), float64."""
    targets = problem.targets.astype(np.float64).T
    return [rows.astype(np.float64) @ targets for rows in (problem.queries, problem.bank, problem.target_bank)]


def longer(problem):
    """The problem with lengths from 0.5 to 3, and with them the similarities."""
    rng = np.random.default_rng(2)
    lengths = {
        name: rng.uniform(0.5, 3, size=(len(rows), 1)).astype(np.float32) for name, rows in vars(problem).items()
    }
    return replace(problem, **{name: rows * lengths[name] for name, rows in vars(problem).items()})


def ranks_by(problem, formula, name, tolerance=1e-6, **parameters):
    """All targets stand in the order of the formula, but for ties."""
    expected = formula(*similarities(problem))
    order = np.argsort(-dense(problem, name, candidates=None, **parameters), axis=1, kind="stable")
    in_order = np.take_along_axis(expected, order, axis=1)
    assert (np.diff(in_order, axis=1) <= tolerance).all()
    assert (np.diff(expected, axis=1) > tolerance).any()


def check_zeros_between(found, s, factor):
    """In float32, scores (n,) order similarities times exp(factor): those of 0 alike, between those above and below."""
    signs = np.sign(s)
    expected = np.lexsort((signs * (np.log(np.abs(s, dtype=np.float64) + (s == 0)) + factor), signs))
    steps = np.diff(found[expected].astype(np.float32))
    assert (steps >= 0).all()
    assert (steps[np.diff(signs[expected]) > 0] > 0).all()
    assert np.ptp(found[s == 0]) == 0
