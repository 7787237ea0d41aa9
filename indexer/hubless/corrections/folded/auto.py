"""`auto`: the default. Sinkhorn at a temperature chosen by perplexity, made careful where a bank tells little."""

from dataclasses import dataclass, replace

import numpy as np

from hubless.corrections.base import Rows, SeesVectors
from hubless.corrections.folded.counted_once import MOST_COMPARED, query_weights, unevenness
from hubless.corrections.folded.crowding import crowding
from hubless.corrections.folded.heads import LEAST_COPIES, asked_at_hubs, find_heads
from hubless.corrections.folded.rising import rise
from hubless.corrections.folded.sinkhorn import DualBankSinkhorn, SinkhornNormalisation
from hubless.corrections.folded.softmax import FittedSoftmax, fitted_in_step
from hubless.corrections.folded.topic import NO_TOPIC, BankTopic, find_topic
from hubless.corrections.target_columns import TargetColumn
from hubless.corrections.temperature import default_perplexity
from hubless.kernels.coupling import Pass
from hubless.kernels.reductions import largest_in_rows
from hubless.kernels.similarities import products
from hubless.kernels.together import Fitting
from hubless.measures.occurrence import k_occurrence, unexplained_variation
from hubless.measures.repeats import copies_of, each_once
from hubless.vectors.arrays import F32, F64
from hubless.vectors.sources import VectorSource, sample, sampled_rows

_SAMPLE = 4096
"""Number of targets that tell the topic of the bank, what its queries answer, and whether there are hubs."""
SHRINKAGE_QUERIES = 100
"""Trust an offset estimated from this many bank queries by half."""
K_OCCURRENCE, SHARE_FOUND = 10, 0.1
"""Hubs are told by so many first targets of each bank query, or by this share of fewer targets."""
NO_HUBS, HUBS = 0.1, 0.2
"""Below the first overdispersion nothing is corrected, above the second all. Measured: 0.09 to 0.11 on data without
hubs, 0.2 and more on others."""
FAIR, CROWDED = 0.25, 0.4
"""Between these two values of crowding, queries that are alike come to count as one. Measured: up to 0.28 with one
query a target, 0.43 to 0.93 with five captions an image."""
EVEN, UNEVEN = 3.0, 4.5
"""Likewise of unevenness. Measured: up to 2.9 with fair banks, 3.4 to 32 with logs of paraphrases."""
WIDE, NARROW = 0.45, 0.6
"""And of the likeness of the bank's queries. Measured: up to 0.43 with all topics, 0.44 to 0.81 with one of five."""
_FEWEST = 4
"""Fewer bank queries all count."""


