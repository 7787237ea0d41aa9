"""Measures of hubness against published code's numbers, against scipy, and on distributions with known answers."""

from pathlib import Path

import numpy as np
import pytest

from hubless import measures

GOLDEN = np.load(Path(__file__).parents[2] / "tests" / "golden" / "case_a.npz")
KNOWN = np.array([4, 2, 2, 1, 1])
MEASURED = {
    "k_skewness": measures.skewness,
    "k_skewness_truncnorm": measures.truncated_skewness,
    "robinhood": measures.robin_hood,
    "gini": measures.gini,
    "atkinson": measures.atkinson,
    "antihub_occurrence": measures.antihub_occurrence,
    "groupie_ratio": measures.groupie_ratio,
}
EVEN = np.full(8, 5)


@pytest.mark.parametrize("k", [1, 5, 10])
@pytest.mark.parametrize("name", MEASURED)
def test_measure_agrees_with_scikit_hubness(k, name):
    assert MEASURED[name](GOLDEN[f"raw_k{k}_occurrence"]) == pytest.approx(float(GOLDEN[f"raw_k{k}_{name}"]), abs=1e-6)


@pytest.mark.parametrize("k", [1, 5, 10])
def test_occurrence_of_scores_and_of_rows_is_the_golden_one(k):
    scores = GOLDEN["Q"] @ GOLDEN["T"].T
    golden = GOLDEN[f"raw_k{k}_occurrence"].tolist()
    assert measures.k_occurrence_of_scores(scores, k).tolist() == golden
    assert measures.k_occurrence(np.argsort(-scores, axis=1)[:, :k], scores.shape[1]).tolist() == golden


def test_known_occurrences_have_their_published_values():
    assert measures.skewness(KNOWN) == pytest.approx(0.91287, abs=1e-5)
    assert measures.robin_hood(KNOWN) == pytest.approx(0.2)
    assert measures.gini(KNOWN) == pytest.approx(0.28)
    assert measures.atkinson(KNOWN) == pytest.approx(0.06745, abs=1e-5)
    assert measures.mean_deviation(KNOWN) == pytest.approx(0.8)
    assert measures.groupie_ratio(KNOWN) == 0.4


@pytest.mark.parametrize("name", [*MEASURED, "kurtosis", "mean_deviation"])
def test_even_occurrence_has_no_hubness(name):
    measure = MEASURED.get(name) or getattr(measures, name)
    expected = 1 / 8 if name == "groupie_ratio" else 0
    assert measure(EVEN) == pytest.approx(expected, abs=1e-12)
    assert measure(np.full(8, 0.1)) == pytest.approx(expected, abs=1e-12)  # shared places are no whole numbers


def test_hub_occurrence_is_the_share_of_all_places_whatever_the_number_of_queries():
    occurrence = np.array([12, 8, 2, 2, 2, 2, 2, 2])  # m·k = 32 places, the mean is 4
    assert measures.hub_occurrence(occurrence) == pytest.approx(20 / 32)
    assert measures.hub_occurrence(occurrence, size=2.5) == pytest.approx(12 / 32)
    assert measures.hub_occurrence(3 * occurrence) == measures.hub_occurrence(occurrence)


@pytest.mark.parametrize("name", ["robin_hood", "gini", "atkinson", "hub_occurrence", "groupie_ratio", "skewness"])
def test_targets_that_nothing_found_have_zero_hubness(name):
    assert getattr(measures, name)(np.zeros(4, np.int64)) == 0


def test_tied_targets_share_the_places_that_are_left():
    scores = np.array([[3.0, 1, 1, 1, 0], [1.0, 1, 1, 1, 1]])
    assert measures.k_occurrence_of_scores(scores, 2) == pytest.approx(
        [1.4, 1 / 3 + 0.4, 1 / 3 + 0.4, 1 / 3 + 0.4, 0.4]
    )
