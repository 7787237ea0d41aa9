import json

import numpy as np
import pytest
from support.labelled import pairs, tune

from hubless.builder.written_corrections import read_correction
from hubless.errors import InputError
from hubless_lab.experiments.methods import Method, grid_methods
from hubless_lab.experiments.trials import Pairs, strict_trial
from hubless_lab.experiments.tune import best_setting

HUBBY = pairs(200)
EVEN = pairs(160, lean=0)
FEW = ["csls", "is"]


def tuned(given, relevant=None, **options):
    right = [rows.tolist() for rows in given.relevant] if relevant is None else relevant
    options = {"corrections": FEW, "seeds": 3} | options
    return tune(given.queries, given.targets, right, **options)


@pytest.fixture(scope="module")
def hubby():
    return tuned(HUBBY)


def hits(*shares, m=400):
    """Candidates of which each answers the first so many queries."""
    return np.array([np.arange(m) < share * m for share in shares], float)


class TestChoice:
    def test_is_the_simplest_that_is_not_worse_by_more_than_the_error_of_the_difference(self):
        """The best answers two queries more and one less, 1 ± √3, or then five more and one less, 4 ± √6."""
        answered = hits(0.5, 0.6, 0.6 + 2 / 400)
        answered[2, 0] = 0
        assert best_setting(answered, np.ones(400)) == 1
        answered[2, 390:393] = 1
        assert best_setting(answered, np.ones(400)) == 2

    def test_counts_queries_on_which_they_differ_and_not_only_how_many_they_answer(self):
        answered = hits(0.5, 0.6, 0.63)
        assert best_setting(answered, np.ones(400)) == 2
        answered[2] = np.roll(answered[2], 150)  # as many queries, but others than the simpler candidate
        assert best_setting(answered, np.ones(400)) == 1

    def test_query_weighs_as_often_as_it_was_tested(self):
        weights = np.where(np.arange(400) < 200, 1.0, 0.0)
        answered = hits(0.3, 0.5, 1.0)
        assert best_setting(answered, weights) == 1


class TestTune:
    def test_finds_the_gain_of_hubby_pairs_and_that_it_is_real(self, hubby):
        assert hubby.correction in FEW
        assert hubby.gain.interval.above_zero
        assert hubby.why == "the simplest candidate within one standard error of the best one"

    def test_recall_of_candidates_is_the_mean_over_the_splits(self, hubby):
        for entry in grid_methods(100, True, FEW):
            found = []
            for seed in range(3):
                trial = strict_trial(HUBBY, seed)
                scores = trial.queries @ trial.targets.T - trial.fit(entry.correction()).offsets
                found.append(np.mean(scores.argmax(axis=1) == np.concatenate(trial.relevant)))
            [candidate] = [candidate for candidate in hubby.candidates if candidate.label == entry.label]
            assert candidate.recall_at_1 == pytest.approx(np.mean(found))

    def test_keeps_the_raw_ranking_where_there_are_no_hubs(self):
        found = tuned(EVEN)
        assert (found.correction, found.parameters) == ("none", {})

    def test_keeps_the_raw_ranking_where_labels_are_noise(self):
        noise = np.random.default_rng(0).permutation(200)
        found = tuned(HUBBY, noise)
        assert found.correction == "none"
        assert not found.gain.interval.above_zero

    def test_queries_of_one_target_are_never_on_both_sides_of_a_fold(self):
        """All queries of a target are one and the same here: a choice that has seen one of them has seen all."""
        repeated = np.repeat(np.arange(40), 5)
        given = Pairs(HUBBY.queries[repeated], HUBBY.targets[:40], [np.array([row]) for row in repeated])
        with pytest.raises(InputError, match=r"folds: .* as many as queries of different targets, 40, got 41"):
            tuned(given, folds=41)
        assert tuned(given, folds=40, seeds=1).folds == 40


