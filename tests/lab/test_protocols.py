import os
import pickle

import numpy as np
import pytest
from scipy.stats import ks_2samp
from support import naive
from support.labelled import compare, pairs

import hubless
from hubless import measures
from hubless.errors import InputError
from hubless.lab.experiments.compare import compare_banks
from hubless.lab.experiments.comparisons import caption, table_of
from hubless.lab.experiments.methods import Method
from hubless.lab.experiments.relevance import as_relevant
from hubless.lab.experiments.tally import Attribute
from hubless.lab.papers import preset, presets_of
from hubless.lab.pickles import read_pickle

GIVEN, BANK, OTHER = pairs(60), pairs(150, seed=1), pairs(150, seed=2)
RIGHT = np.arange(60)


def compared(*entries, **options):
    given = {"query_bank": BANK.queries} | options
    return compare(GIVEN.queries, GIVEN.targets, RIGHT, [Method("none"), *entries], **given)


def test_bank_size_is_a_share_too():
    assert compared(bank_size="20%").query_bank == compared(bank_size=30).query_bank == 30
    for wrong in ("many", "120%"):
        with pytest.raises(InputError, match="bank size: expected"):
            compared(bank_size=wrong)


def test_bank_of_least_coverage_is_the_one_whose_first_targets_are_fewest():
    found = compared(Method("csls", {"k": 5}), bank_size=30, least_coverage=True)
    first = (BANK.queries @ GIVEN.targets.T).argmax(axis=1)
    order = np.lexsort((first, -np.bincount(first, minlength=60)[first]))[:30]
    scores = GIVEN.queries @ GIVEN.targets.T - 0.5 * naive.top_k_mean(BANK.queries[np.sort(order)], GIVEN.targets, 5)
    expected = np.mean(naive.ranks(scores, GIVEN.relevant) <= 1)
    assert found.row("csls k=5").quality["recall_at_1"] == pytest.approx(expected)
    for options in ({"bank_size": 30, "draws": 2}, {}):
        with pytest.raises(InputError, match="least coverage"):
            compared(least_coverage=True, **options)


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
    assert len(table_of(found).lines) == 4


def test_distances_of_each_draw_are_those_of_its_bank():
    pytest.importorskip("ot")
    found = compared(bank_size=40, draws=2, target_bank=BANK.targets, distances=True)
    rows = np.sort(np.random.default_rng(1).choice(150, 40, replace=False))
    both = np.concatenate([GIVEN.targets, BANK.targets])
    expected = [measures.earth_movers_distance(BANK.queries[rows], each).value for each in (GIVEN.targets, both)]
    assert list(found.distances[1].values()) == pytest.approx(expected)
    assert "earth mover's distance of the bank to targets and target bank" in caption(found)


def test_draws_are_tested_in_pairs_too():
    row = compared(Method("csls"), bank_size=40, draws=2).row("csls")
    assert row.mcnemar is None
    assert 0 < row.p_value <= 1
    once = compared(Method("csls")).row("csls")
    assert once.p_value == once.mcnemar.p_value


def test_plan_of_an_assignment_is_as_sparse_as_it_can_be():
    pytest.importorskip("ot")
    found = compared(Method("hn"), Method("sn_whole"))
    assert found.row("hn").quality["sparsity"] == pytest.approx(1 - 1 / 60)
    assert found.row("sn_whole").quality["sparsity"] == 0


def test_bias_is_the_difference_of_two_groups_and_is_drawn_over_the_queries():
    groups = measures.as_groups(["man" if row % 3 else "woman" for row in range(60)], "gender")
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


def test_nnn_by_an_index_is_nnn_where_it_looks_everywhere_and_near_it_else():
    whole = {"k": 8, "nlist": 4, "nprobe": 4}
    found = compared(Method("nnn", {"k": 8}), Method("nnn_ivf", whole), Method("nnn_fastscan", {"k": 8}))
    exact, ivf, fast = found.rows[1:]
    assert ivf.quality == exact.quality
    assert fast.quality["recall_at_1"] == pytest.approx(exact.quality["recall_at_1"], abs=0.04)
    assert all(row.seconds > 0 for row in (exact, ivf, fast))
    assert table_of(found, ["seconds", "recall_at_1"]).headings[1] == "fit s"
    with pytest.raises(InputError, match="parameter of nnn_ivf: expected one of k, weight, nlist, nprobe, got lists"):
        compared(Method("nnn_ivf", {"lists": 3}))


def test_mask_of_captions_gives_each_query_the_target_it_belongs_to():
    mask = np.array([[True, True, False], [True, False, True]])
    rows = as_relevant(mask, 6, 2)
    assert [row.tolist() for row in rows] == [[0], [0], [], [1], [], [1]]


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
        with pytest.raises(ValueError, match="only NumPy arrays are read"):
            read_pickle(tmp_path / "s.pkl")
        assert not (tmp_path / "trace").exists()


class TestPresets:
    def test_every_correction_and_setting_of_every_table_is_known(self):
        from hubless.cli.evaluate import entries_from
        from hubless.cli.options import parameters_of, read_settings

        known = parameters_of(hubless.compare) | {"measures": str, "groups": str, "top": int}
        for one in presets_of():
            assert entries_from(list(one.corrections))
            read_settings(list(one.settings), known)

    def test_table_is_found_by_its_number_and_unknown_ones_are_named(self):
        assert "dbsn:temperature=.01" in preset("dbsn", "A8").corrections
        assert {one.paper for one in presets_of()} == {"dbsn", "qb-norm", "nnn", "sigir", "dbnorm"}
        with pytest.raises(InputError, match="paper: expected one of dbnorm, dbsn, nnn, qb-norm, sigir, got foo"):
            preset("foo", "1")
        with pytest.raises(InputError, match=r"table: expected one of 1, 2, 3, .*, got 99"):
            preset("dbsn", "99")
