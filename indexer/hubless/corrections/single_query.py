"""`sinkhorn`: Sinkhorn normalisation with the live query among the bank."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from hubless.arrays import F32, F64, I64
from hubless.corrections.base import Details, State, Vectors, targets_beside
from hubless.corrections.query_time import Candidates
from hubless.corrections.sinkhorn import FIT_SAMPLE, PUBLISHED_ITERATIONS, SinkhornNormalisation
from hubless.corrections.softmax import FittedForRescoring
from hubless.kernels import log_sum_exp
from hubless.sources import in_memory
from hubless.streaming import Advance, no_progress

SAMPLE = 1024
"""So many targets stand for all that are no candidates."""


@dataclass(frozen=True)
class JoinedSinkhorn:
    """s + τ·c(t), where c comes from Sinkhorn between [bank; query] and the targets.

    The candidates' columns are solved anew with the query as one more row, beginning at the potentials of the bank
    alone. The columns of all other targets stay as they are: the bank's mass on them is known, the query's is
    estimated from a sample of them. With all targets as candidates it is the whole problem.

    With P_ij = exp(S_ij/τ + c_j − r_i), the shares of the bank's mass (each row of P sums to 1 over all targets), it
    is a matter of two scalings, u on rows and v on columns: nothing over- or underflows, whatever τ is.

    Parameters
    ----------
    bank : (b, d)
    columns : (n,) τ·c of the bank alone
    rows : (b,) r_i = LSE_j(S_ij/τ + c_j), over all targets
    sample, sample_rows : some targets and their row numbers
    temperature : τ
    iterations : further Sinkhorn steps
    """

    bank: F32
    columns: F32
    rows: F32
    sample: F32
    sample_rows: I64
    temperature: float
    iterations: int

    def scores(self, query: F32, candidates: Candidates) -> F64:
        columns = self.columns[candidates.rows]
        shares = candidates.vectors() @ self.bank.T  # (c, b)
        shares += columns[:, np.newaxis]
        shares *= np.float32(1 / self.temperature)
        shares -= self.rows
        np.exp(shares, out=shares)
        rest = np.maximum(0, 1 - shares.sum(axis=0))  # (b,) the bank's mass on the other targets
        folded = candidates.similarities.astype(np.float64) + columns
        of_query = np.exp((folded - folded.max()) / self.temperature)
        rest_of_query = self._rest_of_query(query, candidates.rows, folded.max())
        row_mass, column_mass = 1 / (len(self.bank) + 1), 1 / len(self.columns)
        v = np.ones(len(columns))
        for _ in range(self.iterations):
            u = row_mass / (rest + v.astype(np.float32) @ shares)
            of_all = rest_of_query + of_query @ v
            v = column_mass / (shares @ u.astype(np.float32) + of_query * row_mass / of_all)
        scores: F64 = folded + self.temperature * np.log(v)
        return scores

    def _rest_of_query(self, query: F32, rows: I64, largest: float) -> float:
        """Σ exp((s_j + τ·c_j − largest)/τ) over the targets that are no candidates."""
        others = ~np.isin(self.sample_rows, rows)
        if not others.any():
            return 0.0
        folded = self.sample[others] @ query + self.columns[self.sample_rows[others]]
        exponents = np.minimum(0, (folded.astype(np.float64) - largest) / self.temperature)
        return float(np.exp(exponents).mean()) * (len(self.columns) - len(rows))

    def arrays(self) -> State:
        # the bank is the fitted correction's
        return {"columns": self.columns, "rows": self.rows, "sample": self.sample, "sample_rows": self.sample_rows}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], details: Details) -> Self:
        return cls(
            arrays["bank"],
            arrays["columns"],
            arrays["rows"],
            arrays["sample"],
            arrays["sample_rows"],
            details["temperature"],
            details["iterations"],
        )


class FittedSingleQuery(FittedForRescoring):
    """The offsets of `sn`, which find the candidates, and the sums of the bank's rows."""

    def query_time(self, targets: Vectors, advance: Advance = no_progress) -> JoinedSinkhorn:
        bank, temperature = self.softmax.bank, self.softmax.temperature
        source = targets_beside(bank, targets)
        offsets = self.softmax.offsets(source, advance)
        columns = (offsets.mean(dtype=np.float64) - offsets).astype(np.float32)
        rows = log_sum_exp(source, bank, temperature, columns.astype(np.float64) / temperature)
        count = source.shape[0]
        some = np.sort(np.random.default_rng(0).choice(count, min(SAMPLE, count), replace=False))
        return JoinedSinkhorn(
            in_memory(bank),
            columns,
            rows.astype(np.float32),
            source.take(some),
            some,
            temperature,
            self.softmax.extra["iterations"],
        )


@dataclass(frozen=True)
class SingleQuerySinkhorn:
    """Single-query Sinkhorn: the query's row of the Sinkhorn plan between [query bank; query] and the targets.

    c_j = −log n − log(Σ_{i∈Bq} exp(S_ij/τ + a_i) + exp(s_j/τ + a)), ranked by s + τ·c. For given potentials a_i of the
    bank, the query's own term does not change its ranking: exp(x)/(Z + exp(x)) rises with x − log Z. So `sinkhorn`
    differs from `sn` only by what one more row in b does to the others, and `sn` costs nothing per query.

    Parameters
    ----------
    temperature : τ in units of similarity, or "auto" for the one of the given perplexity (published: T = 1/τ)
    perplexity : effective bank queries per target, for "auto"; None is clip(0.1·b, 20, 100)
    iterations : Sinkhorn steps in fitting, and again with each query (published: 4 in the example of the paper)

    Source: Yakovlev et al., "Sinkhorn Transformations for Single-Query Postprocessing in Text-Video Retrieval", SIGIR
    2023, section 3.
    """

    temperature: float | Literal["auto"] = "auto"
    perplexity: float | None = None
    iterations: int = PUBLISHED_ITERATIONS

    def __post_init__(self) -> None:
        self._sinkhorn()

    def fit(self, query_bank: Vectors, targets: Vectors, target_bank: Vectors | None = None) -> FittedSingleQuery:
        return FittedSingleQuery(self._sinkhorn().fit(query_bank, targets, target_bank))

    def _sinkhorn(self) -> SinkhornNormalisation:
        return SinkhornNormalisation(self.temperature, self.perplexity, self.iterations, FIT_SAMPLE)
