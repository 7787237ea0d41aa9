"""Each method beside its published formula in support/formulas.py, on a problem with hubs."""

from dataclasses import replace

import numpy as np
import pytest
from support import formulas
from support.problems import with_hubs
from support.rankings import best, check_zeros_between, dense, similarities

import hubless
from hubless import CORRECTIONS
from hubless.corrections import single_query
from hubless.corrections.gated.dual_dis import GatedFactors
from hubless.corrections.query_time import Candidates


@pytest.mark.parametrize("weight", [0, 0.5, 1.5])
@pytest.mark.parametrize("name", ["dn", "cent"])
def test_offsets_of_dn_and_cent_are_the_similarity_to_the_mean_query(problem, name, weight):
    found = CORRECTIONS[name](weight=weight).fit(problem.bank, problem.targets).offsets(problem.targets)
    _s, b, _ = similarities(problem)
    np.testing.assert_allclose(found, weight * b.mean(axis=0), atol=1e-6)


class TestLowTemperature:
    """exp(1/0.003) is beyond any float of 32 bits, exp(4/0.003) beyond one of 64."""

    @pytest.mark.parametrize("name", ["dis", "sinkhorn"])
    def test_scores_are_finite_and_still_corrected(self, problem, name):
        found = dense(problem, name, temperature=0.003)
        assert np.isfinite(found).all()
        assert not np.array_equal(best(found), best(similarities(problem)[0]))

    def test_dual_dis_ranks_by_the_largest_similarities(self, problem):
        """LSE is the largest exponent there, so the formula needs no exponential."""
        found = dense(problem, "dual_dis", query_temperature=0.0003, target_temperature=0.0003, k=400)
        s, b, v = similarities(problem)
        np.testing.assert_allclose(found, s - (b.max(axis=0) + v.max(axis=0)) / 2, atol=1e-3)


def spread_of_best(found, expected):
    """How far apart two scores of the best targets are, but for a constant a query."""
    rows = best(expected)
    return (np.take_along_axis(found, rows, axis=1) - np.take_along_axis(expected, rows, axis=1)).std(axis=1)


class TestSinkhornWithOneQuery:
    def test_scores_from_few_candidates_are_those_of_the_whole_problem(self, problem):
        """400 targets, of which 60 are candidates: the others count by their known and sampled mass."""
        s, b, _ = similarities(problem)
        expected = formulas.sinkhorn(s, b, 0.1, 10)
        found = dense(problem, "sinkhorn", candidates=60, temperature=0.1, iterations=10)
        alone = dense(problem, "sn", temperature=0.1, iterations=10)
        assert np.median(spread_of_best(found, expected)) < 2e-4
        assert np.median(spread_of_best(alone, expected)) > 4e-3


class TestTail:
    """All targets, those of a similarity of 0 and below too, not only the best."""

    @pytest.mark.parametrize("length", [1e-3, 1.0, 1e3])
    @pytest.mark.parametrize("temperature", [1e-4, 1e-2, 1.0])
    @pytest.mark.parametrize("gates", [(True, False), (False, True)])
    def test_similarities_of_zero_rank_between_those_above_and_below_at_any_temperature(
        self, gates, temperature, length
    ):
        """In float32, too, as hits have it. Offsets differ by more than the logarithm of any small number times τ."""
        rng = np.random.default_rng(3)
        s = (length * rng.integers(-3, 4, 40) * rng.choice([1, 1e-9], 40)).astype(np.float32)
        offsets = (10 * length**2 * rng.normal(size=(2, 40))).astype(np.float32)
        own, z = s.astype(np.float64) / temperature, offsets.astype(np.float64) / temperature
        live = GatedFactors(offsets, np.repeat(gates, 40).reshape(2, 40), (temperature, temperature), "dot")
        factor = own - z[gates.index(True)]
        found = live.scores(np.empty(0), Candidates(np.arange(40), s, None))
        check_zeros_between(found, s, factor)

    def test_dual_dis_ranks_all_targets_as_published_whatever_gates_are_on(self, problem):
        s, b, v = similarities(problem)
        expected = formulas.dual_dis(s, b, v, (0.1, 0.5), 2)
        on = np.stack([formulas.active(bank, 2)[s.argmax(axis=1)] for bank in (b, v)])
        assert {tuple(pair) for pair in on.T.tolist()} >= {(True, False), (False, True)}
        found = dense(problem, "dual_dis", query_temperature=0.1, target_temperature=0.5, k=2)
        np.testing.assert_array_equal(best(found, 400), best(expected, 400))


