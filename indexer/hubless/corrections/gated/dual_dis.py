"""`dual_dis`: the dual inverted softmax, each of its two factors behind a gate of its own."""

from dataclasses import dataclass
from typing import Literal, Self

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
    targets_beside,
)
from hubless.corrections.folded.dual_softmax import (
    QUERY_TEMPERATURE,
    TARGET_TEMPERATURE,
    DualInvertedSoftmax,
    FittedDualSoftmax,
)
from hubless.corrections.gated.dis import activation_set
from hubless.corrections.query_time import Candidates, signed_scores
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64, I64, Flags, check_at_least
from hubless.vectors.comparing import COSINE, comparison


@dataclass(frozen=True)
class GatedFactors:
    """The product of two factors, each corrected only if the raw top-1 is in the activation set of its bank.

    In units of similarity: both gates on, s − λ(L1 + L2), which is `dual_is`; one on, s − τ·L + τ·log s; none on, |s|,
    which ranks as the published s². So a very unlike target can come first; with one gate on, a similarity below 0
    comes last. Under metric euclidean, where s is never above 0, a factor s is e^(s/τ).

    `offsets` (2, n) are τ1·L1 and τ2·L2, `active` (2, n) the activation sets of query bank and target bank.
    """

    offsets: F32
    active: Flags
    temperatures: tuple[float, float]
    metric: str = COSINE

    def is_on(self, raw_top: I64) -> Flags:
        on: Flags = self.active[0, raw_top] | self.active[1, raw_top]
        return on

    def scores(self, query: F32, candidates: Candidates) -> F64:
        s = candidates.similarities.astype(np.float64)
        offsets = self.offsets[:, candidates.rows].astype(np.float64)
        gates = self.active[:, int(candidates.rows[s.argmax()])].tolist()
        if not any(gates):
            return s if comparison(self.metric).squared else np.abs(s)
        if all(gates):
            first, second = self.temperatures
            both: F64 = s - (second * offsets[0] + first * offsets[1]) / (first + second)
            return both
        bank = gates.index(True)
        temperature = self.temperatures[bank]
        signs, logarithms = comparison(self.metric).factors(s, temperature)
        return signed_scores(signs, logarithms + (s - offsets[bank]) / temperature, temperature)

    def arrays(self) -> State:
        return {"offsets": self.offsets, "active": np.packbits(self.active, axis=1)}

    @classmethod
    def from_arrays(cls, arrays: StateArrays, details: Details) -> Self:
        offsets = arrays["offsets"]
        active = np.unpackbits(arrays["active"], axis=1, count=offsets.shape[1]).astype(bool)
        temperatures = details["query_temperature"], details["target_temperature"]
        return cls(offsets, active, temperatures, details.get("metric", COSINE))


@dataclass(frozen=True, repr=False)
class FittedDualGated(Fitted):
    """The offsets of `dual_is`, which find the candidates, and two activation sets."""

    dual: FittedDualSoftmax
    k: int
    metric: str = COSINE

    @property
    def details(self) -> Details:
        return self.dual.details | {"k": int(self.k), "metric": self.metric}

    def offsets(self, targets: Rows, advance: Advance = no_progress) -> F32:
        return self.dual.offsets(targets, advance)

    def query_time(self, targets: Rows, advance: Advance = no_progress) -> GatedFactors:
        banks = (self.dual.queries, self.dual.targets)
        source = targets_beside(self.dual.queries.bank, targets)
        gates = GatedFactors(
            np.stack([fitted.offsets(source) for fitted in banks]),
            np.stack([activation_set(fitted.bank, source, self.k) for fitted in banks]),
            (self.dual.queries.temperature, self.dual.targets.temperature),
            self.metric,
        )
        advance(source.shape[0])
        return gates

    def state(self) -> State:
        return self.dual.state()

    @classmethod
    def from_state(cls, state: StateArrays, details: Details) -> "FittedDualGated":
        return cls(FittedDualSoftmax.from_state(state, details), details["k"], details.get("metric", COSINE))


@dataclass(frozen=True)
class DualDynamicInvertedSoftmax(SeesVectors):
    """Dual dynamic inverted softmax: f1·f2, with f1 = exp(s/τ1 − L1) if the gate of the query bank is on, and else s.

    f2 is the same with the target bank, which `fit` needs. A gate is on if the raw top-1 of the query is in the top k
    of some row of its bank. Source: Wang et al. (DBNorm), EMNLP 2023, and the code released with it.
    """

    query_temperature: float | Literal["auto"] = QUERY_TEMPERATURE
    target_temperature: float | Literal["auto"] = TARGET_TEMPERATURE
    k: int = 1

    def __post_init__(self) -> None:
        self._dual()
        check_at_least("k", self.k, 1)

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedDualGated:
        _, _, given = check_banks(query_bank, targets, target_bank, 2, "for a softmax over them")
        extra = check_target_bank(given, "dual_dis", "dis")
        return FittedDualGated(self._dual().fit(query_bank, targets, extra), self.k, self.metric)

    def _dual(self) -> DualInvertedSoftmax:
        return DualInvertedSoftmax(self.query_temperature, self.target_temperature).under(self.metric)
