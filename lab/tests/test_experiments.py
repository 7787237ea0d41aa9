"""Comparisons: banks and how they are drawn, what is measured beside recall, presets of papers, and pickles."""

import json
import os
import pickle
from contextvars import copy_context

import numpy as np
import pytest
from scipy.stats import ks_2samp
from support import formulas, naive
from support.hubs import unit
from support.labelled import compare, pairs

import hubless
from hubless import measures
from hubless.errors import InputError
from hubless.vectors.readers.pickles import read_pickle
from hubless_lab.experiments.comparisons import caption, comparison_table
from hubless_lab.experiments.methods import Method
from hubless_lab.experiments.several_banks import compare_banks
from hubless_lab.experiments.tally import Attribute
from hubless_lab.experiments.trials import open_labelled, strict_trial, without_self
from hubless_lab.papers import preset, presets_of

GIVEN = pairs(120)
BANK, OTHER = pairs(150, seed=1), pairs(150, seed=2)
RIGHT = np.arange(120)
RAW = GIVEN.queries @ GIVEN.targets.T


def compared(*entries, **options):
    given = {"query_bank": BANK.queries} | options
    return compare(GIVEN.queries, GIVEN.targets, RIGHT, [Method("none"), *entries], **given)


class TestDepth:
    def test_hubness_of_each_depth_is_measured_and_shown(self):
        found = compared(depths=[10, 1])
        for depth, name in ((10, "skewness"), (1, "skewness_at_1")):
            expected = naive.skewness(naive.occurrence(RAW, depth))
            assert found.row("none").quality[name] == pytest.approx(expected, abs=1e-5)
        headings = comparison_table(found).headings
        assert {"skewness N10", "skewness N1", "antihubs N10", "antihubs N1"} <= set(headings)


class TestDraws:
    def test_each_draw_is_a_trial_with_so_many_bank_queries(self):
        found = compared(Method("csls", {"k": 5}), bank_size=40, draws=3)
        recalls = []
        for draw in range(3):
            rows = np.random.default_rng(draw).choice(150, 40, replace=False)
            scores = RAW - 0.5 * naive.top_k_mean(BANK.queries[rows], GIVEN.targets, 5)
            recalls.append(np.mean(naive.ranks(scores, GIVEN.relevant) <= 1))
        row = found.row("csls k=5")
        assert row.quality["recall_at_1"] == pytest.approx(np.mean(recalls))
        assert row.spread["recall_at_1"] == pytest.approx(np.std(recalls, ddof=1))
        assert found.query_bank == 40
        assert caption(found).startswith("Mean ± standard deviation over 3 draws of the bank: 120 queries")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"bank_size": 151}, "bank size: expected at most the 150 queries of the bank, got 151"),
            ({"bank_size": 0}, "bank size: expected a whole number of at least 1"),
            ({"draws": 2}, "draws: expected 1 without a bank size"),
            ({"bank_size": 30, "draws": 2, "least_coverage": True}, "draws: expected 1 .* or with the least coverage"),
            ({"least_coverage": True}, "least coverage: expected a bank size"),
            ({"depths": [0]}, "depth: expected a whole number of at least 1"),
        ],
    )
    def test_what_cannot_be_drawn_is_refused(self, options, message):
        with pytest.raises(InputError, match=message):
            compared(**options)


class TestCandidates:
    def test_rescorer_with_one_candidate_keeps_the_raw_first_target(self):
        few, every = (compared(Method("ls", {"k": 5}), candidates=count) for count in (1, None))
        assert few.row("ls k=5").quality["recall_at_1"] == few.row("none").quality["recall_at_1"]
        assert every.row("ls k=5").quality["recall_at_1"] != few.row("ls k=5").quality["recall_at_1"]


ITEMS = GIVEN.targets
KINDS = RIGHT // 2
OF_A_KIND = [np.flatnonzero(kind == KINDS).tolist() for kind in KINDS]
"""Two of a kind, each query among its own answers."""


