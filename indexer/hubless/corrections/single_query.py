"""`sinkhorn`: Sinkhorn normalisation with the live query among the bank, as the SIGIR paper has it."""

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from hubless.corrections.base import Details, Rows, State, StateArrays, check_banks, targets_beside
from hubless.corrections.folded.sinkhorn import PUBLISHED_ITERATIONS
from hubless.corrections.folded.softmax import FittedSoftmax
from hubless.corrections.query_time import Candidates, StoredFields
from hubless.corrections.temperature import AtTemperature, resolve_temperature
from hubless.kernels.reductions import Softmax, log_sum_exp, log_sum_exp_each
from hubless.kernels.similarities import similarities
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64, I64, check_at_least
from hubless.vectors.sources import VectorSource, in_memory, sample, sampled_rows

_FIT_SAMPLE = 4096
"""Number of targets that the steps of the bank are computed on."""
_SAMPLE = 1024
"""This many targets stand for all that are no candidates."""


@dataclass(frozen=True)
class JoinedSinkhorn(StoredFields):
    """s + τ·c(t), where c comes from Sinkhorn between [bank; query] and the targets.

    The candidates' columns are solved anew with the query as one more row; all others stay as the bank alone has them
    at that step, and a sample of them gives the query's mass. With all targets as candidates this is the whole problem.

    `columns` (k, n) are c of the bank alone after each step, `rows` (k − 1, b) LSE_j(S_ij/τ + c_j) over all targets.
    """

    bank: F32
    columns: F32
    rows: F64
    sample: F32
    sample_rows: I64
    temperature: float

    def scores(self, query: F32, candidates: Candidates) -> F64:
        own = candidates.similarities.astype(np.float64) / self.temperature
        known = self.columns[:, candidates.rows].astype(np.float64)
        c = -np.logaddexp(-known[0], own)
        if len(self.rows):
            shares = _Shares(candidates.vectors(), self.bank, self.temperature, known[0], self.rows[0])
            rest_of_query = self._rest_of_query(query, candidates.rows)
            complete = len(candidates.rows) == self.columns.shape[1]
            for row_sums, of_bank, rest_of_own in zip(self.rows, known, rest_of_query, strict=False):
                on_candidates, now = shares.over_candidates(of_bank, c)
                rest = np.full(len(row_sums), -np.inf) if complete else _log_difference(row_sums, on_candidates)
                r = -np.logaddexp(rest, now)
                r_own = -np.logaddexp(np.logaddexp.reduce(own + c), rest_of_own)
                c = -np.logaddexp(shares.over_bank(r), own + r_own)
        scores: F64 = self.temperature * (own + c)
        return scores

    def _rest_of_query(self, query: F32, rows: I64) -> F64:
        """LSE_j(s_j/τ + c_j) over the targets that are no candidates, after each step, from the sample."""
        others = ~np.isin(self.sample_rows, rows)
        if not others.any():
            return np.full(len(self.columns), -np.inf)
        own = (self.sample[others] @ query).astype(np.float64) / self.temperature
        exponents = own + self.columns[:, self.sample_rows[others]]
        scale = (self.columns.shape[1] - len(rows)) / np.count_nonzero(others)
        sums: F64 = np.logaddexp.reduce(exponents, axis=1) + np.log(scale)
        return sums


class _Shares:
    """exp(S_ij/τ + α_j − β_i) of c candidates and b bank queries: each row of the bank sums to 1 over all targets."""

    def __init__(self, candidates: F32, bank: F32, temperature: float, alpha: F64, beta: F64) -> None:
        exponents = (candidates @ bank.T).astype(np.float64)
        exponents /= temperature
        exponents += alpha[:, np.newaxis]
        exponents -= beta
        self._shares = np.exp(exponents, out=exponents)
        self._alpha, self._beta = alpha, beta

    def over_candidates(self, *columns: F64) -> list[F64]:
        """LSE_j(S_ij/τ + c_j) of each bank query over the candidates, for each c (c,): (b,)."""
        factors, shifts = zip(*(_factors(c - self._alpha) for c in columns), strict=True)
        with np.errstate(divide="ignore"):
            sums = np.log(np.stack(factors) @ self._shares)
        return [line + shift + self._beta for line, shift in zip(sums, shifts, strict=True)]

    def over_bank(self, rows: F64) -> F64:
        """LSE_i(S_ij/τ + r_i) of each candidate over the bank, for r (b,): (c,)."""
        factors, shift = _factors(rows + self._beta)
        with np.errstate(divide="ignore"):
            sums: F64 = np.log(self._shares @ factors) + shift - self._alpha
        return sums


