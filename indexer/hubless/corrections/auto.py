"""`auto`: the default. Sinkhorn at a temperature chosen by perplexity, shrunk as far as it is not to be trusted."""

from dataclasses import dataclass, replace
from functools import partial

from hubless.arrays import F32
from hubless.corrections.base import Vectors
from hubless.corrections.reliability import reliability
from hubless.corrections.sinkhorn import DualBankSinkhorn, SinkhornNormalisation
from hubless.corrections.softmax import FittedSoftmax
from hubless.corrections.temperature import default_perplexity
from hubless.sources import VectorSource, as_source, sample

SHRINKAGE_QUERIES = 100
"""An offset estimated from this many bank queries is trusted by half."""
RELIABLE = 0.3
"""Offsets on which two halves of the bank agree less than this are mostly noise: there may be no hubs."""
COMPARED_TARGETS = 2048
_SOFTEST = 1.25


@dataclass(frozen=True)
class Auto:
    """`dbsn` with a target bank, `sn` without, at the temperature of perplexity clip(0.1·b, 20, 100), and shrunk.

    Offsets are multiplied by b/(b + 100), as an estimate from few bank queries is noisy, and by min(1, ρ/0.3), with ρ
    the reliability of the offsets by two halves of the bank: without hubs the halves agree on nothing, and a correction
    could only do harm. The offsets are stored shrunk, so that strength 1 means "as `auto` thinks best".
    """

    def fit(self, query_bank: Vectors, targets: Vectors, target_bank: Vectors | None = None) -> FittedSoftmax:
        chosen, method = ("sn", SinkhornNormalisation) if target_bank is None else ("dbsn", DualBankSinkhorn)
        fitted = method().fit(query_bank, targets, target_bank)
        queries = fitted.bank.shape[0]
        some = sample(as_source(targets, "targets"), COMPARED_TARGETS)
        others = None if target_bank is None else sample(as_source(target_bank, "target bank"), COMPARED_TARGETS)
        agreed = reliability(fitted.bank, partial(_offsets, method, some, others))
        doubt = 1.0 if agreed is None else min(1.0, agreed / RELIABLE)
        why = (
            f"{'no' if target_bank is None else 'a'} target bank was given; "
            f"temperature {fitted.temperature:.4g} gives {fitted.extra['perplexity']:.3g} "
            "effective bank queries per target; "
            f"{queries} bank queries, so offsets are shrunk by {queries}/({queries}+{SHRINKAGE_QUERIES})"
        )
        if doubt < 1:
            why += f"; two halves of them hardly agree on the hubs, so they are shrunk by {doubt:.2g} again"
        extra = fitted.extra | {"reliability": agreed, "chosen": chosen, "why": why}
        return replace(fitted, shrinkage=doubt * queries / (queries + SHRINKAGE_QUERIES), extra=extra)


def _offsets(
    method: type[SinkhornNormalisation], targets: VectorSource, target_bank: VectorSource | None, half: VectorSource
) -> F32:
    """Offsets by half a bank, at half the perplexity of the whole: about the same temperature."""
    perplexity = max(default_perplexity(2 * half.shape[0]) / 2, _SOFTEST)
    return method(perplexity=perplexity).fit(half, targets, target_bank).offsets(targets)
