"""`is`, and the fitted form of `is`, `sn`, `dbsn` and `auto`: a bank, potentials of its queries, a temperature."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hubless.corrections.base import Details, Fitted, Rows, State, check_banks, targets_beside
from hubless.corrections.folded.heads import Heads
from hubless.corrections.supported import CLIENTS, AskedVectors, supported_sums
from hubless.corrections.temperature import AtTemperature, resolve_temperature
from hubless.errors import InputError
from hubless.kernels.forks import cached_property
from hubless.kernels.reductions import Softmax, log_sum_exp_each, products_with
from hubless.kernels.together import Fitting, fingerprints, in_step
from hubless.measures.repeats import copies_of, with_copies
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64
from hubless.vectors.sources import VectorSource, column_of, held, in_memory

_PRIOR_MEDIAN = "prior_median"
_HEADS = ("heads_queries", "heads_reached", "heads_most")
MULTIPLICITIES = "copies"
"""How often each query of a log was asked, in the state of a fit."""


class KnownSums(NamedTuple):
    """LSE_i(q_i·t/τ + a_i) of targets, (n,), and what tells these apart, (n,), ascending."""

    told: F64
    sums: F64

    def found(self, targets: VectorSource) -> F64 | None:
        """Return the sums of some of the targets (m, d), in any order, (m,); None if others are among them."""
        told = fingerprints(targets)
        places = np.searchsorted(self.told[:-1], told)
        return self.sums[places] if (self.told[places] == told).all() else None


@dataclass(frozen=True, repr=False)
class FittedSoftmax(Fitted):
    """h(t) = shrinkage · (τ · LSE_i(q_i·t/τ + a_i) − v·t), over the bank queries q_i.

    `is` has no potentials a. Sinkhorn methods need nothing else, as its last half step uses only a. `auto` shrinks,
    takes out a topic v, and lets `heads` keep their first answers. With a target prior this is the offset of a target
    that has the median of it; `of_number` gives what others have more. `extra` are further details. `known` are the
    sums over the bank, of the targets of the fit.
    """

    bank: VectorSource
    potentials: F64 | None
    temperature: float
    shrinkage: float = 1.0
    topic: F32 | None = None
    prior_median: float | None = None
    extra: Details = field(default_factory=dict)
    heads: Heads | None = None
    known: KnownSums | None = field(default=None, init=False)

    @property
    def details(self) -> Details:
        fixed = {
            "temperature": self.temperature,
            "shrinkage": self.shrinkage,
            "bank_queries": self.bank.shape[0],
        }
        return fixed | ({} if self.prior_median is None else {_PRIOR_MEDIAN: self.prior_median}) | self.extra

    def offsets(self, targets: Rows, advance: Advance = no_progress) -> F32:
        return self.offsets_each([self], targets, advance)[0]

    @cached_property
    def _softmax(self) -> Softmax:
        """Its columns are made once for all targets that are written."""
        return Softmax(self.bank, self.temperature, self.potentials)

    @staticmethod
    def offsets_each(fits: Sequence["FittedSoftmax"], targets: Rows, advance: Advance = no_progress) -> list[F32]:
        source = targets_beside(fits[0].bank, targets)
        softmaxes = [each._softmax for each in fits]
        sums = [found for each in fits if each.known and (found := each.known.found(source)) is not None]
        if column_of(fits[0].bank, CLIENTS) is not None:  # all are of one bank, or of parts of it
            sums = [supported_sums(each, source) for each in softmaxes]
        elif len(sums) < len(fits):
            sums = log_sum_exp_each(softmaxes, source, advance)
        else:
            advance(source.shape[0])
        return [each._offsets(source, of_bank) for each, of_bank in zip(fits, sums, strict=True)]

    def _offsets(self, source: VectorSource, sums: F64) -> F32:
        offsets = self.temperature * sums
        if self.topic is not None:
            offsets -= products_with(self.topic, source)
        offsets *= self.shrinkage
        if self.heads is not None:
            offsets = np.minimum(offsets, self.heads.limits(source))
        return offsets.astype(np.float32)

    @property
    def level(self) -> float:
        """τ·mean(a): a constant added to all potentials, which means nothing, adds this much to all offsets."""
        return 0.0 if self.potentials is None else self.temperature * float(self.potentials.mean())

    def of_number(self, values: F64) -> F64:
        """Return the part of a target prior (m,), −shrinkage·τ·log(value/median); 0 for NaN, the median."""
        if self.prior_median is None:
            raise InputError("target prior", "none, as the correction was fitted without one", "one")
        known = np.where(np.isnan(values), self.prior_median, values)
        return -self.shrinkage * self.temperature * np.log(known / self.prior_median)

    def state(self) -> State:
        stored: dict[str, NDArray[Any] | None] = {
            "bank": in_memory(self.bank),
            "potentials": self.potentials,
            CLIENTS: column_of(self.bank, CLIENTS),
            "topic": self.topic,
        }
        if (copies := copies_of(self.bank)).max() > 1:
            stored[MULTIPLICITIES] = copies.astype(np.int64)
        if self.heads is not None:
            stored |= {f"heads_{name}": array for name, array in vars(self.heads).items()}
        return {name: array for name, array in stored.items() if array is not None}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]], details: Details) -> Self:
        fixed = ("temperature", "shrinkage", "bank_queries", _PRIOR_MEDIAN)
        bank: VectorSource = held(state["bank"], "query bank")
        if CLIENTS in state:
            bank = AskedVectors(in_memory(bank), bank.name, np.asarray(state[CLIENTS]))
        if MULTIPLICITIES in state:
            bank = with_copies(bank, np.asarray(state[MULTIPLICITIES]))
        return cls(
            bank,
            state.get("potentials"),
            details["temperature"],
            details["shrinkage"],
            state.get("topic"),
            details.get(_PRIOR_MEDIAN),
            {key: value for key, value in details.items() if key not in fixed},
            Heads(*(state[name] for name in _HEADS)) if _HEADS[0] in state else None,
        )


def fitted_in_step(fits: Sequence[Fitting[FittedSoftmax]]) -> list[FittedSoftmax]:
    """Return what `in_step` does, with the sums that cost no more products."""
    done, kept = in_step(fits)
    if kept is not None:
        order = np.argsort(kept.told)
        for each, sums in zip(done, log_sum_exp_each([each._softmax for each in done], kept), strict=True):
            vars(each)["known"] = KnownSums(kept.told[order], sums[order])
    return done


@dataclass(frozen=True)
class InvertedSoftmax(AtTemperature):
    """Inverted softmax: h(t) = τ · LSE_{q∈Bq}(q·t/τ), 0.02 in the DBSN paper, or "auto" by perplexity over the bank.

    Source: Smith et al., ICLR 2017; with a query bank, Bogolin et al., "Cross Modal Retrieval with Querybank
    Normalisation" (QB-Norm), CVPR 2022, equation 1.
    """

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedSoftmax:
        bank, all_targets, _ = check_banks(query_bank, targets, target_bank, 2, "for a softmax over them")
        temperature = resolve_temperature(self.temperature, self.perplexity, bank, all_targets)
        return FittedSoftmax(bank, None, temperature.value, extra={"perplexity": temperature.perplexity})
