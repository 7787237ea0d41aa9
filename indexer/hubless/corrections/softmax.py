"""What `is`, `sn`, `dbsn` and `auto` become once fitted: a bank, a potential for each of its queries, a temperature."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hubless.arrays import F32, F64
from hubless.corrections.base import Details, State, Vectors, targets_beside
from hubless.kernels import log_sum_exp
from hubless.sources import ArrayVectors, VectorSource, in_memory
from hubless.streaming import Advance, no_progress


@dataclass(frozen=True)
class FittedSoftmax:
    """h(t) = shrinkage · τ · LSE_i(q_i·t/τ + a_i), over the bank queries q_i.

    `is` has a = 0; the Sinkhorn methods have fitted potentials, and need nothing else, as the last half step of
    Sinkhorn uses only a.
    """

    bank: VectorSource
    potentials: F64 | None
    temperature: float
    shrinkage: float = 1.0
    extra: Details = field(default_factory=dict)

    @property
    def details(self) -> Details:
        fixed = {
            "temperature": self.temperature,
            "shrinkage": self.shrinkage,
            "bank_queries": self.bank.shape[0],
        }
        return fixed | self.extra

    def offsets(self, targets: Vectors, advance: Advance = no_progress) -> F32:
        source = targets_beside(self.bank, targets)
        exponents = log_sum_exp(self.bank, source, self.temperature, self.potentials, advance)
        return (self.shrinkage * self.temperature * exponents).astype(np.float32)

    def query_time(self, targets: Vectors, advance: Advance = no_progress) -> None:
        return None

    def state(self) -> State:
        bank: State = {"bank": in_memory(self.bank)}
        return bank if self.potentials is None else bank | {"potentials": self.potentials}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]], details: Details) -> "FittedSoftmax":
        fixed = ("temperature", "shrinkage", "bank_queries")
        return cls(
            ArrayVectors(state["bank"], "query bank"),
            state.get("potentials"),
            details["temperature"],
            details["shrinkage"],
            {key: value for key, value in details.items() if key not in fixed},
        )


@dataclass(frozen=True)
class FittedForRescoring:
    """A fitted softmax method whose offsets find the candidates of a rescorer."""

    softmax: FittedSoftmax

    @property
    def details(self) -> Details:
        return self.softmax.details

    def offsets(self, targets: Vectors, advance: Advance = no_progress) -> F32:
        return self.softmax.offsets(targets, advance)

    def state(self) -> State:
        return self.softmax.state()

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]], details: Details) -> Self:
        return cls(FittedSoftmax.from_state(state, details))
