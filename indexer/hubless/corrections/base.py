"""The protocols of a correction and of its fitted form."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubless.errors import InputError
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, check_dim
from hubless.vectors.comparing import COSINE
from hubless.vectors.sources import VectorSource, as_source, held, in_memory

Rows = VectorSource | NDArray[Any]


State = dict[str, NDArray[Any]]
StateArrays: TypeAlias = Mapping[str, NDArray[Any]]
"""Arrays by name, as they are read: of a fitted correction, or of its work on live queries."""
Details = dict[str, Any]


class QueryTime(Protocol):
    """The work of a correction on a live query beyond the folded offsets: `query_time.py` has what there is."""

    def arrays(self) -> State:
        """Everything that `from_arrays` needs beside the fitted correction, as plain arrays."""

    @classmethod
    def from_arrays(cls, arrays: StateArrays, details: Details) -> Self:
        """Restore what `arrays` gave; the fitted correction's state is among the arrays, and has its details."""


class FittedCorrection(Protocol):
    """A correction that has seen the query bank and can give the offset of any target."""

    @property
    def details(self) -> Details:
        """Choices and measurements of the fit, as JSON: for the manifest."""

    def offsets(self, targets: Rows, advance: Advance = no_progress) -> F32:
        """H of each target, (n,) in units of similarity; a target's offset does not depend on the others given."""

    def query_time(self, targets: Rows, advance: Advance = no_progress) -> QueryTime | None:
        """Prepare a gate or a rescorer of live queries over these targets; None for methods that fold."""

    def state(self) -> State:
        """Everything that `from_state` needs beside `details`, as plain arrays."""

    @classmethod
    def from_state(cls, state: StateArrays, details: Details) -> Self:
        """Restore what `state` and `details` gave."""


class Fitted:
    """Base of fitted corrections: its `repr` has the plain numbers of their details; no work on queries, nor state."""

    if TYPE_CHECKING:

        @property
        def details(self) -> Details: ...

    def __repr__(self) -> str:
        shown = {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in self.details.items()}
        plain = [f"{key}={value}" for key, value in shown.items() if key not in ("why", "error")]
        return f"{type(self).__name__}({', '.join(plain)})"

    def query_time(self, targets: Rows, advance: Advance = no_progress) -> QueryTime | None:
        return None

    def state(self) -> State:
        return {}


class Correction(Protocol):
    """A method with its parameters: a frozen dataclass."""

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedCorrection:
        """Estimate what the offsets need, from a query bank (b, d), targets (n, d) and perhaps a target bank (g, d).

        Raises `InputError` if the banks do not fit each other or are too small for the parameters.
        """


class SeesVectors:
    """Base of methods that look at more than similarities, and so depend on the metric that made the vectors."""

    metric = COSINE

    def under(self, metric: str) -> Self:
        """Return the same method for vectors that are compared by a metric."""
        bound = copy(self)
        vars(bound)["metric"] = metric
        return bound


def under(method: Correction, metric: str) -> Correction:
    """Return a method for vectors that are compared by a metric."""
    return method.under(metric) if isinstance(method, SeesVectors) else method


def targets_beside(bank: VectorSource, targets: Rows) -> VectorSource:
    """Make a source of the input of `offsets`, of the dimension of the bank that was fitted.

    Raises `DimensionMismatch` for another one.
    """
    source = as_source(targets, "targets")
    check_dim(source.shape[1], bank.shape[1], source.name, bank.name)
    return source


@dataclass(frozen=True, repr=False)
class BankKept(Fitted):
    """A fitted correction that keeps its query bank (b, d): for a rescorer, as it folds nothing, or for offsets."""

    bank: VectorSource

    def offsets(self, targets: Rows, advance: Advance = no_progress) -> F32:
        return np.zeros(targets_beside(self.bank, targets).shape[0], np.float32)

    @property
    def details(self) -> Details:
        others = {name: value for name, value in vars(self).items() if name != "bank"}
        return others | {"bank_queries": self.bank.shape[0]}

    def state(self) -> State:
        return {"bank": in_memory(self.bank)}

    @classmethod
    def from_state(cls, state: StateArrays, details: Details) -> Self:
        _, *others = fields(cls)
        known = {each.name: details[each.name] for each in others if each.name in details}
        return cls(held(state["bank"], "query bank"), **known)


def check_target_bank(target_bank: VectorSource | None, correction: str, instead: str) -> VectorSource:
    """The target bank, or an `InputError` that says which correction needs it, and which does without."""
    if target_bank is None:
        raise InputError("target bank", f"vectors, as {correction} needs them ({instead} does without)", "none")
    return target_bank


def check_banks(
    query_bank: Rows, targets: Rows, target_bank: Rows | None, minimum: int, reason: str
) -> tuple[VectorSource, VectorSource, VectorSource | None]:
    """Make sources of the inputs of `fit`, of one dimension, with at least `minimum` bank queries.

    Raises `InputError`.
    """
    bank = as_source(query_bank, "query bank")
    all_targets = as_source(targets, "targets")
    check_dim(bank.shape[1], all_targets.shape[1], bank.name, all_targets.name)
    if bank.shape[0] < minimum:
        raise InputError(bank.name, f"at least {minimum} rows, {reason}", bank.shape[0])
    if target_bank is None:
        return bank, all_targets, None
    extra = as_source(target_bank, "target bank")
    check_dim(extra.shape[1], all_targets.shape[1], extra.name, all_targets.name)
    return bank, all_targets, extra
