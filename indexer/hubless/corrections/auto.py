"""`auto`: the default. Sinkhorn at a temperature chosen by perplexity, shrunk for small banks. Needs no labels."""

from dataclasses import dataclass, replace

from hubless.corrections.base import Vectors
from hubless.corrections.sinkhorn import DualBankSinkhorn, SinkhornNormalisation
from hubless.corrections.softmax import FittedSoftmax

SHRINKAGE_QUERIES = 100
"""An offset estimated from this many bank queries is trusted by half."""


@dataclass(frozen=True)
class Auto:
    """`dbsn` with a target bank, `sn` without, at the temperature of perplexity clip(0.1·b, 20, 100), times b/(b+100).

    An estimate from few bank queries is noisy, hence the shrinkage; the offsets are stored shrunk, so that strength
    1 means "as `auto` thinks best".
    """

    def fit(self, query_bank: Vectors, targets: Vectors, target_bank: Vectors | None = None) -> FittedSoftmax:
        chosen = "sn" if target_bank is None else "dbsn"
        method = SinkhornNormalisation() if target_bank is None else DualBankSinkhorn()
        fitted = method.fit(query_bank, targets, target_bank)
        queries = fitted.bank.shape[0]
        why = {
            "chosen": chosen,
            "why": (
                f"{'no' if target_bank is None else 'a'} target bank was given; "
                f"temperature {fitted.temperature:.4g} gives {fitted.extra['perplexity']:.3g} "
                "effective bank queries per target; "
                f"{queries} bank queries, so offsets are shrunk by {queries}/({queries}+{SHRINKAGE_QUERIES})"
            ),
        }
        return replace(fitted, shrinkage=queries / (queries + SHRINKAGE_QUERIES), extra=fitted.extra | why)