class TestLeaveSelfOut:
    def compared(self, **options):
        given = {"metric": "cosine", "leave_self_out": True, "corrections": ["none", "csls"]}
        return hubless.compare(ITEMS, ITEMS, OF_A_KIND, **given | options)

    def test_query_is_no_answer_to_itself(self):
        found = self.compared(query_bank=BANK.queries)
        for label, offsets in (("none", 0), ("csls", 0.5 * naive.top_k_mean(BANK.queries, ITEMS, 10))):
            scores = ITEMS @ ITEMS.T - offsets
            np.fill_diagonal(scores, -np.inf)
            others = [np.setdiff1d(rows, [query]) for query, rows in enumerate(OF_A_KIND)]
            expected = np.mean(naive.ranks(scores, others) <= 1)
            assert found.row(label).quality["recall_at_1"] == pytest.approx(expected)
        assert found.row("none").quality["recall_at_1"] < 1

    @pytest.mark.parametrize("by_similarities", [False, True])
    def test_item_in_the_bank_does_not_stand_for_itself(self, by_similarities):
        rng = np.random.default_rng(5)
        items = unit(np.repeat(rng.normal(size=(60, 16)), 2, axis=0) + 0.8 * rng.normal(size=(120, 16)))
        s = items @ items.T
        asked = [
            Method("none"),
            Method("is", {"temperature": 0.02}),
            Method("sn", {"temperature": 0.01}),
            Method("csls", {"k": 3}),
        ]
        given = hubless.SimilarityMatrices(s, s) if by_similarities else items
        banks = {} if by_similarities else {"targets": items, "query_bank": items, "metric": "cosine"}
        found = hubless.compare(
            given, relevant=OF_A_KIND, corrections=asked, leave_self_out=True, bank_of_targets=True, **banks
        )
        apart = s.astype(np.float64)
        np.fill_diagonal(apart, -np.inf)
        expected = [
            apart,
            formulas.inverted_softmax(apart, apart, 0.02),
            formulas.sinkhorn_normalisation(apart, apart, 0.01, 10),
            formulas.neighbours(apart, apart, 3, 0.5),
        ]
        others = [np.setdiff1d(rows, [query]) for query, rows in enumerate(OF_A_KIND)]
        means = [naive.ranks(scores, others).mean() for scores in expected]
        assert [row.quality["mean_rank"] for row in found.rows] == pytest.approx(means)
        assert len(set(means)) == 4
        assert "120 items are in the query bank, and none in its own" in found.leaks[0]

    def test_bank_of_the_strict_protocol_holds_no_item_of_the_gallery(self):
        given = without_self(open_labelled(ITEMS, ITEMS, OF_A_KIND, metric="cosine").pairs)
        for seed in range(3):
            trial = strict_trial(given, seed)
            gallery = {row.tobytes() for row in trial.targets}
            assert not gallery & {row.tobytes() for row in trial.query_bank}

    def test_other_numbers_of_queries_and_no_other_answers_are_refused(self):
        with pytest.raises(InputError, match="leave self out: expected as many queries as targets"):
            compare(GIVEN.queries[:9], GIVEN.targets, RIGHT[:9], leave_self_out=True)
        with pytest.raises(InputError, match="a right target for at least one query"):
            compare(GIVEN.queries, GIVEN.targets, RIGHT, leave_self_out=True)


class TestMeasures:
    def test_interval_adds_half_its_width_to_every_measure_that_has_one(self):
        found = compared(Method("csls"))
        shown = comparison_table(found, ["recall", "interval", "skewness"])
        cells = dict(zip(shown.headings, shown.lines[1], strict=True))
        row = found.row("csls")
        for k in (1, 5, 10):
            value, ends = row.quality[f"recall_at_{k}"], row.intervals[f"recall_at_{k}"]
            assert cells[f"R@{k}"] == f"{100 * value:.1f} ± {50 * (ends.high - ends.low):.1f}"
        assert cells["skewness N10"] == f"{row.quality['skewness']:.2f}"

    def test_geometric_mean_of_recalls_with_its_interval(self):
        row = compared().row("none")
        ranks = naive.ranks(RAW, GIVEN.relevant)
        expected = np.prod([np.mean(ranks <= k) for k in (1, 5, 10)]) ** (1 / 3)
        assert row.quality["geometric_mean_recall"] == pytest.approx(expected)
        interval = row.intervals["geometric_mean_recall"]
        assert interval.low < expected < interval.high


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    arrays = {"queries": GIVEN.queries, "targets": GIVEN.targets, "bank": BANK.queries, "relevant": RIGHT}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    (folder / "groups.txt").write_text("\n".join("even" if row % 2 == 0 else "odd" for row in range(120)))
    (folder / "groups.json").write_text(json.dumps([row % 2 for row in range(120)]))
    np.save(folder / "groups.npy", RIGHT % 2)
    (folder / "short.txt").write_text("one\ntwo")
    (folder / "wrong.json").write_text("{}")
    (folder / "wrong.xlsx").write_text("one")
    return folder


