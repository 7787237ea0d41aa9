"""The usual scores of one collection at one strength, by which the best scores of a query are read."""

from collections.abc import Sequence
from math import exp, log
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hubless.measures.labelled_answers import DEPTH
from hubless.vectors.arrays import F32, F64

COPIES = 1e-4
"""A score that is less than this share of τ below the first is equal to it."""
PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
LARGEST = 80
_LEAST = 1e-6


class Level(NamedTuple):
    """Usual scores at one strength: τ, w (d,) and c of the score of a second hit, q·w + c, and the mean of that score.

    The mean stands for q·w + c where nobody knows q. `near` is the mean similarity of a second hit; `of_z` and
    `of_similarity` are standard deviations of first hits. `depth` is how many of the best scores count: fewer than 11
    if no list had more.
    """

    temperature: float
    weights: F32
    constant: float
    second: float
    depth: int = DEPTH
    near: float = 0.0
    of_z: float = 1.0
    of_similarity: float = 1.0

    @classmethod
    def fit(cls, queries: F32, scores: F32, similarities: F32) -> Self:
        """Fit the score of the second hit to queries (b, d) by ridge regression, on scores (b, k), best first.

        τ is the median spread of scores 2 to 11. `similarities` (b, k) are those of the same hits.
        """
        place = min(1, scores.shape[1] - 1)
        second = scores[:, place].astype(np.float64)
        spread = scores[:, 1:DEPTH].astype(np.float64).std(axis=1) if scores.shape[1] > 2 else np.zeros(len(scores))
        temperature = _temperature(spread, scores.ravel())
        mean = queries.mean(axis=0, dtype=np.float64)
        usual = float(second.mean())
        weights = _ridge(queries - mean, second - usual).astype(np.float32)
        found = cls(
            temperature, weights, usual - float(mean @ weights), usual, near=float(similarities[:, place].mean())
        )
        height = found.numbers(queries, scores[:, :DEPTH])[1]
        return found._replace(of_z=_unit(height), of_similarity=_unit(similarities[:, 0]))

    @classmethod
    def of_lists(cls, lists: Sequence[Sequence[float]]) -> Self:
        """Return the level of b lists of scores, each best first, of which some have two scores and more."""
        spread = np.array([float(np.std(scores[1:DEPTH])) for scores in lists if len(scores) > 2] or [0.0])
        temperature = _temperature(spread, np.concatenate([scores[:DEPTH] for scores in lists]))
        second = float(np.mean([scores[1] for scores in lists if len(scores) > 1]))
        return cls.of_scores(temperature, second, min(DEPTH, max(map(len, lists))))

    @classmethod
    def of_scores(cls, temperature: float, second: float, depth: int) -> Self:
        """Return the level of a search of which nothing but scores is known."""
        return cls(temperature, np.zeros(0, np.float32), second, second, depth)

    def height(self, z: Any, similarity: Any) -> Any:
        """Return how far first hits are above second ones, by z and by their similarity, each in its unit: numbers."""
        return (z / self.of_z + (similarity - self.near) / self.of_similarity) / 2

    def numbers(self, queries: F32, best: F32) -> tuple[F64, F64]:
        """Return x and z (m,) of queries (m, d) by their best scores (m, b), b from 1 to 11, best first.

        A missing score counts as a tenth of that of a usual second hit. Each query has a product of its own in float64,
        so that it gets the same answer alone and in a batch.
        """
        scores = best.astype(np.float64)
        per = 1 / self.temperature
        over = (scores - scores[:, :1]) * per
        copies = np.abs(over) <= COPIES
        products = np.array([query.dot(self.weights) for query in queries], np.float64)
        z: F64 = (scores[:, 0] - products - self.constant) * per
        others = np.exp(np.minimum(over, LARGEST)).sum(axis=1, where=~copies)
        if (missing := self.depth - best.shape[1]) > 0:
            others += missing / (self.depth - 1) * np.exp(np.minimum(-z, LARGEST))
        x: F64 = -np.log(np.maximum(others, _LEAST))
        return x, z

    def numbers_of_one(self, query: F32 | None, best: Sequence[float]) -> tuple[float, float]:
        """Return the same of one query (d,): numpy would take five times as long for so few numbers."""
        first = best[0]
        per = 1 / self.temperature
        usual = self.second if query is None else float(query.dot(self.weights)) + self.constant
        z = (first - usual) * per
        others = 0.0
        for score in best:
            over = (score - first) * per
            if not -COPIES <= over <= COPIES:
                others += exp(over if over < LARGEST else LARGEST)
        if len(best) < self.depth:
            others += (self.depth - len(best)) / (self.depth - 1) * exp(min(-z, LARGEST))
        return -log(max(others, _LEAST)), z


def _temperature(spread: F64, scores: F32 | F64) -> float:
    """Return the median spread; where nearly all scores are alike, or too few, the next best number above 0."""
    temperature: float = np.median(spread).item()
    if temperature > 0:
        return temperature
    return max(float(np.std(scores)), 1e-6 * float(np.abs(scores).max()), 1e-6)


def _unit(numbers: NDArray[np.floating]) -> float:
    return float(numbers.std(dtype=np.float64)) or 1.0


def _ridge(rows: F64, values: F64) -> F64:
    """Return the weights (d,) of a ridge regression of centred values (b,) on rows (b, d).

    The penalty has the smallest error where each row is predicted without itself (Allen, Technometrics 1974).
    """
    left, singular, right = np.linalg.svd(rows, full_matrices=False)
    if not singular.any():
        return np.zeros(rows.shape[1])
    along = left.T @ values
    squares = singular**2
    shrinkages = [squares / (squares + penalty * squares.mean()) for penalty in PENALTIES]
    # the mean counts as a column, too
    errors = [(values - left @ (s * along)) / (1 - 1 / len(rows) - left**2 @ s) for s in shrinkages]
    best = shrinkages[int(np.argmin([error @ error for error in errors]))]
    return np.asarray(right.T @ (best * along / np.where(singular > 0, singular, 1)), np.float64)
