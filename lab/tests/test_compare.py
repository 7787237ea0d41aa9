import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from support import naive
from support.labelled import compare, pairs

import hubless
from hubless import measures
from hubless.errors import InputError
from hubless_lab.experiments import trials
from hubless_lab.experiments.comparisons import comparison_table
from hubless_lab.experiments.methods import DEFAULT_CORRECTIONS, Method
from hubless_lab.experiments.tally import Attribute
from hubless_lab.experiments.trials import strict_trial

GIVEN = pairs(240)
RIGHT = np.arange(240)
PAIRS = (GIVEN.queries, GIVEN.targets, RIGHT)
BANK = pairs(300, seed=1).queries
TARGET_BANK = pairs(300, seed=1).targets
FEW = [Method("none"), Method("csls"), Method("nnn", {"k": 8, "weight": 0.75})]


def compared(entries=FEW, **options):
    return compare(*PAIRS, entries, **options)


@pytest.fixture(scope="module")
def strict():
    return compared(seeds=3)


@pytest.fixture(scope="module")
def banked():
    return compared(query_bank=BANK)


def test_what_cannot_be_compared_or_shown_is_named(banked):
    for ask, expected in (
        (lambda: banked.plot("recall"), "measure: expected a single one, such as recall_at_1"),
        (lambda: comparison_table(banked, ["beauty"]), "measure: expected one of"),
        (lambda: compared([Method("dbsn")], query_bank=BANK), "target bank: expected vectors"),
        (lambda: hubless.compare(*PAIRS, metric="cosine", corrections="csls"), "corrections: expected a list"),
    ):
        with pytest.raises(InputError, match=expected):
            ask()


def offsets(bank, targets, k=8, weight=0.75):
    return weight * naive.top_k_mean(bank, targets, k)


def test_strict_quality_is_the_mean_over_the_splits(strict):
    found = []
    for seed in range(3):
        trial = strict_trial(GIVEN, seed)
        scores = trial.queries.astype(float) @ trial.targets.T.astype(float) - offsets(trial.query_bank, trial.targets)
        ranks = naive.ranks(scores, trial.relevant)
        occurrence = naive.occurrence(scores, 10)
        found.append(
            [np.mean(ranks <= 1), np.mean(ranks <= 5), np.median(ranks), np.mean(1 / ranks), naive.skewness(occurrence)]
        )
    row = strict.row("nnn k=8 weight=0.75")
    names = ("recall_at_1", "recall_at_5", "median_rank", "mean_reciprocal_rank", "skewness")
    np.testing.assert_allclose([row.quality[name] for name in names], np.mean(found, axis=0), atol=1e-6)
    np.testing.assert_allclose([row.spread[name] for name in names], np.std(found, axis=0, ddof=1), atol=1e-6)
    assert (strict.protocol, strict.seeds, strict.queries, strict.targets) == ("strict", [0, 1, 2], 120, 120)
    assert (strict.query_bank, strict.target_bank) == (120, 120)


def test_with_a_query_bank_all_queries_test_once(banked):
    raw = GIVEN.queries.astype(float) @ GIVEN.targets.T.astype(float)
    corrected = naive.ranks(raw - offsets(BANK, GIVEN.targets), GIVEN.relevant) <= 1
    row = banked.row("nnn k=8 weight=0.75")
    hits = naive.ranks(raw, GIVEN.relevant) <= 1
    assert row.quality["recall_at_1"] == pytest.approx(corrected.mean())
    assert row.change == measures.paired_difference(hits, corrected)
    assert row.mcnemar == measures.mcnemar(hits, corrected)
    assert row.spread is None
    assert (banked.protocol, banked.queries, banked.targets, banked.target_bank) == ("query bank", 240, 240, None)


def test_baseline_can_be_another_correction():
    found = compared(query_bank=BANK, baseline="csls")
    assert found.baseline == "csls"
    assert found.row("csls").change is None
    assert found.row("none").change.value == pytest.approx(-compared(query_bank=BANK).row("csls").change.value)


def test_default_entries_are_those_that_the_banks_allow():
    with_both = compared(None, query_bank=BANK, target_bank=TARGET_BANK)
    assert [row.label for row in with_both.rows] == list(DEFAULT_CORRECTIONS)
    assert not with_both.notes
    small = compared(None, query_bank=BANK[:100])
    assert [row.label for row in small.rows] == ["none", "csls", "nnn", "is", "sn", "auto"]
    assert "nnn: k is 100 instead of 128, as there are 100 bank queries" in small.notes
    assert any(note.startswith("dbsn is left out: target bank: expected vectors") for note in small.notes)