@pytest.fixture
def evaluate(files, run, monkeypatch):
    monkeypatch.chdir(files)
    given = ["--queries", "queries.npy", "--targets", "targets.npy", "--relevant", "relevant.npy"]
    return lambda *words: run("evaluate", *given, "--query-bank", "bank.npy", *words)


class TestCommand:
    def test_only_the_measures_that_are_asked_for_are_written(self, evaluate, tmp_path):
        words = ["--correction", "csls", "--set", "measures=kurtosis,recall_at_5,most"]
        assert evaluate(*words, "--set", f"output={tmp_path / 'table.md'}")[0] == 0
        assert (tmp_path / "table.md").read_text().splitlines()[0] == "| correction | kurtosis N10 | R@5 | max N10 |"

    @pytest.mark.parametrize(("name", "group"), [("txt", "even (50.0)"), ("json", "0 (50.0)"), ("npy", "0 (50.0)")])
    def test_groups_come_from_a_file(self, evaluate, name, group):
        code, out, _ = evaluate("--correction", "csls", "--set", f"groups=groups.{name}", "--set", "top=3")
        assert code == 0
        assert group in out

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("nowhere.txt", "there is no such file"),
            ("short.txt", "groups: expected 120, one a target, got 2"),
            ("wrong.json", "groups (wrong.json): expected the group of each target, got dict"),
            ("wrong.xlsx", "error: groups (wrong.xlsx): expected a file ending in .npy, .npz, .txt,"),
        ],
    )
    def test_groups_that_cannot_be_read_are_named(self, evaluate, name, message):
        code, _, err = evaluate("--set", f"groups={name}")
        assert code == 1
        assert message in err


def test_bank_size_is_a_share_too():
    assert compared(bank_size="20%").query_bank == compared(bank_size=30).query_bank == 30
    for wrong in ("many", "120%"):
        with pytest.raises(InputError, match="bank size: expected"):
            compared(bank_size=wrong)


def test_banks_stand_side_by_side_with_their_geometric_mean():
    banks = {"own": BANK.queries, "far": OTHER.queries}
    asked = [Method("none"), Method("csls")]
    found = compare_banks(banks, GIVEN.queries, GIVEN.targets, RIGHT, asked, metric="cosine")
    assert [row.label for row in found.rows] == ["none", "csls (own)", "csls (far)", "csls (geometric mean)"]
    each = [compared(Method("csls"), query_bank=bank).row("csls").quality for bank in banks.values()]
    both, mean = [one["recall_at_1"] for one in each], found.rows[-1].quality["recall_at_1"]
    assert [row.quality["recall_at_1"] for row in found.rows[1:3]] == both
    assert mean == pytest.approx(np.sqrt(np.prod(both)))
    assert "query banks own of 150, far of 150" in caption(found)
    assert len(comparison_table(found).lines) == 4