class TestCandidates:
    def test_every_parameter_set_can_be_made_and_fits_the_bank(self):
        for bank in (3, 20, 100, 1000):
            entries = grid_methods(bank, target_bank=True)
            assert entries[0] == Method("none")
            assert len({entry.label for entry in entries}) == len(entries)
            for entry in entries:
                entry.correction()
                assert entry.parameters.get("k", 1) <= bank
                assert entry.parameters.get("perplexity", 0) < bank

    def test_order_is_from_the_simplest_to_the_strongest(self):
        labels = [entry.label for entry in grid_methods(500, target_bank=True)]
        for weaker, stronger in (
            ("none", "auto"),
            ("auto", "csls k=1"),
            ("nnn k=16 weight=0.25", "nnn k=16 weight=1.0"),
            ("sn perplexity=100", "sn perplexity=20"),
            ("sn perplexity=20", "dbsn perplexity=100"),
        ):
            assert labels.index(weaker) < labels.index(stronger)


class TestParameterFile:
    def test_what_was_tuned_is_read_back(self, hubby, tmp_path):
        hubby.save(tmp_path / "tuned.json")
        assert read_correction(tmp_path / "tuned.json") == (hubby.correction, hubby.parameters)
        evidence = json.loads((tmp_path / "tuned.json").read_text())["tuned"]
        assert evidence["tried"] == hubby.tried
        assert evidence["gain"]["interval"] == {"low": hubby.gain.interval.low, "high": hubby.gain.interval.high}

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("", "expected a JSON file, as tune writes it"),
            ("[1]", 'expected an object with "correction" and "parameters"'),
            ('{"parameters": {}}', 'expected an object with "correction"'),
            ('{"correction": "foo"}', "correction: expected one of auto, none"),
            (
                '{"correction": "nnn", "parameters": [1]}',
                'expected an object with "correction" and "parameters", got .*nnn',
            ),
            (
                '{"correction": "nnn", "parameters": {"n": 1}}',
                "parameter of nnn: expected one of k, weight, bank_index, got n",
            ),
            ('{"correction": "nnn", "parameters": {"k": 0}}', "k: expected a whole number of at least 1"),
        ],
    )
    def test_anything_else_is_refused(self, tmp_path, content, message):
        (tmp_path / "tuned.json").write_text(content)
        with pytest.raises(InputError, match=message):
            read_correction(tmp_path / "tuned.json")


class TestGrids:
    def test_grid_stands_beside_the_usual_values_of_named_corrections(self):
        entries = grid_methods(100, True, ["csls", "nnn"], {"nnn": {"k": [3]}})
        assert [entry.parameters for entry in entries if entry.name == "nnn"] == [{"k": 3}]
        assert len([entry for entry in entries if entry.name == "csls"]) > 1

    def test_what_the_bank_is_too_small_for_is_left_out(self):
        found = tuned(HUBBY, grids={"nnn": {"k": [4, 1000]}}, corrections=["nnn"], seeds=1)
        assert [tried.label for tried in found.candidates] == ["none", "nnn k=4"]
        assert f"nnn: k above the {found.query_bank} queries of the bank is left out" in found.notes

    @pytest.mark.parametrize(
        ("names", "grids", "message"),
        [
            (None, {"foo": {"k": [1]}}, "correction: expected one of"),
            (["csls"], {"nnn": {"k": [1]}}, "grid: expected one of the corrections that are tried, .*, got nnn"),
            (None, {"nnn": {"n": [1]}}, "parameter of nnn: expected one of k"),
            (None, {"nnn": {"k": [0]}}, "k: expected a whole number"),
            (None, {"nnn": {"k": [101]}}, "grid of nnn: expected a k of at most the 100 queries"),
        ],
    )
    def test_grid_that_cannot_be_tried_is_refused(self, names, grids, message):
        with pytest.raises(InputError, match=message):
            grid_methods(100, True, names, grids)
