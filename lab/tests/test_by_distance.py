"""The laboratory under metric euclidean: what it measures is that of an index, and of distances themselves."""

import numpy as np
import pytest
from support.by_distance import away_from_origin, similarities

import hubless
from hubless.errors import InputError

PROBLEM = away_from_origin(seed=2, targets=240, bank=200, dim=16)
RNG = np.random.default_rng(1)
QUERIES = (PROBLEM.targets + 1.5 * RNG.normal(size=PROBLEM.targets.shape)).astype(np.float32)
RIGHT = np.arange(240)
GIVEN = {"metric": "euclidean", "query_bank": PROBLEM.bank, "progress": False}


def first_right(scores):
    return float(np.mean(scores.argmax(axis=1) == RIGHT))


def test_comparison_measures_the_distances_and_what_an_index_answers():
    found = hubless.compare(QUERIES, PROBLEM.targets, RIGHT, corrections=["none", "csls", "ls", "mp"], **GIVEN)
    rows = {row.name: row.quality["recall_at_1"] for row in found.rows}
    near = similarities(QUERIES, PROBLEM.targets)
    assert rows["none"] == pytest.approx(first_right(near))
    bank = similarities(PROBLEM.bank, PROBLEM.targets)
    assert rows["csls"] == pytest.approx(first_right(near - np.sort(bank, axis=0)[-10:].mean(axis=0) / 2))
    for name in ("ls", "mp"):
        index = hubless.Index(name, "euclidean").fit(PROBLEM.bank, PROBLEM.targets)
        assert rows[name] == pytest.approx(np.mean(index.query(QUERIES, 1).rows[:, 0] == RIGHT))


def test_collection_is_evaluated_as_it_answers():
    index = hubless.Index("csls", "euclidean").fit(PROBLEM.bank, PROBLEM.targets)
    rows = {
        row.label: row.quality["recall_at_1"] for row in hubless.evaluate(index, QUERIES, RIGHT, progress=False).rows
    }
    assert rows["raw"] == pytest.approx(first_right(similarities(QUERIES, PROBLEM.targets)))
    assert rows["corrected"] == pytest.approx(np.mean(index.query(QUERIES, 1).rows[:, 0] == RIGHT))


def test_items_that_search_for_each_other_have_no_bank_query_of_themselves():
    near = similarities(PROBLEM.targets, PROBLEM.targets)
    np.fill_diagonal(near, -np.inf)
    corrected = (near - np.sort(near, axis=0)[-10:].mean(axis=0) / 2).argmax(axis=1)
    given = GIVEN | {"query_bank": PROBLEM.targets, "bank_of_targets": True, "leave_self_out": True}
    found = hubless.compare(PROBLEM.targets, PROBLEM.targets, corrected, corrections=["csls"], **given)
    assert {row.name: row.quality["recall_at_1"] for row in found.rows}["csls"] == 1
    assert np.mean(near.argmax(axis=1) == corrected) < 1


def test_scan_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="metric: expected cosine or dot: a scan looks at directions"):
        hubless.scan(PROBLEM.targets, QUERIES, metric="euclidean", progress=False)