def test_sizes_and_the_bank_of_least_coverage_stand_side_by_side():
    asked, given = [Method("csls", {"k": 5})], (GIVEN.queries, GIVEN.targets, RIGHT)
    sizes = compare_banks({"own": BANK.queries}, *given, asked, bank_sizes=["20%", 15], metric="cosine")
    assert [row.label for row in sizes.rows] == ["none", "csls k=5 (20%)", "csls k=5 (15)"]
    assert sizes.rows[1].quality == compared(*asked, bank_size=30).row("csls k=5").quality
    banks = {"own": BANK.queries, "far": OTHER.queries}
    both = compare_banks(banks, *given, asked, bank_sizes=[30], least_coverage=True, draws=2, metric="cosine")
    names = ["own", "far", "least coverage", "geometric mean"]
    assert [row.label for row in both.rows] == ["none", *(f"csls k=5 ({name})" for name in names)]
    recalls = [row.quality["recall_at_1"] for row in both.rows[1:4]]
    assert both.rows[4].quality["recall_at_1"] == pytest.approx(np.prod(recalls) ** (1 / 3))
    assert both.rows[4].spread["recall_at_1"] == pytest.approx(np.std(recalls, ddof=1))


def test_correction_that_one_bank_is_too_small_for_is_left_out_there():
    few = [Method("csls", {"k": 20}, optional=True)]
    found = compare_banks(
        {"own": BANK.queries}, GIVEN.queries, GIVEN.targets, RIGHT, few, bank_sizes=[9, 30], metric="cosine"
    )
    assert [row.label for row in found.rows] == ["none", "csls k=20 (30)"]
    assert any(note.startswith("9: csls k=20 is left out: query bank: expected at least 20") for note in found.notes)


def test_distances_of_each_draw_are_those_of_its_bank():
    pytest.importorskip("ot")
    found = compared(Method("csls", {"k": 5}), bank_size=40, draws=2, target_bank=BANK.targets, distances=True)
    draws = [BANK.queries[np.sort(np.random.default_rng(draw).choice(150, 40, replace=False))] for draw in range(2)]
    expected = [measures.earth_movers_distance(bank, GIVEN.targets) for bank in draws]
    assert found.row("csls k=5").quality["distance_to_targets"] == pytest.approx(np.mean(expected))
    shown = comparison_table(found, ["distance"])
    assert set(shown.headings[1:]) == {"EMD to targets", "EMD to all targets", "EMD to queries"}
    assert set(shown.lines[0][1:]) == {"–"}


def test_target_bank_is_drawn_by_its_own_size():
    asked = Method("dbsn", {"temperature": 0.05})
    found = compared(asked, target_bank=BANK.targets, target_bank_size="20%")
    rows = np.sort(np.random.default_rng(0).choice(150, 30, replace=False))
    expected = compared(asked, target_bank=BANK.targets[rows])
    assert found.rows[1].quality == expected.rows[1].quality
    assert found.target_bank == 30
    with pytest.raises(InputError, match="target bank size: expected at most the 150 targets of the bank, got 151"):
        compared(asked, target_bank=BANK.targets, target_bank_size=151)


def test_draws_are_tested_in_pairs_too():
    row = compared(Method("csls"), bank_size=40, draws=2).row("csls")
    assert row.mcnemar is None
    assert 0 < row.p_value <= 1
    once = compared(Method("csls")).row("csls")
    assert once.p_value == once.mcnemar.p_value


def test_plan_of_an_assignment_is_as_sparse_as_it_can_be():
    pytest.importorskip("ot")
    found = compared(Method("hn"), Method("sinkhorn_whole"))
    assert found.row("hn").quality["sparsity"] == pytest.approx(1 - 1 / 120)
    assert found.row("sinkhorn_whole").quality["sparsity"] == 0


def test_bias_is_the_difference_of_two_groups_and_is_drawn_over_the_queries():
    groups = measures.as_groups(["man" if row % 3 else "woman" for row in range(120)], "gender")
    found = compared(attribute=Attribute(groups, 6))
    first = np.argsort(-(GIVEN.queries @ GIVEN.targets.T), axis=1)[:, :6]
    men = (groups.codes[first] == 0).sum(axis=1)
    assert found.row("none").quality["bias"] == pytest.approx(np.mean((2 * men - 6) / 6))
    across, heights = found.plot("bias").lines["none"]
    assert across.tolist() == pytest.approx([-1, -2 / 3, -1 / 3, 0, 1 / 3, 2 / 3, 1])
    assert heights.tolist() == np.bincount(men, minlength=7).tolist()