def _factors(exponents: F64) -> tuple[F64, float]:
    shift = float(exponents.max())
    return np.exp(exponents - shift), shift


def _log_difference(whole: F64, part: F64) -> F64:
    """log(exp(whole) − exp(part)): −∞ where rounding leaves nothing."""
    share = np.minimum(0.0, part - whole)
    with np.errstate(divide="ignore"):
        rest: F64 = whole + np.log(-np.expm1(share))
    return rest


@dataclass(frozen=True, repr=False)
class FittedSingleQuery(FittedSoftmax):
    """The bank, and its potentials r (k − 1, b) after each step but the last: their last line gives the offsets."""

    steps: F64 = field(default_factory=lambda: np.empty((0, 0)))

    def query_time(self, targets: Rows, advance: Advance = no_progress) -> JoinedSinkhorn:
        bank = self.bank
        temperature = self.temperature
        source = targets_beside(bank, targets)
        over_bank = [Softmax(bank, temperature, potentials) for potentials in (None, *self.steps)]
        columns = -np.stack(log_sum_exp_each(over_bank, source, advance))
        rows = log_sum_exp_each([Softmax(source, temperature, c) for c in columns[:-1]], bank)
        some = sampled_rows(source.shape[0], _SAMPLE)
        return JoinedSinkhorn(
            in_memory(bank),
            columns.astype(np.float32),
            np.reshape(rows, self.steps.shape),
            source.take(some),
            some,
            temperature,
        )

    def state(self) -> State:
        return super().state() | {"steps": self.steps}

    @classmethod
    def from_state(cls, state: StateArrays, details: Details) -> Self:
        return replace(super().from_state(state, details), steps=state["steps"])


def bank_steps(bank: VectorSource, targets: VectorSource, temperature: float, iterations: int, total: int) -> F64:
    """Return row potentials r (k − 1, b) of the bank alone after each step but the last, by a sample of the targets."""
    plan = similarities(bank, targets, temperature)
    c = -log_sum_exp(bank, None, targets, temperature)
    more = np.log(total / targets.shape[0])
    steps = np.empty((iterations - 1, bank.shape[0]))
    for step in steps:
        over_targets, over_bank = plan.step(c)
        step[:] = -over_targets - more
        c = more - over_bank
    return steps


@dataclass(frozen=True)
class SingleQuerySinkhorn(AtTemperature):
    """Single-query Sinkhorn: the live query's row after k Sinkhorn steps on [query bank; query] × targets.

    With A⁰_ij = s_ij/τ, one step subtracts from A its log-sum-exp over each column, then that over each row. After one
    step it ranks as `is` does. It is not `sn` with one more row: `sn` begins with the rows. The paper states neither T
    = τ nor k. Source: Yakovlev et al., "Sinkhorn Transformations for Single-Query Postprocessing in Text-Video
    Retrieval", SIGIR 2023, section 3.
    """

    iterations: int = PUBLISHED_ITERATIONS

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("iterations", self.iterations, 1)

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedSingleQuery:
        bank, all_targets, _ = check_banks(query_bank, targets, target_bank, 2, "for a softmax over them")
        temperature = resolve_temperature(self.temperature, self.perplexity, bank, all_targets)
        some = sample(all_targets, _FIT_SAMPLE)
        steps = bank_steps(bank, some, temperature.value, self.iterations, all_targets.shape[0])
        extra = {
            "perplexity": temperature.perplexity,
            "iterations": int(self.iterations),
            "fitted_on": some.shape[0],
        }
        potentials = steps[-1] if len(steps) else None
        return FittedSingleQuery(bank, potentials, temperature.value, extra=extra, steps=steps)
