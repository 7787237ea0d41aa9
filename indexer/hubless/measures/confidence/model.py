"""The model of confidence of one version: fitted on answers to bank queries, applied to the best scores of a query.

Of a query with best scores s_1 ≥ s_2 ≥ … it looks at two numbers, both without unit:

    x = −log Σ_{i=2..11} exp((s_i − s_1)/τ)        how far the first hit is ahead of the others
    z = (s_1 − q·w − c)/τ                          how far it is above what a second hit of such a query has

Scores equal to s_1 count as one: these are copies, and each is right if one is. Confidence is σ(x·slope + intercept),
presence the same of z. Without labels slopes and intercepts are fixed; labelled pairs fit them (Platt scaling).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hubless.vectors.arrays import F32, F64

DEPTH = 11
"""So many of the best scores of a query count."""
COPIES = 1e-4
"""A score that is less than this share of τ below the first is equal to it."""
PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_OF_CURVE = np.array([10.0, 1.0])
"""Weight of the prior on slope and intercept."""
_STEPS, _MOST = 100, 40
_LEAST, _LARGEST, _ROUNDING = 1e-6, 80, np.float32(1e-6)
_MOST_KNOWN = 8
"""So many strengths are kept, as queries may ask for any."""


class Logistic(NamedTuple):
    """p(x) = 1 / (1 + exp(−slope·x − intercept)), which never falls."""

    slope: float
    intercept: float

    def __call__(self, x: F64) -> F64:
        p: F64 = 1 / (1 + np.exp(np.minimum(-self.slope * x - self.intercept, _MOST)))
        return p

    def of_one(self, x: float) -> float:
        return 1 / (1 + exp(min(-self.slope * x - self.intercept, _MOST)))

    def fitted(self, x: NDArray[np.floating], right: NDArray[np.bool_]) -> "Logistic":
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


CONFIDENCE, PRESENCE = Logistic(1.0, -0.5), Logistic(0.3, -1.0)
"""The model that six real sets have in common: a start for labelled pairs, and for versions without any."""


class Assessment(NamedTuple):
    """Confidence in the answers of m queries: probabilities if `calibrated` by labels, else they order answers only."""

    numbers: F32
    calibrated: bool

    @property
    def confidence(self) -> F32:
        """The probability that the first hit is right, (m,)."""
        return self.numbers[:, 0]

    @property
    def presence(self) -> F32:
        """The probability that a right target is among those that were searched, (m,)."""
        return self.numbers[:, 1]

    @property
    def shares(self) -> F32:
        """The part of the confidence of each of the k hits, (m, k): of the first it is the confidence itself."""
        return self.numbers[:, 2:]


class Level(NamedTuple):
    """Usual scores at one strength: τ, and w (d,) and c of the score of a second hit, q·w + c."""

    temperature: float
    weights: F32
    constant: float

    def numbers(self, queries: F32, best: F32) -> tuple[F64, F64]:
        """Return x and z (m,) of queries (m, d) by their best scores (m, b), b from 1 to 11, best first.

        A missing score counts as a tenth of that of a usual second hit. Each query has a product of its own in float64,
        so that it gets the same answer alone and in a batch.
        """
        scores, per = best.astype(np.float64), 1 / self.temperature
        over = (scores - scores[:, :1]) * per
        copies = np.abs(over) <= COPIES
        products = np.array([query.dot(self.weights) for query in queries], np.float64)
        z: F64 = (scores[:, 0] - products - self.constant) * per
        others = np.exp(np.minimum(over, _LARGEST)).sum(axis=1, where=~copies)
        if (missing := DEPTH - best.shape[1]) > 0:
            others += missing / (DEPTH - 1) * np.exp(np.minimum(-z, _LARGEST))
        x: F64 = -np.log(np.maximum(others, _LEAST))
        return x, z

    def numbers_of_one(self, query: F32, best: list[float]) -> tuple[float, float]:
        """Return the same of one query (d,): numpy would take five times as long for so few numbers."""
        first, per = best[0], 1 / self.temperature
        z = (first - float(query.dot(self.weights)) - self.constant) * per
        others = 0.0
        for score in best:
            over = (score - first) * per
            if not -COPIES <= over <= COPIES:
                others += exp(over if over < _LARGEST else _LARGEST)
        if len(best) < DEPTH:
            others += (DEPTH - len(best)) / (DEPTH - 1) * exp(min(-z, _LARGEST))
        return -log(max(others, _LEAST)), z


@dataclass(frozen=True, eq=False)
class ConfidenceModel:
    """Turns the best scores of queries into confidence and presence, which `pairs` calibrated at `strength`.

    `levels` are for strengths 0 and 1, `confidence` and `presence` curves of x and z.
    """

    levels: tuple[Level, Level]
    confidence: Logistic = CONFIDENCE
    presence: Logistic = PRESENCE
    pairs: int = 0
    strength: float = 1.0
    _known: dict[float, Level] = field(default_factory=dict, init=False, repr=False)

    def level(self, strength: float) -> Level:
        if strength in self._known:
            return self._known[strength]
        raw, full = self.levels
        temperature = max((1 - strength) * raw.temperature + strength * full.temperature, full.temperature / 10)
        weights = raw.weights + np.float32(strength) * (full.weights - raw.weights)
        made = Level(temperature, weights, (1 - strength) * raw.constant + strength * full.constant)
        if len(self._known) < _MOST_KNOWN:
            self._known[strength] = made
        return made

    def assess(self, queries: F32, best: F32, scores: F32, strength: float = 1.0) -> Assessment:
        """Return how sure answers are, by scores (m, b) best first and the scores (m, k) of the hits, at a strength."""
        if not best.shape[1]:
            return Assessment(np.zeros((len(best), 2 + scores.shape[1]), np.float32), self.pairs > 0)
        level, calibrated = self.level(strength), self.pairs > 0 and strength == self.strength
        if len(best) == 1:
            seen = best[0, :DEPTH].tolist()
            x, z = level.numbers_of_one(queries[0], seen)
            one, first, per = self.confidence.of_one(x), seen[0], 1 / level.temperature
            share = [one * exp((score - first) * per) if score < first else one for score in scores[0].tolist()]
            return Assessment(np.array([[one, self.presence.of_one(z), *share]], np.float32), calibrated)
        of_all, height = level.numbers(queries, best[:, :DEPTH])
        confidence = self.confidence(of_all)
        over = np.minimum(scores.astype(np.float64) - best[:, :1], 0) * (1 / level.temperature)
        columns = (confidence, self.presence(height), confidence[:, np.newaxis] * np.exp(over))
        return Assessment(np.column_stack(columns).astype(np.float32), calibrated)

    def calibrate(self, answers: "Answers", strength: float) -> Self:
        """Return the model with confidence and presence fitted to labelled pairs, as probabilities.

        Presence is the probability if half of all queries have a right target: labelled pairs do not say how many do.
        The model stays as it is if every target is right for all queries, as for a collection of one target.
        """
        if not answers.without.shape[1]:
            return self
        level = self.level(strength)
        x, z = level.numbers(answers.queries, answers.best)
        _, without = level.numbers(answers.queries, answers.without)
        present = np.repeat([True, False], len(z))
        return replace(
            self,
            confidence=CONFIDENCE.fitted(x, answers.right),
            presence=PRESENCE.fitted(np.concatenate([z, without]), present),
            pairs=len(x),
            strength=strength,
        )

    def state(self) -> dict[str, NDArray[Any]]:
        return {
            "temperature": np.array([level.temperature for level in self.levels]),
            "weights": np.stack([level.weights for level in self.levels]),
            "constant": np.array([level.constant for level in self.levels]),
            "confidence": np.array(self.confidence),
            "presence": np.array(self.presence),
            "pairs": np.array(self.pairs),
            "strength": np.array(self.strength),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]], dim: int) -> Self:
        temperature, weights, constant = (state[name] for name in ("temperature", "weights", "constant"))
        shapes = temperature.shape, weights.shape, constant.shape, state["confidence"].shape, state["presence"].shape
        if shapes != ((2,), (2, dim), (2,), (2,), (2,)) or not (temperature > 0).all():
            raise ValueError(f"a model of confidence of other shapes, {shapes}, or without temperature")
        raw, full = map(Level, temperature.tolist(), weights, constant.tolist())
        confidence, presence = (Logistic(*state[name].tolist()) for name in ("confidence", "presence"))
        return cls((raw, full), confidence, presence, int(state["pairs"]), float(state["strength"]))

    def with_calibration(self, other: "ConfidenceModel") -> Self:
        """Return the model with the calibration of another one: x and z have no unit, and mean the same in both."""
        return replace(
            self,
            confidence=other.confidence,
            presence=other.presence,
            pairs=other.pairs,
            strength=other.strength,
        )


class Answers(NamedTuple):
    """Answers to p labelled queries (p, d): best scores (p, b), and those of targets that are not right, `without`."""

    queries: F32
    best: F32
    right: NDArray[np.bool_]
    without: F32

    @classmethod
    def of(cls, queries: F32, scores: F32, rows: NDArray[np.integer], relevant: Sequence[NDArray[np.integer]]) -> Self:
        """Return the answers of ranked rows (p, k) with scores (p, k), k more than 11 by the right rows of a query."""
        among = np.stack([np.isin(line, right) for line, right in zip(rows, relevant, strict=True)])
        best = scores[:, :DEPTH]
        tied: NDArray[np.bool_] = np.abs(best - best[:, :1]) <= _ROUNDING * np.maximum(1, np.abs(best[:, :1]))
        others = np.argsort(among, axis=1, kind="stable")[:, :DEPTH]
        width = min(DEPTH, int((~among).sum(axis=1).min()))
        without = np.take_along_axis(scores, others, axis=1)[:, :width]
        return cls(queries, best, np.any(tied & among[:, :DEPTH], axis=1), without)

    def some(self, rows: slice | NDArray[np.integer]) -> "Answers":
        """Return the answers to some of the queries."""
        return Answers(self.queries[rows], self.best[rows], self.right[rows], self.without[rows])


def fit_confidence(queries: F32, raw: F32, full: F32) -> ConfidenceModel:
    """Fit the model on bank queries (b, d) with their best scores (b, k) at strengths 0 and 1, without labels."""
    return ConfidenceModel((_level(queries, raw), _level(queries, full)))


def _level(queries: F32, scores: F32) -> Level:
    """Fit the score of the second hit by ridge regression on the query; τ is the median spread of scores 2 to 11."""
    second = scores[:, min(1, scores.shape[1] - 1)].astype(np.float64)
    spread = scores[:, 1:DEPTH].astype(np.float64).std(axis=1) if scores.shape[1] > 2 else np.zeros(len(scores))
    temperature: float = np.median(spread).item()
    if not temperature > 0:  # nearly all scores are alike, or there are too few targets to say
        temperature = max(float(np.std(scores)), 1e-6 * float(np.abs(scores).max()), 1e-6)
    mean, usual = queries.mean(axis=0, dtype=np.float64), float(second.mean())
    weights = _ridge(queries - mean, second - usual)
    return Level(temperature, weights.astype(np.float32), usual - float(mean @ weights))


def _ridge(rows: F64, values: F64) -> F64:
    """Return the weights (d,) of a ridge regression of centred values (b,) on rows (b, d).

    The penalty has the smallest error where each row is predicted without itself (Allen, Technometrics 1974).
    """
    left, singular, right = np.linalg.svd(rows, full_matrices=False)
    if not singular.any():
        return np.zeros(rows.shape[1])
    along, squares = left.T @ values, singular**2
    shrinkages = [squares / (squares + penalty * squares.mean()) for penalty in PENALTIES]
    # the mean counts as a column, too
    errors = [(values - left @ (s * along)) / (1 - 1 / len(rows) - left**2 @ s) for s in shrinkages]
    best = shrinkages[int(np.argmin([error @ error for error in errors]))]
    return np.asarray(right.T @ (best * along / np.where(singular > 0, singular, 1)), np.float64)
