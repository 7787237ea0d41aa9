"""`auto`: the default. Sinkhorn at a temperature chosen by perplexity, made careful with small and narrow banks."""

from dataclasses import dataclass, replace

import numpy as np

from hubless.corrections.base import Rows
from hubless.corrections.prior import TargetPrior
from hubless.corrections.sinkhorn import DualBankSinkhorn, SinkhornNormalisation
from hubless.corrections.softmax import FittedSoftmax
from hubless.corrections.topic import find_topic
from hubless.vectors.sources import as_source, sample, sampled_rows

TOPIC_SAMPLE = 4096
"""How many targets the topic of the bank is found with."""
SHRINKAGE_QUERIES = 100
"""Trust an offset estimated from this many bank queries by half."""


@dataclass(frozen=True)
class Auto:
    """`dbsn` with a target bank, `sn` without, at the temperature of perplexity clip(0.1·b, 20, 100), times b/(b+100).

    Two rules make it careful, and neither needs labels:

    - An estimate from few bank queries is noisy, so offsets are shrunk by b/(b + 100). They are stored shrunk: strength
      1 means "as `auto` thinks best".
    - Bank queries of one topic are alike, and would push all of their topic down. The part of the offsets that only
      says so is taken out (see `hubless.corrections.topic`). It is linear in the target, so it folds.
    """

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedSoftmax:
        return self.fit_with_prior(query_bank, targets, target_bank, None)

    def fit_with_prior(
        self, query_bank: Rows, targets: Rows, target_bank: Rows | None, target_prior: TargetPrior | None
    ) -> FittedSoftmax:
        """As `fit`, with how often each target should be found.

        Its part of the offsets is shrunk like the rest: an offset tells how far a target is found more often than it
        should be, and that difference is what few queries measure badly.
        """
        chosen = "sn" if target_bank is None else "dbsn"
        method = SinkhornNormalisation() if target_bank is None else DualBankSinkhorn()
        fitted = method.fit_with_prior(query_bank, targets, target_bank, target_prior)
        queries = fitted.bank.shape[0]
        source = as_source(targets, "targets")
        some = sample(source, TOPIC_SAMPLE)
        offsets = fitted.offsets(some).astype(np.float64)
        if target_prior is not None:
            offsets += fitted.of_prior(target_prior.taken(sampled_rows(source.shape[0], TOPIC_SAMPLE)).values)
        topic = find_topic(fitted.bank, some, offsets)
        why = {
            "chosen": chosen,
            "likeness": topic.likeness,
            "locality": topic.locality,
            "topic_removed": topic.removed,
            "why": (
                f"{'no' if target_bank is None else 'a'} target bank was given; "
                f"temperature {fitted.temperature:.4g} gives {fitted.extra['perplexity']:.3g} "
                "effective bank queries per target; "
                f"{queries} bank queries, so offsets are shrunk by {queries}/({queries}+{SHRINKAGE_QUERIES}); "
                f"likeness {topic.likeness:.2f} of the bank's queries, so {topic.removed:.0%} of its topic is taken out"
            ),
        }
        shrinkage = queries / (queries + SHRINKAGE_QUERIES)
        return replace(fitted, shrinkage=shrinkage, topic=topic.direction, extra=fitted.extra | why)
