"""`dual_is`: the inverted softmax over a query bank, and over a target bank."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hubless.corrections.base import (
    Details,
    Fitted,
    Rows,
    SeesVectors,
    State,
    StateArrays,
    check_banks,
    check_target_bank,
)
from hubless.corrections.folded.softmax import FittedSoftmax
from hubless.corrections.temperature import check_temperature, resolve_temperature
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32
from hubless.vectors.sources import turned_vectors

QUERY_TEMPERATURE, TARGET_TEMPERATURE = 0.02, 1.0
"""As published (inverse temperatures 50 and 1)."""


@dataclass(frozen=True, repr=False)
class FittedDualSoftmax(Fitted):
    """h(t) = λ·[LSE_{q∈Bq}(q·t/τ1) + LSE_{v∈Bt}(v·t/τ2)], λ = τ1τ2/(τ1+τ2): τ1 of `queries`, τ2 of `targets`."""

    queries: FittedSoftmax
    targets: FittedSoftmax

    @property
    def details(self) -> Details:
        return {
            "query_temperature": self.queries.temperature,
            "target_temperature": self.targets.temperature,
            "bank_queries": self.queries.bank.shape[0],
            "bank_targets": self.targets.bank.shape[0],
        }

    def offsets(self, targets: Rows, advance: Advance = no_progress) -> F32:
        first, second = self.queries.temperature, self.targets.temperature
        share = np.float32(second / (first + second))
        return share * self.queries.offsets(targets, advance) + (1 - share) * self.targets.offsets(targets)

    def state(self) -> State:
        return self.queries.state() | {"target_bank": self.targets.state()["bank"]}

    @classmethod
    def from_state(cls, state: StateArrays, details: Details) -> "FittedDualSoftmax":
        banks = (("bank", "query_temperature"), ("target_bank", "target_temperature"))
        return cls(
            *(
                FittedSoftmax.from_state({"bank": state[bank]}, {"temperature": details[of], "shrinkage": 1.0})
                for bank, of in banks
            )
        )


@dataclass(frozen=True)
class DualInvertedSoftmax(SeesVectors):
    """Dual inverted softmax: h(t) = λ·[LSE_{q∈Bq}(q·t/τ1) + LSE_{v∈Bt}(v·t/τ2)], λ = τ1τ2/(τ1+τ2).

    The smaller temperature decides: at the published ones it is nearly `is` at τ1. "auto" is by perplexity over the
    bank. `fit` needs a target bank. Source: Wang et al., "Balance Act: Mitigating Hubness in Cross-Modal Retrieval with
    Query and Gallery Banks" (DBNorm), EMNLP 2023.
    """

    query_temperature: float | Literal["auto"] = QUERY_TEMPERATURE
    target_temperature: float | Literal["auto"] = TARGET_TEMPERATURE

    def __post_init__(self) -> None:
        check_temperature(self.query_temperature, name="query_temperature")
        check_temperature(self.target_temperature, name="target_temperature")

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedDualSoftmax:
        bank, all_targets, given = check_banks(query_bank, targets, target_bank, 2, "for a softmax over them")
        extra = turned_vectors(check_target_bank(given, "dual_is", "is"), self.metric)
        first = resolve_temperature(self.query_temperature, None, bank, all_targets)
        second = resolve_temperature(self.target_temperature, None, extra, all_targets)
        return FittedDualSoftmax(FittedSoftmax(bank, None, first.value), FittedSoftmax(extra, None, second.value))
