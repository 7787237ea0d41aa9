"""`none`: the raw ranking, h(t) = 0."""

from dataclasses import dataclass, field

import numpy as np

from hubless.corrections.base import Details, Fitted, Rows, StateArrays, check_banks
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32
from hubless.vectors.sources import as_source


@dataclass(frozen=True, repr=False)
class FittedNone(Fitted):
    """No offsets."""

    details: Details = field(default_factory=dict)

    def offsets(self, targets: Rows, advance: Advance = no_progress) -> F32:
        return np.zeros(as_source(targets, "targets").shape[0], np.float32)

    @classmethod
    def from_state(cls, state: StateArrays, details: Details) -> "FittedNone":
        return cls(details)


@dataclass(frozen=True)
class NoCorrection:
    """Leave the ranking as it is: h(t) = 0."""

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedNone:
        check_banks(query_bank, targets, target_bank, 1, "as a query bank has")
        return FittedNone()
