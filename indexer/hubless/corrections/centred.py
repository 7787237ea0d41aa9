"""A fitted correction with what is done to its offsets: some are held back, and a constant is taken out."""

from dataclasses import astuple, dataclass
from typing import Self

import numpy as np

from hubless.corrections.alone import StandingAlone
from hubless.corrections.base import Details, FittedCorrection, QueryTime, Rows, State, StateArrays
from hubless.corrections.target_columns import NO_COLUMNS, TargetColumns, offsets_each
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32

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
    def from_state(cls, fitted: FittedCorrection, state: StateArrays) -> Self:
        """Restore what `state` gave beside that of the fit."""
        alone = state.get(ALONE)
        return cls(fitted, float(state[CENTRE]), None if alone is None else StandingAlone(*alone.tolist()))

    @property
    def details(self) -> Details:
        return self.fitted.details

    def offsets(self, targets: Rows, advance: Advance = no_progress, columns: TargetColumns = NO_COLUMNS) -> F32:
        """H of each target, (n,), with what columns say of it, in the units of those of the fit.

        What they do not say is as usual. Raises `InputError` if the fit knew no such column, or without groups if the
        correction was fitted by them.
        """
        offsets = offsets_each([self.fitted], targets, columns, advance)[0].astype(np.float64)
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
