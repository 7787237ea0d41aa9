"""The shipped kernels beside the naive ones of support/naive.py."""

import numpy as np
import pytest
from support import naive
from support.problems import normal, source

from hubless.kernels import reductions, similarities, streaming
from hubless.kernels.similarities import Factors, Recomputed
from hubless.vectors.sources import StackedVectors

BANK_SIZES = [1, 7, 8, 15]
TARGET_SIZES = [1, 5, 6, 11]
TEMPERATURES = [10.0, 0.1, 0.003]


def bank_and_targets(b, n, dim=6):
    return normal(b, dim, seed=b, scale=0.4), normal(n, dim, seed=100 + n, scale=0.4)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("n", TARGET_SIZES)
@pytest.mark.parametrize("b", BANK_SIZES)
class TestSizesThatStraddleTheBlocks:
    @pytest.mark.parametrize(
        ("temperature", "spread"), [*((each, None) for each in TEMPERATURES), (0.1, 5), (0.003, 60)]
    )
    def test_log_sum_exp_is_the_naive_one(self, b, n, temperature, spread):
        bank, targets = bank_and_targets(b, n)
        potentials = spread and spread * np.random.default_rng(0).normal(size=b)
        found = temperature * reductions.log_sum_exp(source(bank), potentials, source(targets), temperature)
        expected = naive.softmax_offsets(bank, targets, temperature, 0 if potentials is None else potentials)
        np.testing.assert_allclose(found, expected, atol=1e-6, rtol=1e-6)

    def test_top_k_mean_is_the_naive_one(self, b, n):
        bank, targets = bank_and_targets(b, n)
        for k in {1, (b + 1) // 2, b}:
            (found,) = reductions.top_k_mean_each([source(bank)], source(targets), [k])
            np.testing.assert_allclose(found, naive.top_k_mean(bank, targets, k), atol=1e-6)

    def test_top_k_is_the_naive_one_and_ties_go_to_the_lower_row(self, b, n):
        """Whole numbers: float32 is exact, and there are many ties."""
        rng = np.random.default_rng(b + n)
        queries, targets = (rng.integers(-1, 2, size=(rows, 3)).astype(np.float32) for rows in (b, n))
        offsets = rng.integers(-1, 2, size=n).astype(np.float32)
        for k in (1, 3, n, n + 4):
            for given, scores in ((None, queries @ targets.T), (offsets, queries @ targets.T - offsets)):
                found = reductions.top_k(queries, source(targets), k, given)
                for ours, theirs in zip(found, naive.top_k(scores, k), strict=True):
                    np.testing.assert_array_equal(ours, theirs)

    @pytest.mark.parametrize("kind", [Factors, Recomputed])
    def test_similarities_are_reduced_over_both_sides_as_the_naive_ones(self, b, n, kind, monkeypatch):
        monkeypatch.setattr(similarities, "KEEP_BYTES", 0 if kind is Recomputed else similarities.KEEP_BYTES)
        bank, targets = bank_and_targets(b, n)
        between = similarities.similarities(source(bank), source(targets), 0.1)
        assert isinstance(between, kind)
        of_targets = 5 * np.random.default_rng(1).normal(size=n)
        over_targets, over_bank = between.step(of_targets)
        expected = naive.softmax_offsets(targets, bank, 0.1, of_targets)
        np.testing.assert_allclose(0.1 * over_targets, expected, atol=1e-6)
        expected = naive.softmax_offsets(bank, targets, 0.1, -over_targets)
        np.testing.assert_allclose(0.1 * over_bank, expected, atol=1e-6)

    @pytest.mark.parametrize("temperature", TEMPERATURES)
    def test_mean_entropy_is_the_naive_one(self, b, n, temperature):
        similarities = normal(n, b, seed=3)
        similarities -= similarities.max(axis=1, keepdims=True)
        expected = naive.entropies(similarities / temperature).mean()
        assert reductions.mean_entropy(similarities, temperature) == pytest.approx(expected, abs=1e-5)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("jump", [0.05, 0.25, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("sign", [1, -1], ids=["rising", "falling"])
def test_log_sum_exp_is_right_when_a_later_block_outweighs_the_earlier_by_more_than_float32_can_hold(jump, sign):
    """At τ=0.003 a jump of 0.27 is a factor of e^88, where float32 ends."""
    steps = np.repeat([0.0, jump, 2 * jump], 7)[::sign]
    bank = np.stack([steps, np.ones(21)], axis=1).astype(np.float32)
    targets = np.stack([np.array([1, 0.5, 0, -1, 1, 1]), np.linspace(0, 1, 6)], axis=1).astype(np.float32)
    for potentials in (None, np.linspace(-3, 3, 21)):
        found = reductions.log_sum_exp(source(bank), potentials, source(targets), 0.003)
        expected = naive.softmax_offsets(bank, targets, 0.003, 0 if potentials is None else potentials)
        np.testing.assert_allclose(0.003 * found, expected, atol=2e-6)


def test_shipped_block_sizes_give_the_naive_answers_too():
    """Sizes just above the shipped blocks."""
    bank, targets = bank_and_targets(2049, 1025, dim=3)
    found = 0.05 * reductions.log_sum_exp(source(bank), None, source(targets), 0.05)
    np.testing.assert_allclose(found, naive.softmax_offsets(bank, targets, 0.05), atol=1e-6)


@pytest.mark.parametrize("rows", [7, 2048])
@pytest.mark.parametrize("k", [1, 10, 128, 600])
def test_top_k_of_a_large_bank_is_that_of_a_sorted_list(k, rows, monkeypatch):
    """Whole numbers: float32 is exact, and the k-th largest has many equals. 4,500 is no multiple of a block."""
    monkeypatch.setattr(streaming, "BANK_ROWS", rows)
    rng = np.random.default_rng(k)
    bank, targets = (rng.integers(-2, 3, size=(rows, 24)).astype(np.float32) for rows in (4500, 70))
    expected = np.sort(targets @ bank.T, axis=1)[:, : -k - 1 : -1]
    found = reductions.top_k_similarities(source(bank), source(targets), k)
    np.testing.assert_array_equal(-np.sort(-found, axis=1), expected)


def test_blocks_shorter_than_asked_for_are_put_together_rightly():
    """A folder of shards ends a block at the end of each shard."""
    bank, targets = bank_and_targets(23, 17)
    shards = [StackedVectors([source(part) for part in np.array_split(rows, 4)], "shards") for rows in (bank, targets)]
    found = reductions.log_sum_exp(shards[0], np.arange(23.0), shards[1], 0.1)
    np.testing.assert_allclose(0.1 * found, naive.softmax_offsets(bank, targets, 0.1, np.arange(23.0)), atol=1e-6)
    _, rows = reductions.top_k(bank, shards[1], 5)
    np.testing.assert_array_equal(rows, naive.top_k(bank @ targets.T, 5)[1])
    found = similarities.similarities(*shards, 0.1).step(np.arange(17.0))[0]
    np.testing.assert_allclose(0.1 * found, naive.softmax_offsets(targets, bank, 0.1, np.arange(17.0)), atol=1e-6)
