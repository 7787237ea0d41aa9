"""`offsets`: a number a target that somebody brings, in place of a correction that is measured."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hubless.corrections.base import Details, Fitted, Rows, StateArrays
from hubless.corrections.roles import OWN_OFFSETS
from hubless.corrections.target_columns import TargetColumn
from hubless.errors import InputError
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64
from hubless.vectors.sources import as_source


@dataclass(frozen=True, repr=False)
class FittedGiven(Fitted):
    """h(t) is the target's own number; where nobody gives one, the median of those that were given."""

    median: float

    @property
    def details(self) -> Details:
        return {"median": self.median}

    def offsets(self, targets: Rows, advance: Advance = no_progress) -> F32:
        return np.full(as_source(targets, "targets").shape[0], self.median, np.float32)

    def of_number(self, values: F64) -> F64:
        """Return what the own numbers of targets (m,) add to the median; NaN adds nothing."""
        more: F64 = np.where(np.isnan(values), 0.0, values - self.median)
        return more

    @classmethod
    def from_state(cls, state: StateArrays, details: Details) -> "FittedGiven":
        return cls(details["median"])


@dataclass(frozen=True)
class GivenOffsets:
    """Offsets from anywhere, one a target, in units of similarity: positive ones lower the score."""

    takes_prior: ClassVar = True

    def fit(
        self,
        query_bank: Rows,
        targets: Rows,
        target_bank: Rows | None = None,
        number: TargetColumn | None = None,
    ) -> FittedGiven:
        if number is None:
            raise InputError(OWN_OFFSETS.name, "one number a target, as offsets:FILE or offsets:COLUMN", "none")
        return FittedGiven(number.median)
