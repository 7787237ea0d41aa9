"""Rankings by a correction: by its dense reference, and from the index of a collection."""

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
