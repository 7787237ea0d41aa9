import numpy as np
import pytest
from support.labelled import pairs

from hubless.corrections import correction
from hubless.errors import DimensionMismatch, InputError
from hubless_lab.experiments import trials
from hubless_lab.experiments.drawn_banks import least_covering
from hubless_lab.experiments.trials import Pairs, banked_trial, open_labelled, strict_trial

GIVEN = pairs(50)


def several(targets=40, queries=90, seed=0):
    """Several queries a target, several targets a query, and some queries without any."""
    rng = np.random.default_rng(seed)
    relevant = [np.sort(rng.choice(targets, rng.integers(0, 4), replace=False)) for _ in range(queries)]
    vectors = pairs(max(targets, queries))
    return Pairs(vectors.queries[:queries], vectors.targets[:targets], relevant)


@pytest.mark.parametrize("given", [GIVEN, several(), pairs(51)], ids=["one", "several", "odd"])
@pytest.mark.parametrize("seed", [0, 1, 7])
def test_halves_are_disjoint_and_no_bank_query_has_its_target_in_the_gallery(given, seed):
    trial = strict_trial(given, seed)
    gallery = set(trial.target_rows.tolist())
    assert len(gallery) == len(given.targets) // 2
    np.testing.assert_array_equal(trial.targets, given.targets[trial.target_rows])
    other = given.targets[[row for row in range(len(given.targets)) if row not in gallery]]
    np.testing.assert_array_equal(trial.target_bank, other)
    inside = [[row for row in rows if row in gallery] for rows in given.relevant]
    assert trial.rows.tolist() == [query for query, rows in enumerate(inside) if rows]
    bank = [query for query, rows in enumerate(inside) if not rows and len(given.relevant[query])]
    np.testing.assert_array_equal(trial.query_bank, given.queries[bank])


@pytest.mark.parametrize("held", [2**22, 1])
def test_rankings_are_similarities_less_offsets_in_blocks_of_any_size(held, monkeypatch):
    monkeypatch.setattr(trials, "SCORES_HELD", held)
    trial = strict_trial(GIVEN, 0)
    scorers = [trial.fit(correction(name)) for name in ("none", "csls")]
    found = np.full((2, len(trial.rows), len(trial.targets)), np.nan)
    for number, block, scores in trial.rankings(scorers, strength=0.5):
        found[number, block] = scores
    raw = trial.queries @ trial.targets.T
    offsets = np.sort(trial.query_bank @ trial.targets.T, axis=0)[-10:].mean(axis=0) / 2
    np.testing.assert_allclose(found, [raw, raw - 0.5 * offsets], atol=1e-6)


def test_with_a_bank_from_elsewhere_all_answerable_queries_test_on_all_targets():
    given = several()
    trial = banked_trial(given, GIVEN.queries[:20])
    assert trial.rows.tolist() == [query for query, rows in enumerate(given.relevant) if len(rows)]
    assert len(trial.targets) == 40
    assert trial.target_bank is None


@pytest.mark.parametrize("relevant", [[0] * 20, [3] * 20], ids=["first target", "another"])
def test_queries_that_all_have_one_target_cannot_be_split(relevant):
    given = Pairs(GIVEN.queries[:20], GIVEN.targets, [np.array([row]) for row in relevant])
    with pytest.raises(InputError, match="expected queries with their targets in either half of the targets"):
        strict_trial(given, 0)


@pytest.mark.parametrize("wrong", ["queries", "query_bank", "target_bank"])
def test_vectors_of_different_dimension_are_refused(wrong):
    given = dict.fromkeys(("queries", "query_bank", "target_bank"), GIVEN.queries) | {wrong: GIVEN.queries[:, :15]}
    with pytest.raises(DimensionMismatch, match=rf"{wrong.replace('_', ' ')}: expected 16 dimensions.*got 15"):
        open_labelled(targets=GIVEN.targets, relevant=[0] * 50, metric="cosine", **given)


def test_adversarial_bank_finds_the_fewest_targets():
    targets = np.eye(5, dtype=np.float32)
    bank = targets[[0, 1, 2, 2, 2, 1, 3]]
    assert least_covering(bank, targets, 3).tolist() == [2, 3, 4]
    assert least_covering(bank, targets, 5).tolist() == [1, 2, 3, 4, 5]
