import math

import numpy as np
import pytest

from hubless import measures
from hubless.errors import InputError


def untied(m=40, n=30, most=5, seed=0):
    """Scores without ties, and one to five relevant targets a query."""
    rng = np.random.default_rng(seed)
    scores = np.array([rng.permutation(n) for _ in range(m)], float)
    return scores, [rng.choice(n, rng.integers(1, most + 1), replace=False) for _ in range(m)]


def naive_rank(line, target):
    return float(
        np.mean([place + 1 for place, value in enumerate(sorted(line, reverse=True)) if value == line[target]])
    )


def test_ranks_and_relevant_ranks_agree_with_the_naive_ones_on_tied_scores():
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 6, size=(50, 20)).astype(np.float32)
    relevant = [rng.choice(20, rng.integers(1, 7), replace=False) for _ in range(50)]
    expected = [sorted(naive_rank(line, t) for t in right) for line, right in zip(scores, relevant, strict=True)]
    assert [found.tolist() for found in measures.relevant_ranks(scores, relevant)] == expected
    assert measures.ranks(scores, relevant).tolist() == [line[0] for line in expected]


def test_ranks_of_scores_and_relevance_of_different_lengths_are_refused():
    with pytest.raises(InputError, match=r"^relevant: expected 2 entries, one for each query with scores, got 1$"):
        measures.ranks(np.zeros((2, 3)), [[0]])


@pytest.mark.parametrize(("k", "share"), [(1, 0.25), (2, 0.5), (3, 0.75), (100, 1.0)])
def test_recall_at_any_k_counts_ranks_up_to_k(k, share):
    assert measures.recall_at(np.array([1, 1.5, 2.5, 40]), k) == share


def test_average_precision_at_k_divides_by_no_more_than_k():
    assert measures.average_precision_at([np.array([1.0, 2.0, 3.0, 4.0])], 2) == pytest.approx([1])


def naive_average_precision(hits):
    """Over all targets. Of hits: 1 where the target of that place is relevant, and else 0."""
    precisions = [sum(hits[: place + 1]) / (place + 1) for place, hit in enumerate(hits) if hit]
    return sum(precisions) / len(precisions)


def naive_ndcg(hits, k):
    gains = [
        sum(hit / math.log2(place + 2) for place, hit in enumerate(order[:k])) for order in (hits, sorted(hits)[::-1])
    ]
    return gains[0] / gains[1]


def test_average_precision_and_ndcg_over_all_targets_are_as_defined():
    scores, relevant = untied()
    hits = [
        [int(target in right) for target in np.argsort(-line)] for line, right in zip(scores, relevant, strict=True)
    ]
    found = measures.relevant_ranks(scores, relevant)
    assert measures.average_precision_at(found, 30) == pytest.approx([naive_average_precision(line) for line in hits])
    for k in (1, 5, 10):
        assert measures.ndcg_at(found, k) == pytest.approx([naive_ndcg(line, k) for line in hits])
