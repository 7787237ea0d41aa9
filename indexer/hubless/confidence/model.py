"""The model of confidence of one version: fitted on scores of the query bank, applied to the best scores of a query."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hubless.vectors.arrays import F32, F64

DEPTH = 11
"""So many of the best scores of a query count."""


@dataclass(frozen=True, eq=False)
class Assessment:
    """How sure the answers of m queries are.

    Attributes
    ----------
    confidence : how likely the first hit is right, (m,)
    presence : how likely a right target is among those that were searched, (m,)
    shares : the part of the confidence of each of the k hits, (m, k): of the first it is the confidence itself
    calibrated : whether these are probabilities, as labelled pairs made them; else they order answers only
    """

    confidence: F32
    presence: F32
    shares: F32
    calibrated: bool


@dataclass(frozen=True, eq=False)
class ConfidenceModel:
    """Turns the best scores of queries into confidence and presence.

    Attributes
    ----------
    temperature : τ of the softmax over the best scores, in their unit
    weights, level : (d,) and a number: q·weights + level is the mean score that a query's ranks 2 to 11 should have
    """

    temperature: float
    weights: F32
    level: float

    def assess(self, queries: F32, best: F32, scores: F32) -> Assessment:
        """Return how sure answers are.

        Parameters
        ----------
        queries : (m, d)
        best : (m, b) their best scores, best first; what comes after the first 11 does not count
        scores : (m, k) of the hits
        """
        if not best.shape[1]:
            none = np.zeros(len(best), np.float32)
            return Assessment(none, none, np.zeros(scores.shape, np.float32), calibrated=False)
        confidence = np.reciprocal(self._softness(best, best[:, :DEPTH]).sum(axis=1))
        shares = confidence[:, np.newaxis] * self._softness(best, np.minimum(scores, best[:, :1]))
        height = (best[:, 0] - (queries @ self.weights + np.float32(self.level))) / np.float32(self.temperature)
        presence = ((1 + np.tanh(height / 2)) / 2).astype(np.float32)
        return Assessment(confidence, presence, shares, calibrated=False)

    def _softness(self, best: F32, scores: F32) -> F32:
        above: F32 = np.exp((scores - best[:, :1]) / np.float32(self.temperature))
        return above

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the model as plain arrays."""
        return {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]], dim: int) -> Self:
        """Return the model of such arrays, for queries of d dimensions."""
        if state["weights"].shape != (dim,):
            raise ValueError(f"weights of shape {state['weights'].shape}, and not ({dim},)")
        return cls(float(state["temperature"]), state["weights"], float(state["level"]))


def fit_confidence(queries: F32, scores: F32) -> ConfidenceModel:
    """Fit the model on bank queries (b, d) with their best scores (b, k), without labels."""
    others: F64 = scores[:, min(1, scores.shape[1] - 1) : DEPTH].mean(axis=1, dtype=np.float64)
    mean = queries.mean(axis=0, dtype=np.float64)
    centred = queries - mean
    ridge = np.trace(centred.T @ centred) / queries.shape[1] + 1e-12
    weights = np.linalg.solve(
        centred.T @ centred + ridge * np.eye(queries.shape[1]), centred.T @ (others - others.mean())
    )
    spread = float((scores[:, 0] - others).mean()) or 1.0
    return ConfidenceModel(spread / 4, weights.astype(np.float32), float(others.mean() - mean @ weights))
