"""The same rankings as the code that the authors of each rescorer published: see tests/golden/README.md."""

from pathlib import Path

import numpy as np
import pytest
from support.figures import DSL_FIRST_ROW, figure_scores, softmax
from support.problems import Problem
from support.rankings import best, dense

import hubless
from hubless import CORRECTIONS
from hubless.corrections.query_time import Candidates


@pytest.fixture
def case(golden):
    return Problem(golden["T"], golden["Bq"], golden["Bt"], golden["Q"])


@pytest.mark.parametrize(
    ("name", "key", "candidates"), [("ls", "ls", 10), ("nicdm", "nicdm", 10), ("mp", "mp_normal", None)]
)
def test_rankings_are_the_published_codes(golden, case, name, key, candidates, monkeypatch):
    """The published program of some looks at as many candidates as neighbours are asked for."""
    expected = golden[f"top10_{key}_k10"]
    np.testing.assert_array_equal(best(dense(case, name, candidates, k=10)), expected)
    # so that the correction is fitted on the whole bank, as published
    monkeypatch.setattr("hubless.corrections.banks.bank_checks.HELD_OUT_SHARE", 0)
    for index, more in (("flat", {}), ("hnsw", {"ef": len(case.targets)})):
        made = hubless.Index(name, "cosine", parameters={"k": 10}, index=index).fit(case.bank, case.targets)
        asked = {"candidates": candidates or len(case.targets), **more}
        np.testing.assert_array_equal(made.query(case.queries, 10, parameters=asked).rows, expected)


def test_counted_proximities_are_those_of_kiez_and_scikit_hubness(case):
    """There one set is the bank, too."""
    with np.load(Path(__file__).parents[2] / "tests" / "golden" / "peers_on_a.npz") as arrays:
        peers = dict(arrays)
    rescorer = CORRECTIONS["mp_empiric"]().fit(case.targets, case.targets).query_time(case.targets)
    all_rows = np.arange(len(case.targets))
    for query, counts in zip(case.queries, peers["mp_empiric_counts"], strict=True):
        candidates = Candidates(all_rows, case.targets @ query, lambda: case.targets)
        scores = rescorer.scores(query, candidates)
        np.testing.assert_allclose(scores * len(all_rows), counts, rtol=0, atol=1e-3)


def test_dsl_gives_the_figures_numbers():
    published = np.exp(figure_scores("dsl"))  # at τ = 1 our score is the logarithm of the published one
    assert softmax(published)[0] == pytest.approx(DSL_FIRST_ROW, abs=1e-4)
    assert published.argmax(axis=1).tolist() == [0, 1, 1, 0]
