"""A fitted correction with what is done to its offsets: some are held back, and a constant is taken out."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hubless.corrections.alone import StandingAlone
from hubless.corrections.base import FittedCorrection, Rows
from hubless.corrections.prior import prior_offsets
from hubless.corrections.query_time import Details, QueryTime, State
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64

CENTRE, ALONE = "centre", "alone"


@dataclass(frozen=True)
class CentredCorrection:
    """h(t) − c: offsets comparable with the stored ones. c is the mean of those that were computed first.

    Offsets that stand `alone` are held back before.
    """

    fitted: FittedCorrection
    constant: float
    alone: StandingAlone | None = None

    @classmethod
    def from_state(cls, fitted: FittedCorrection, state: Mapping[str, NDArray[Any]]) -> Self:
        """Restore what `state` gave beside that of the fit."""
        alone = state.get(ALONE)
        return cls(fitted, float(state[CENTRE]), None if alone is None else StandingAlone(*alone.tolist()))

    @property
    def details(self) -> Details:
        return self.fitted.details

    def offsets(self, targets: Rows, advance: Advance = no_progress, prior: F64 | None = None) -> F32:
        """H of each target, (n,), with how often each should be found, in the unit of the prior of the fit.

        NaN, and None for all, count as the median. Raises `InputError` if the correction was fitted without a prior.
        """
        offsets = self.fitted.offsets(targets, advance).astype(np.float64)
        if prior is not None:
            offsets += prior_offsets(self.fitted, prior)
        if self.alone is not None:
            offsets = self.alone.held_back(offsets)
        return (offsets - self.constant).astype(np.float32)

    def query_time(self, targets: Rows, advance: Advance = no_progress) -> QueryTime | None:
        return self.fitted.query_time(targets, advance)

    def __repr__(self) -> str:
        return f"<{self.fitted!r} less {self.constant:.4g}>"

    def state(self) -> State:
        alone = {} if self.alone is None else {ALONE: np.array(astuple(self.alone))}
        return self.fitted.state() | {CENTRE: np.array(self.constant)} | alone