@dataclass(frozen=True)
class Auto(SeesVectors):
    """`dbsn` with a target bank, `sn` without, at the temperature of perplexity clip(0.1·b, 20, 100), shrunk.

    Three rules make it careful, and none needs labels. In a crowded, uneven or narrow bank queries that are alike count
    as one (`crowding`, `counted_once`), also in b, and what a log asks most keeps its first answer (`heads`); offsets
    are shrunk by b/(b + 100), and to nothing where there are no hubs; and what only says which topic the bank is about
    is taken out (`topic`). All is folded: strength 1 means "as `auto` thinks best".
    """

    takes_prior = True
    sees_vectors = True

    def fit(
        self,
        query_bank: Rows,
        targets: Rows,
        target_bank: Rows | None = None,
        target_prior: TargetColumn | None = None,
    ) -> FittedSoftmax:
        """Fit it. What a prior adds is shrunk like the rest: few queries measure all of an offset badly."""
        return fitted_in_step([self.fitting(query_bank, targets, target_bank, target_prior)])[0]

    def fitting(
        self, query_bank: Rows, targets: Rows, target_bank: Rows | None, target_prior: TargetColumn | None
    ) -> Fitting[FittedSoftmax]:
        """Fit Sinkhorn, then shrink its offsets to what the bank can tell. Parameters are those of `fit`.

        The offsets lose the topic of the bank, and keep what the heads of a log rightly find. They shrink by
        b/(b + 100), b being the bank queries that count, and by the part of the raw hubness that chance explains.
        """
        method = SinkhornNormalisation() if target_bank is None else DualBankSinkhorn()
        given, source, columns = method.sides(query_bank, targets, target_bank)
        bank = each_once(given, self.metric)
        asked = copies_of(bank)
        # what follows looks at a fit on a sample of many targets, as another one may come of it
        fitting = method.fitting(bank, targets, target_bank, target_prior)
        fitted, asked_for = _begun(fitting)
        few = sample(bank, MOST_COMPARED)
        some = sample(columns, _SAMPLE)
        seen = sample(source, _SAMPLE)
        near = products(few, some)
        of_seen = _offsets(fitted, seen)

        def topic_by(fitted: FittedSoftmax, offsets: F64) -> BankTopic:
            if target_prior is not None:
                prior = target_prior.values[sampled_rows(source.shape[0], _SAMPLE)]
                offsets = offsets - fitted.temperature * np.log(prior)
            return find_topic(bank, seen, offsets)

        topic = topic_by(fitted, of_seen) if self.sees_vectors else NO_TOPIC
        queries = distinct = float(bank.shape[0])
        crowded = 0.0
        uneven = 1.0
        alike = np.ones(bank.shape[0])
        at_hubs = 0.0
        if self.sees_vectors and queries >= _FEWEST:
            answered = (of_seen if columns is source else _offsets(fitted, some)).astype(np.float32)
            crowded = crowding(few, near, answered, self.metric)
            if asked.max() >= LEAST_COPIES:
                at_hubs = asked_at_hubs(sample(bank, _SAMPLE), asked[sampled_rows(len(asked), _SAMPLE)], some, answered)
            seen_by = some, near, answered, fitted.temperature, some.shape[0] / columns.shape[0]
            apart = query_weights(bank, *seen_by, sampled=True, metric=self.metric)
            uneven = unevenness(apart)
            narrow = topic.apart * rise(topic.likeness, WIDE, NARROW)
            logged = rise(uneven, EVEN, UNEVEN)
            if once := float(max(rise(crowded, FAIR, CROWDED), logged, narrow)):
                if few is not bank:
                    apart = query_weights(bank, *seen_by, metric=self.metric)
                weights, alike = apart**once, apart**-logged
                distinct = float(weights.sum())
                counted_once = min(default_perplexity(distinct) * queries / distinct, queries / 2)
                method = replace(method, perplexity=counted_once)
                fitted = yield from method.fitting(bank, targets, target_bank, target_prior, weights)
                topic = topic_by(fitted, _offsets(fitted, seen))
                asked_for = None
        if asked_for is not None:
            fitted = yield from _gone_on(fitting, asked_for)
        hubs = overdispersion(near)
        there = float(rise(hubs, NO_HUBS, HUBS))
        told = {
            "chosen": "sn" if target_bank is None else "dbsn",
            "crowding": crowded,
            "unevenness": uneven,
            "distinct_queries": distinct,
            "overdispersion": hubs,
            "likeness": topic.likeness,
            "linearity": topic.linearity,
            "locality": topic.locality,
            "clumping": topic.clumping,
            "topic_removed": topic.removed,
            "asked_at_hubs": at_hubs,
        }
        why = [
            f"{'no' if target_bank is None else 'a'} target bank was given",
            f"temperature {fitted.temperature:.4g} gives {fitted.extra['perplexity']:.3g} effective bank queries per "
            "target",
            f"{queries:.0f} bank queries of crowding {crowded:.2f}, unevenness {uneven:.2g} and likeness "
            f"{topic.likeness:.2f} count as {distinct:.0f}",
            f"so offsets are shrunk by {distinct:.0f}/({distinct:.0f}+{SHRINKAGE_QUERIES})",
            f"overdispersion {hubs:.2f} of the raw answers, so {100 * there:.0f} % of that is left",
            f"linearity {topic.linearity:.2f} of the offsets, so {100 * topic.removed:.0f} % of the bank's topic is "
            "taken out",
        ]
        careful = replace(fitted, topic=topic.direction, shrinkage=there * distinct / (distinct + SHRINKAGE_QUERIES))
        heads = None
        if target_prior is None:
            heads = find_heads(bank, asked, alike, at_hubs, source, careful.offsets)
        kept = 0 if heads is None else len(heads.queries)
        why.append(
            f"what is asked most lies at hubs by {at_hubs:.1f} standard errors: {kept} of its first answers stay"
        )
        return replace(careful, heads=heads, extra=fitted.extra | told | {"heads": kept, "why": "; ".join(why)})


def _begun(fitting: Fitting[FittedSoftmax]) -> tuple[FittedSoftmax, Pass | None]:
    """Return a fit, or what it is before its first pass over all targets, and this pass."""
    try:
        asked = next(fitting)
    except StopIteration as end:
        return end.value, None
    return FittedSoftmax(asked.bank, asked.potentials, asked.temperature), asked


def _gone_on(fitting: Fitting[FittedSoftmax], asked: Pass) -> Fitting[FittedSoftmax]:
    """Return the fit whose pass was asked for."""
    try:
        while True:
            asked = fitting.send((yield asked))
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def _offsets(fitted: FittedSoftmax, some: VectorSource) -> F64:
    return fitted.offsets(some).astype(np.float64) - fitted.level


def overdispersion(near: F32) -> float:
    """Return (variance − mean)/mean² of N_10, how often queries find a target among ten, by similarities (b, n).

    It is the squared coefficient of variation that chance does not explain: 0 where all targets are found alike.
    """
    count = near.shape[1]
    finds = largest_in_rows(near, max(1, min(K_OCCURRENCE, int(SHARE_FOUND * count))))
    return unexplained_variation(k_occurrence(finds, count))
