"""Weights of bank queries: paraphrases, and captions of one image, count as one query in part or whole."""

import numpy as np

from hubless.corrections.folded.rising import rise
from hubless.corrections.temperature import temperature_of
from hubless.vectors.arrays import F32, F64
from hubless.vectors.comparing import COSINE, comparison
from hubless.vectors.sources import VectorSource, in_memory, sample, sampled_rows

MOST_COMPARED = BLOCK = 2048
"""Each bank query is compared with so many, in blocks of as many: the product of a block with itself costs half."""
SPREAD, LEAST_SPREAD = 30.0, 5.0
"""An answer is spread over this many targets at most; over fewer, in proportion, of a sample of the targets."""
SHARE_OF_TARGETS = 0.1
"""And over no larger a share of them: answers of few targets would all be alike."""
SHARPER = 0.5
"""An answer is at most this sharp, as a share of the temperature of the correction."""
OTHER, SAME = 0.2, 0.5
"""Queries that are less alike are two, more alike they are one; between these, in part. So are answers."""
SPREAD_SEEN = 512
"""So many answers tell how far they are spread."""


def query_weights(
    bank: VectorSource,
    targets: VectorSource,
    near: F32,
    offsets: F32,
    temperature: float,
    share: float,
    *,
    sampled: bool = False,
    metric: str = COSINE,
) -> F64:
    """Return w_i = 1/Σ_k f(Σ_j √(p_ij·p_kj))·f(a(q_i − q̄, q_k − q̄)), (b,): one over the queries that are like i.

    The answer of a query is p_ij ∝ exp((q_i·t_j − h_j)/τ′), over targets (n, d) with offsets h (n,) so that a hub does
    not make answers alike. Two overlap by the Bhattacharyya coefficient, and queries are compared from their mean q̄
    by their `likeness` a. Of both f rises from 0 at 0.2 to 1 at 0.5. τ′ is half the given τ, or less: then an answer is
    spread over 30 targets, or a tenth of few. The targets are this `share` of all. Of a bank of more than 2,048, each
    query is compared with a sample; `sampled` gives the weights of this sample only. `near` are its similarities (k, n)
    to the targets.
    """
    count = bank.shape[0]
    if len(offsets) < 2 or not np.isfinite(offsets).all():
        return np.ones(count)
    few = sample(bank, MOST_COMPARED)
    compared = sampled_rows(count, MOST_COMPARED)
    queries = in_memory(few)
    scores = near - offsets
    spread = max(min(max(SPREAD * share, LEAST_SPREAD), SHARE_OF_TARGETS * len(offsets)), 1)
    sharp = min(SHARPER * temperature, temperature_of(scores[:SPREAD_SEEN], spread).value)
    plain = comparison(metric).plain
    mean = plain(queries).mean(axis=0)
    others = plain(queries) - mean
    known = _roots(scores, sharp)
    weighed = few if sampled else bank
    alike = np.empty(weighed.shape[0])
    done = 0
    for block in weighed.blocks(BLOCK):
        here = slice(done, done + len(block))
        roots = known[here] if len(known) == len(alike) else _roots(block @ in_memory(targets).T - offsets, sharp)
        same = rise(roots @ known.T, OTHER, SAME)
        same *= rise(likeness(plain(block) - mean, others, metric), OTHER, SAME)
        alike[here] = same.sum(axis=1)
        done += len(block)
    alike[slice(None) if sampled else compared] -= 1  # itself
    weights: F64 = 1 / (1 + (count - 1) / max(len(compared) - 1, 1) * np.maximum(alike, 0))
    return weights


def unevenness(weights: F64) -> float:
    """Return mean(w)·mean(1/w): 1 where each query is like as many others, large where few have most of the copies."""
    return float(weights.mean() * (1 / weights).mean())


def _roots(scores: F32, temperature: float) -> F32:
    """Return √p of the softmax p over each row."""
    scores -= scores.max(axis=1, keepdims=True)
    scores /= np.float32(2 * temperature)
    roots: F32 = np.exp(scores, out=scores)
    roots /= np.linalg.norm(roots, axis=1, keepdims=True)
    return roots


def likeness(rows: F32, others: F32, metric: str) -> F32:
    """Return how alike rows (m, d) and others (k, d) are, less their mean: (m, k), 1 for the same direction or place.

    It is a·b/(|a||b|) under metric cosine, and else 2a·b/(|a|² + |b|²), which says so of lengths, too.
    """
    lengths = [np.linalg.norm(each, axis=1) for each in (rows, others)]
    scale = np.multiply.outer(*lengths)
    if comparison(metric).takes_zero:
        scale = np.add.outer(*map(np.square, lengths)) / 2
    alike: F32 = rows @ others.T / np.maximum(scale, np.finfo(np.float32).tiny)
    return alike
