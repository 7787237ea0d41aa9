"""Live queries in the lab: whether the bank is like them, and the strength that suits them."""

import numpy as np
import pytest
from support.hubs import pairs, unit

import hubless
from hubless.errors import InputError

QUERIES, ITEMS, _ = pairs(900, apart=1.0, common=1.0)
LIVE, BANK, TARGETS = QUERIES[:220], QUERIES[220:600], ITEMS[400:]
LABELLED, RIGHT = QUERIES[600:], np.arange(200, 500)
rng = np.random.default_rng(3)
FOREIGN = unit(rng.normal(size=(300, 64)) * 0.6 + 2 * rng.normal(size=(3, 64))[rng.integers(3, size=300)])


@pytest.mark.parametrize(("bank", "told"), [(BANK, "the query bank fits them: keep"), (FOREIGN, "does not fit them")])
def test_diagnosis_says_whether_the_bank_is_like_the_live_queries(bank, told):
    found = hubless.diagnose(TARGETS, bank, metric="cosine", live_queries=LIVE, progress=False)
    assert told in found.verdict[-1]
    assert (found.strength.strength == 1) == (bank is BANK)
    assert found.as_json()["strength"]["strength"] == found.strength.strength


def test_tuning_recommends_a_strength_for_its_choice():
    options = {"metric": "cosine", "corrections": ["csls"], "folds": 2, "progress": False}
    h = hubless.offsets(TARGETS, BANK, metric="cosine", correction="csls")
    asked = unit(LABELLED + np.random.default_rng(0).normal(size=LABELLED.shape) / 8)
    right = np.argmax(asked @ TARGETS.T - h, axis=1)  # so that the gain of csls is real
    tuned = hubless.tune(asked, TARGETS, right, query_bank=BANK, live_queries=LIVE, **options)
    assert tuned.correction == "csls"
    offsets = hubless.offsets(TARGETS, BANK, metric="cosine", correction="csls", parameters=tuned.parameters)
    assert tuned.strength.strength == hubless.choose_strength(LIVE, TARGETS, offsets, metric="cosine").strength == 1
    assert "say that the query bank fits them" in tuned.notes[-1]
    assert tuned.as_json()["tuned"]["strength"]["strength"] == 1
    assert hubless.tune(asked, TARGETS, right, query_bank=BANK, **options).strength is None


def test_targets_are_no_live_queries():
    with pytest.raises(InputError, match="live queries: expected queries that people asked, got 100% targets"):
        hubless.diagnose(TARGETS, BANK, metric="cosine", live_queries=TARGETS, progress=False)
    with pytest.raises(InputError, match="live queries: expected queries that people asked, got 100% targets"):
        hubless.tune(LABELLED, TARGETS, RIGHT, metric="cosine", query_bank=BANK, live_queries=TARGETS, progress=False)
