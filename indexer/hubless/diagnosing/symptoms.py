"""Signs that queries or targets are broken, which no correction mends."""

from dataclasses import dataclass

import numpy as np

from hubless.builder.banks.default_strength import are_unequal, lengths_of
from hubless.corrections.banks.bank_checks import ENOUGH_TO_COMPARE, LIKE_TARGETS, is_unusable
from hubless.measures.bank_record import BankRecord
from hubless.measures.likeness import told_apart
from hubless.measures.occurrence import most_found
from hubless.vectors.arrays import F32, I64
from hubless.vectors.comparing import COSINE, comparison
from hubless.vectors.sources import ChangedVectors, VectorSource, in_memory, sample

LOOKED_AT = 2048
"""So many vectors of a side are looked at."""
SAME_QUERIES, SAME_TARGETS = 0.5, 0.1
"""Texts were cut off or lost where more of the queries are one and the same, or more of the targets repeat others. Logs
repeat most of their queries, but none of them is asked so often."""
ONE_DIRECTION = 0.95
"""Mean cosine between different vectors; models with the most crowded vectors have 0.9."""
ELSEWHERE = 0.95
"""AUC from which on live queries and bank are two clouds."""
LONG = 0.85
"""Share of the targets that are shorter than the most found ones, from which on length decides. Of a recommender under
cosine it is 0.92 to 0.95; of lengths that mean nothing, on 13 sets, below 0.76."""
_MOST_FOUND = 30
_LENGTHS = "wrong-metric"
_OF_LENGTHS = {
    COSINE: "The targets found most have the longest vectors. If lengths say what is popular, as in recommenders, take "
    "dot, or give clicks.",
    "dot": "The targets found most are the longest vectors. In a recommender lengths say what is popular: keep dot. "
    "Else ask whether cosine is the metric of the model.",
}


@dataclass(frozen=True)
class Symptom:
    """A sign of broken vectors: its name, a heading of docs/symptoms.md, and what it means."""

    name: str
    sentence: str


def find_symptoms(
    bank: VectorSource,
    targets: VectorSource,
    metric: str,
    record: BankRecord,
    found: I64,
    live: F32 | None = None,
    seed: int = 0,
) -> list[Symptom]:
    """Return what speaks for broken vectors. `found` (n,) is how often each target is found raw."""
    plain = comparison(metric).plain
    queries = plain(in_memory(sample(bank, LOOKED_AT, seed)))
    symptoms = []
    if is_unusable(record):
        symptoms.append(
            Symptom("wrong-model", "Queries are no nearer to targets than random vectors: another model made them.")
        )
    different, asked = np.unique(queries, axis=0, return_counts=True)
    most = asked.max() / len(queries)
    symptoms += _of_vectors("query", metric, different, most, SAME_QUERIES, "are one and the same")
    of_targets = find_symptoms_of_targets(targets, metric, found, seed)
    symptoms += [each for each in of_targets if each.name != _LENGTHS]
    if record.apart_from_targets is not None and record.apart_from_targets <= LIKE_TARGETS:
        sentence = "Queries lie where the targets lie. If the model wants a prefix for queries, it is missing."
        symptoms.append(Symptom("missing-prefix", sentence))
    enough = live is not None and min(len(live), len(queries)) >= ENOUGH_TO_COMPARE
    if live is not None and enough and told_apart(_shuffled(plain(live), seed), _shuffled(queries, seed)) >= ELSEWHERE:
        why = "another prefix or model, or other questions"
        symptoms.append(Symptom("missing-prefix", f"Live queries lie apart from the query bank: {why}."))
    return symptoms + [each for each in of_targets if each.name == _LENGTHS]


def find_symptoms_of_targets(targets: VectorSource, metric: str, found: I64, seed: int = 0) -> list[Symptom]:
    """Return what speaks for broken vectors of targets alone. `found` (n,) is how often each is found raw."""
    items = comparison(metric).plain(in_memory(sample(targets, LOOKED_AT, seed)))
    once = np.unique(items, axis=0)
    symptoms = _of_vectors("target", metric, once, 1 - len(once) / len(items), SAME_TARGETS, "repeat others")
    given = targets.source if metric == COSINE and isinstance(targets, ChangedVectors) else targets  # before they are 1
    if metric in _OF_LENGTHS and found.sum() and are_unequal(lengths := lengths_of(given)):
        top = np.linalg.norm(given.take(most_found(found, _MOST_FOUND)), axis=1)
        if np.mean(np.median(top) > lengths) > LONG:
            symptoms.append(Symptom(_LENGTHS, _OF_LENGTHS[metric]))
    return symptoms


def _of_vectors(side: str, metric: str, once: F32, same: float, most: float, how: str) -> list[Symptom]:
    """Return what the different vectors of a side, and the share that is the same, speak for."""
    name = f"identical-{side}-vectors"
    if same > most:
        why = "texts are cut off, empty or read from a wrong field"
        return [Symptom(name, f"{100 * same:.0f} % of the {side} vectors {how}: {why}.")]
    if not comparison(metric).squared and (cosine := mean_cosine(once)) > ONE_DIRECTION:
        why = "a prompt outweighs the texts, the pooling is wrong, or texts are cut to a common beginning"
        return [Symptom(name, f"All {side} vectors are nearly one (mean cosine {cosine:.3f}): {why}.")]
    return []


def mean_cosine(rows: F32) -> float:
    """Return the mean cosine between different rows (m, d), at least 2."""
    count = len(rows)
    if count < 2:
        return 1.0
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    total = np.divide(rows, lengths, where=lengths > 0, out=np.zeros_like(rows)).sum(axis=0, dtype=np.float64)
    return float((total @ total - count) / (count * (count - 1)))


def _shuffled(rows: F32, seed: int) -> F32:
    return rows[np.random.default_rng(seed).permutation(len(rows))]