def test_kolmogorov_smirnov_compares_the_occurrence_with_the_baseline():
    found = compared(Method("csls"))
    raw = naive.occurrence(GIVEN.queries @ GIVEN.targets.T, 10)
    scores = GIVEN.queries @ GIVEN.targets.T - 0.5 * naive.top_k_mean(BANK.queries, GIVEN.targets, 10)
    after = naive.occurrence(scores, 10)
    quality = found.row("csls").quality
    assert (quality["ks"], quality["ks_p"]) == pytest.approx(tuple(ks_2samp(raw, after)))
    assert found.row("none").quality["ks_p"] == 1


def test_nnn_by_an_index_takes_part_with_its_time_of_the_fit():
    large = pairs(700, seed=1).queries
    kinds = ("flat", "cells")
    found = compared(*(Method("nnn", {"k": 8, "bank_index": kind}) for kind in kinds), query_bank=large)
    exact, *others = found.rows[1:]
    for row in others:
        assert row.quality["recall_at_1"] == pytest.approx(exact.quality["recall_at_1"], abs=0.02)
        assert row.details["offset_error"] <= 2.5
    assert all(row.seconds > 0 for row in found.rows[1:])
    assert comparison_table(found, ["seconds", "recall_at_1"]).headings[1] == "fit s"


class TestPickles:
    @pytest.mark.parametrize("protocol", [0, 2, 4, 5])
    def test_array_of_numbers_is_read(self, tmp_path, protocol):
        given = np.asfortranarray(GIVEN.queries @ GIVEN.targets.T)
        (tmp_path / "s.pkl").write_bytes(pickle.dumps(given, protocol))
        np.testing.assert_array_equal(read_pickle(tmp_path / "s.pkl"), given)
        # NumPy 1 wrote another name of the module
        old = pickle.dumps(given, 2).replace(b"numpy._core", b"numpy.core")
        (tmp_path / "old.pkl").write_bytes(old)
        asked = hubless.SimilarityMatrices(tmp_path / "s.pkl", tmp_path / "old.pkl")
        found = hubless.compare(asked, relevant=RIGHT, corrections=["csls"])
        assert found.row("none").quality["recall_at_1"] == compared().row("none").quality["recall_at_1"]

    @pytest.mark.parametrize("content", [{"a": 1}, [1.5], np.array([{}], object), os.system, b"no pickle"])
    def test_anything_else_is_refused_and_not_made(self, tmp_path, content):
        path = tmp_path / "s.pkl"
        path.write_bytes(content if isinstance(content, bytes) else pickle.dumps(content))
        with pytest.raises(InputError, match=r"similarities \(s.pkl\): expected a pickled NumPy array"):
            hubless.SimilarityMatrices(path).open()

    def test_code_in_a_pickle_does_not_run(self, tmp_path):
        class Attack:
            def __reduce__(self):
                return os.mkdir, (str(tmp_path / "trace"),)

        (tmp_path / "s.pkl").write_bytes(pickle.dumps(Attack()))
        with pytest.raises(ValueError, match="expected arrays, lists, dicts"):
            read_pickle(tmp_path / "s.pkl")
        assert not (tmp_path / "trace").exists()


class TestPresets:
    def test_every_correction_and_setting_of_every_table_is_known(self):
        from hubless.cli.options import parameters_of, read_settings
        from hubless_lab.cli.evaluate import entries_from

        known = parameters_of(hubless.compare) | {"measures": str, "groups": str, "top": int}
        for one in presets_of():
            assert entries_from(list(one.corrections))
            copy_context().run(read_settings, list(one.settings), known)

    def test_table_is_found_by_its_number_and_unknown_ones_are_named(self):
        assert "dbsn:temperature=.01" in preset("dbsn", "A8").corrections
        assert {one.paper for one in presets_of()} == {"dbsn", "qb-norm", "nnn", "sigir", "dbnorm"}
        with pytest.raises(InputError, match="paper: expected one of dbnorm, dbsn, nnn, qb-norm, sigir, got foo"):
            preset("foo", "1")
        with pytest.raises(InputError, match=r"table: expected one of 1, 2, 3, .*, got 99"):
            preset("dbsn", "99")
