import math
from collections import Counter

import numpy as np
import pytest

from hubless import measures
from hubless.measures.evenness import STRENGTHS, most_even

TARGETS, K = 400, 10


def answers(spreads, queries=200, seed=0):
    """Top 10 of queries at each strength, drawn from a part of the targets: the larger the part, the more even."""
    rng = np.random.default_rng(seed)
    order = np.argsort(rng.random((queries, TARGETS)), axis=1)
    lists = []
    for spread in spreads:
        few = order.copy()
        few[few >= spread * TARGETS] = -1  # keep the order of what is left
        lists.append(np.stack([line[line >= 0][:K] for line in few]))
    return np.stack(lists)


def naive(lists, current=1.0, draws=200):
    """The same in loops: entropy by counting, errors by drawing queries one by one."""
    raw = [set(line.tolist()) for line in lists[0]]
    kept = []
    for query, found in enumerate(raw):
        if all(len(found & raw[other]) < 8 for other in kept):
            kept.append(query)
    if len(kept) < 20:
        return current, len(kept)

    def entropy(place, chosen):
        counts = Counter(row for query in chosen for row in lists[place][query].tolist())
        total = sum(counts.values())
        return -sum(count / total * math.log(count / total) for count in counts.values())

    entropies = [entropy(place, kept) for place in range(len(lists))]
    best = entropies.index(max(entropies))
    rng = np.random.default_rng(0)
    below = [[] for _ in lists]
    for _ in range(draws):
        chosen = [kept[each] for each in rng.integers(len(kept), size=len(kept))]
        drawn = [entropy(place, chosen) for place in range(len(lists))]
        for place, value in enumerate(drawn):
            below[place].append(value - drawn[best])
    even = [
        STRENGTHS[place]
        for place in range(len(lists))
        if entropies[best] - entropies[place] <= np.std(below[place], ddof=1) + 1e-9
    ]
    return min(even, key=lambda strength: abs(strength - current)), len(kept)


@pytest.mark.parametrize("current", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_choice_is_that_of_the_plain_reference(seed, current):
    spreads = np.random.default_rng(seed).uniform(0.3, 0.8, len(STRENGTHS))
    lists = answers(spreads, queries=40, seed=seed)
    found = most_even(lists, TARGETS, current=current)
    assert (found.strength, found.different) == naive(lists, current)


@pytest.mark.parametrize("best", range(len(STRENGTHS)))
def test_clearly_most_even_strength_is_chosen(best):
    spreads = np.full(len(STRENGTHS), 0.2)
    spreads[best] = 0.9
    found = most_even(answers(spreads), TARGETS)
    assert (found.strength, found.state) == (STRENGTHS[best], "enough")
    assert int(np.argmax(found.entropy)) == best
    assert int(np.argmax(found.skewness)) != best


@pytest.mark.parametrize("queries", [1, 5, 19])
def test_too_few_queries_change_nothing_however_clear_they_are(queries):
    found = most_even(answers([0.9, 0.1, 0.1, 0.1, 0.1], queries), TARGETS)
    assert (found.strength, found.state, found.queries) == (1.0, "too_few", queries)


def test_queries_with_nearly_the_same_answer_count_once():
    lists = answers([0.9] * 5, 60)
    repeated = np.concatenate([lists, lists[:, :1].repeat(500, axis=1)], axis=1)
    repeated[:, 60:, 8:] = np.arange(2 * 500).reshape(500, 2) % TARGETS  # two of ten differ
    found = most_even(repeated, TARGETS)
    assert (found.queries, found.different) == (560, 60)
    assert found.entropy == most_even(lists, TARGETS).entropy


def test_of_two_equally_near_strengths_the_more_even_is_chosen():
    assert most_even(answers([0.1, 0.6, 0.1, 0.61, 0.1]), TARGETS, current=0.5).strength in (0.25, 0.75)
    assert most_even(answers([0.1, 0.3, 0.1, 0.9, 0.1]), TARGETS, current=0.5).strength == 0.75


@pytest.mark.parametrize(("counts", "expected"), [([1, 1, 1, 1], math.log(4)), ([7, 0], 0), ([0, 0], 0), ([], 0)])
def test_entropy_of_finds(counts, expected):
    assert measures.entropy(np.array(counts, float)) == pytest.approx(expected)