@pytest.mark.parametrize(
    ("name", "named"),
    [("nnn", {}), ("csls", {}), ("dn", {}), ("cent", {}), ("is", {"temperature": 0.1}), ("dual_is", {})],
)
def test_later_target_has_the_offset_that_it_would_have_had_in_the_fit(problem, name, named):
    whole, part = (
        CORRECTIONS[name](**named).fit(problem.bank, targets, problem.target_bank)
        for targets in (problem.targets, problem.targets[::2])
    )
    np.testing.assert_allclose(part.offsets(problem.targets), whole.offsets(problem.targets), atol=1e-6)


class TestCopiesOfTargets:
    """The raw first target of a query is then any of its copies, which the index chooses."""

    @pytest.mark.parametrize(("name", "index"), [("dis", "flat"), ("dis", "hnsw"), ("dual_dis", "fastscan")])
    def test_gate_is_on_for_the_same_queries(self, name, index):
        once = with_hubs(targets=100, bank=60, target_bank=60, queries=100, dim=32)
        alone = corrected(once, name, index)
        assert 0.1 < alone.mean() < 0.9
        for copies in (2, 5):
            twice = replace(once, targets=np.repeat(once.targets, copies, axis=0))
            np.testing.assert_array_equal(corrected(twice, name, index), alone)

    def test_hundred_copies_of_one_target_are_active_together(self):
        once = with_hubs(targets=100, bank=60, queries=100, dim=32)
        first = (once.bank @ once.targets.T).argmax(axis=1)[0]
        copies = np.repeat(once.targets[first : first + 1], 100, axis=0)
        fitted = CORRECTIONS["dis"]().fit(once.bank, np.concatenate([once.targets, copies]))
        assert fitted.query_time(np.concatenate([once.targets, copies])).active[100:].all()


def corrected(problem, name, index):
    """Which queries (m,) the gate corrects."""
    built = hubless.Index(correction=name, metric="cosine", index=index)
    built.fit(problem.bank, problem.targets, target_bank=problem.target_bank)
    whole = {"ef": 1024} if index == "hnsw" else {}  # it looks at all: the gate is tested, and not its recall
    return built.query(problem.queries, 10, parameters=whole).corrected


class TestGateOnTargets:
    def test_offsets_of_active_targets_have_mean_0_so_that_the_others_do_not_come_first(self, problem):
        found = CORRECTIONS["dis"](temperature=0.1, gate="target").fit(problem.bank, problem.targets)
        offsets = found.offsets(problem.targets)
        active = np.flatnonzero(offsets)
        assert 0 < len(active) < len(offsets)
        assert offsets[active].mean() == pytest.approx(0, abs=1e-6)

    def test_later_target_is_active_if_it_reaches_the_top_of_a_bank_query(self, problem):
        fitted = CORRECTIONS["dis"](temperature=0.1, gate="target").fit(problem.bank, problem.targets)
        near, far = problem.bank[:1], -problem.bank.mean(axis=0, keepdims=True)
        assert fitted.offsets(near)[0] != 0
        assert fitted.offsets(far)[0] == 0


def test_sample_of_the_targets_stands_for_all_of_them_in_each_step_of_sinkhorn(monkeypatch):
    exact, sampled = CORRECTIONS["sinkhorn"](0.3, iterations=4), []
    problem = with_hubs(targets=400, bank=60)
    for most in (400, 200):
        monkeypatch.setattr(single_query, "_FIT_SAMPLE", most)
        sampled.append(exact.fit(problem.bank, problem.targets).steps.mean(axis=1))
    np.testing.assert_allclose(*sampled, atol=0.2)