def test_recall_at_any_k_is_measured():
    found = compared(query_bank=BANK, recalls=[1, 3, 50])
    measured = [name for name in found.rows[0].quality if name.startswith("recall")]
    assert measured == ["recall_at_1", "recall_at_3", "recall_at_50"]
    with pytest.raises(InputError, match="recall at: expected a whole number of at least 1, got 0"):
        compared(recalls=[0])


def test_queries_without_relevant_targets_are_counted_named_and_left_out():
    relevant = [[row] if row % 20 else [] for row in RIGHT.tolist()]
    found = compare(GIVEN.queries, GIVEN.targets, relevant, FEW, query_bank=BANK)
    assert found.left_out == list(range(0, 240, 20))
    assert found.queries == 228
    [note] = found.notes
    assert note.startswith("12 of 240 queries have no relevant target and are left out: rows 0, 20, 40, 60, 80, 100")
    assert note.endswith("180, …")
    answerable = [row for row in range(240) if row % 20]
    only = compare(GIVEN.queries[answerable], GIVEN.targets, RIGHT[answerable], FEW, query_bank=BANK)
    assert only.row("csls").quality == found.row("csls").quality


def test_several_relevant_targets_count_for_map_and_ndcg():
    relevant = [[row, (row + 1) % 240] for row in RIGHT.tolist()]
    found = compare(GIVEN.queries, GIVEN.targets, relevant, FEW, query_bank=BANK)
    ranked = measures.relevant_ranks(GIVEN.queries @ GIVEN.targets.T, relevant)
    quality = found.row("none").quality
    assert found.several_relevant
    assert quality["ndcg_at_10"] == pytest.approx(measures.ndcg_at(ranked, 10).mean())
    assert quality["mean_average_precision_at_10"] == pytest.approx(measures.average_precision_at(ranked, 10).mean())
    assert not compared(query_bank=BANK).several_relevant


def test_repeated_rows_of_a_bank_and_a_leak_are_noted():
    bank = np.concatenate([BANK, BANK[:7], GIVEN.queries[:5]])
    targets = np.concatenate([TARGET_BANK, GIVEN.targets[:3]])
    found = compared(query_bank=bank, target_bank=targets)
    assert found.notes == [
        "7 of 312 rows of the query bank repeat others, and so count once",
        "5 test queries are in the query bank: a leak, that makes corrections look better than they are",
        "3 searched targets are in the target bank: a leak, that makes corrections look better than they are",
    ]


def test_constant_similarity_is_noted_ranks_nothing_and_makes_no_hub():
    """Queries and targets that have no dimension in common: every similarity is exactly 0."""
    nothing = np.zeros_like(GIVEN.targets)
    queries, bank = (np.concatenate([rows, np.zeros_like(rows)], axis=1) for rows in (GIVEN.queries, BANK))
    targets = np.concatenate([nothing, GIVEN.targets], axis=1)
    found = compare(queries, targets, RIGHT, None, query_bank=bank, target_bank=targets[:50] + 0)
    assert "every query is equally similar to all targets: there is nothing to rank by" in found.notes
    assert [row.label for row in found.rows] == list(DEFAULT_CORRECTIONS)
    for row in found.rows:
        quality = row.quality
        assert (quality["recall_at_1"], quality["mean_rank"], quality["skewness"]) == (0, 120.5, 0), row.label


def test_shares_of_groups_are_measured_for_each_correction():
    groups = measures.as_groups(["left" if row < 60 else "right" for row in RIGHT], "side")
    found = compared(query_bank=BANK, attribute=Attribute(groups, top=5))
    assert found.group_shares == {"left": 0.25, "right": 0.75}
    raw = GIVEN.queries @ GIVEN.targets.T
    expected = (np.argsort(-raw, axis=1)[:, :5] < 60).mean()
    assert found.row("none").group_shares["left"] == pytest.approx(expected)
    split = compared(attribute=Attribute(groups, top=5), seeds=2)
    assert sum(split.row("csls").group_shares.values()) == pytest.approx(1)


@pytest.mark.parametrize("held", [2**22, 1])
def test_plans_of_the_whole_matrix_see_all_test_queries_at_once(held, monkeypatch):
    """As many queries as targets, one right target each: assignment is what Hungarian says, whatever the blocks."""
    monkeypatch.setattr(trials, "SCORES_HELD", held)
    found = compared([Method("none"), Method("hn"), Method("dsl_whole", {"temperature": 0.1})], query_bank=BANK)
    rows, columns = linear_sum_assignment(GIVEN.queries @ GIVEN.targets.T, maximize=True)
    assert found.row("hn").quality["recall_at_1"] == pytest.approx(np.mean(rows == columns))
    assert found.notes == ["hn, dsl_whole temperature=0.1: ranked with all test queries known, which no service has"]
