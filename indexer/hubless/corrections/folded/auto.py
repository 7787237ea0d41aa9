"""`auto`: the default. Sinkhorn at a temperature chosen by perplexity, made careful with small and narrow banks."""

from dataclasses import dataclass, replace

import numpy as np

from hubless.corrections.base import Rows
from hubless.corrections.folded.distinct import crowdedness, crowding, distinct_queries
from hubless.corrections.folded.outlying import find_outlying
from hubless.corrections.folded.reliability import MOST_TRUSTED, trusted_share
from hubless.corrections.folded.sinkhorn import DualBankSinkhorn, SinkhornNormalisation
from hubless.corrections.folded.softmax import FittedSoftmax
from hubless.corrections.folded.topic import NO_TOPIC, find_topic
from hubless.corrections.prior import TargetPrior
from hubless.corrections.temperature import default_perplexity
from hubless.kernels.coupling import Fitting, in_step
from hubless.kernels.reductions import products_with
from hubless.vectors.arrays import F64
from hubless.vectors.sources import ArrayVectors, VectorSource, as_source, in_memory, sample, sampled_rows

SAMPLE = 4096
"""Number of targets that tell the topic of the bank, its near-duplicates, and outlying offsets."""
SHRINKAGE_QUERIES = 100
"""Trust an offset estimated from this many bank queries by half."""
FEWEST = 4
"""With fewer bank queries the perplexity stays."""


@dataclass(frozen=True)
class Auto:
    """`dbsn` with a target bank, `sn` without, at the temperature of perplexity clip(0.1·b, 20, 100), times b/(b+100).

    Four rules make it careful, and none needs labels: shrink less if halves of the bank agree (`reliability`), count
    near-duplicates once in b, and in the perplexity of a crowded bank (`distinct`), do not shrink outlying offsets such
    as a planted hub's (`outlying`), and take out what only says which topic the bank is about (`topic`). All is folded:
    strength 1 means "as `auto` thinks best".
    """

    takes_prior = True
    sees_vectors = True

    def fit(
        self,
        query_bank: Rows,
        targets: Rows,
        target_bank: Rows | None = None,
        target_prior: TargetPrior | None = None,
    ) -> FittedSoftmax:
        """Fit it. What a prior adds is shrunk like the rest: few queries measure all of an offset badly."""
        return in_step([self.fitting(query_bank, targets, target_bank, target_prior)])[0]

    def fitting(
        self, query_bank: Rows, targets: Rows, target_bank: Rows | None, target_prior: TargetPrior | None
    ) -> Fitting[FittedSoftmax]:
        chosen = "sn" if target_bank is None else "dbsn"
        method = SinkhornNormalisation() if target_bank is None else DualBankSinkhorn()
        fitted = yield from method.fitting(query_bank, targets, target_bank, target_prior)
        source = as_source(targets, "targets")
        some = sample(source, SAMPLE)
        prior = None
        if target_prior is not None:
            prior = target_prior.taken(sampled_rows(source.shape[0], SAMPLE)).values
        offsets = _offsets(fitted, some, prior)
        crowded = _crowding(fitted, some, offsets, target_bank) if self.sees_vectors else 0.0
        perplexity = _perplexity(fitted, some, offsets, crowded)
        if perplexity is not None:
            method = replace(method, perplexity=perplexity)
            fitted = yield from method.fitting(query_bank, targets, target_bank, target_prior)
            offsets = _offsets(fitted, some, prior)
        topic = find_topic(fitted.bank, some, offsets) if self.sees_vectors else NO_TOPIC
        if topic.direction is not None:
            offsets -= products_with(topic.direction, some)
        effective = (
            f"temperature {fitted.temperature:.4g} gives {fitted.extra['perplexity']:.3g} effective bank queries"
        )
        narrow = (
            f"likeness {topic.likeness:.2f} of the bank's queries, so {topic.removed:.0%} of its topic is taken out"
        )
        told = {
            "chosen": chosen,
            "likeness": topic.likeness,
            "linearity": topic.linearity,
            "locality": topic.locality,
            "topic_removed": topic.removed,
        }
        why = (f"{'no' if target_bank is None else 'a'} target bank was given", f"{effective} per target")
        careful = shrunk(replace(fitted, topic=topic.direction), some, offsets, crowded)
        if target_prior is not None:  # what is popular by right is outlying
            careful = replace(careful, outlying=None)
        told["why"] = "; ".join((*why, careful.extra["why"], narrow))
        return replace(careful, extra=careful.extra | told)


def _offsets(fitted: FittedSoftmax, some: VectorSource, prior: F64 | None) -> F64:
    offsets = fitted.offsets(some).astype(np.float64) - fitted.level
    return offsets if prior is None else offsets + fitted.of_prior(prior)


def _perplexity(fitted: FittedSoftmax, some: VectorSource, offsets: F64, crowded: float) -> float | None:
    """Return the perplexity for a crowded bank, where near-duplicates count once in it, too. None: it stays."""
    count, weight = fitted.bank.shape[0], crowdedness(crowded)
    if not weight or count < FEWEST:
        return None
    distinct = distinct_queries(fitted.bank, some, offsets.astype(np.float32), crowded)
    usual = default_perplexity(count)
    counted_once = min(default_perplexity(round(distinct)) * count / distinct, count / 2)
    return float(usual * (counted_once / usual) ** weight)


def _crowding(fitted: FittedSoftmax, some: VectorSource, offsets: F64, target_bank: Rows | None) -> float:
    """Return the crowding of the bank over both kinds of targets: what its queries want may be in the target bank."""
    if target_bank is None:
        return crowding(fitted.bank, some, offsets.astype(np.float32))
    more = sample(as_source(target_bank, "target bank"), SAMPLE)
    both = np.concatenate([offsets, fitted.offsets(more) - fitted.level]).astype(np.float32)
    return crowding(fitted.bank, ArrayVectors(np.concatenate([in_memory(some), in_memory(more)]), "targets"), both)


def shrunk(fitted: FittedSoftmax, some: VectorSource, offsets: F64, crowded: float) -> FittedSoftmax:
    """The same, shrunk by some targets and their offsets, less topic and `fitted.level`; `extra` says by how much."""
    queries = fitted.bank.shape[0]
    distinct = distinct_queries(fitted.bank, some, offsets.astype(np.float32), crowded)
    outlying = find_outlying(offsets)
    share = 0.0 if outlying is None else float(np.mean(offsets > outlying.low))
    shrinkage = distinct / (distinct + SHRINKAGE_QUERIES)
    by_halves = 0.0
    if shrinkage < MOST_TRUSTED:  # near-duplicates in both halves agree anyway
        by_halves = distinct / queries * trusted_share(fitted.bank, some, fitted.temperature)
    counted = f"{queries} bank queries" if distinct == queries else f"{queries} bank queries, {distinct:.0f} distinct"
    shrunk_by = f"{distinct:.0f}/({distinct:.0f}+{SHRINKAGE_QUERIES})"
    if by_halves > shrinkage:
        shrinkage, shrunk_by = by_halves, f"{by_halves:.2f}, as halves of the bank agree"
    told = {
        "distinct_queries": distinct,
        "crowding": crowded,
        "outlying": share,
        "why": f"{counted}, so offsets are shrunk by {shrunk_by}, but for the {share:.2%} of them that are outlying",
    }
    return replace(fitted, shrinkage=shrinkage, outlying=outlying, extra=fitted.extra | told)
