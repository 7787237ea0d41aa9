import logging

import numpy as np
import pytest
from support.hubs import foreign, pairs

import hubless
from hubless.measures.evenness import STRENGTHS

QUERIES, ITEMS, _ = pairs(900, apart=1.0, common=1.0)
LIVE, BANK, TARGETS = QUERIES[:220], QUERIES[220:600], ITEMS[400:]
FOREIGN = foreign()


def fit(bank, live=LIVE, correction="auto", **options):
    return hubless.Index(correction=correction, metric="cosine", **options).fit(bank, TARGETS, live_queries=live)


@pytest.mark.parametrize("correction", ["auto", "csls", "nnn"])
def test_bank_like_the_live_queries_keeps_strength_1(correction, caplog):
    index = fit(BANK, correction=correction, parameters={"k": 16} if correction == "nnn" else None)
    chosen = index.manifest.strength_choice
    assert (index.strength, index.manifest.strength, chosen.strength) == (1, 1, 1)
    assert chosen.queries == 220
    assert chosen.state != "too_few"
    assert not any("live" in note for note in [*index.manifest.notes, *caplog.messages])


@pytest.mark.parametrize("correction", ["auto", "csls"])
def test_foreign_bank_lowers_the_strength_and_a_sentence_says_so(correction, caplog):
    index = fit(FOREIGN, correction=correction)
    assert index.strength <= 0.25
    note = index.manifest.notes[-1]
    assert "say that the query bank does not fit them" in note
    assert "Make a bank of your own queries" in note
    assert note in caplog.messages


def test_strength_is_the_default_of_queries_and_no_other():
    index = fit(FOREIGN)
    query, ids = LIVE[:3], [1, 2]
    assert index.strength < 1
    assert index.query(query).strength == index.strength
    np.testing.assert_array_equal(index.query(query).rows, index.query(query, strength=index.strength).rows)
    assert (index.query(query).rows != index.query(query, strength=1).rows).any()
    assert index.query(ids=ids).strength == 0
    assert index.side_by_side(query).corrected.strength == (index.strength or 1)
    assert index.query(query, explain=True)[0][0].explanation.strength == index.strength


def test_build_stores_the_choice_and_the_version_answers_by_it(tmp_path):
    np.save(tmp_path / "live.npy", LIVE)
    manifest = hubless.build(tmp_path / "catalog", "c", TARGETS, FOREIGN, live_queries=tmp_path / "live.npy")
    opened = hubless.open(tmp_path / "catalog", "c")
    opened.check_canaries()
    chosen = opened.manifest.strength_choice
    assert opened.strength == manifest.strength == chosen.strength < 1
    assert chosen.strengths == list(STRENGTHS)
    assert len(chosen.entropy) == len(chosen.error) == len(chosen.skewness) == len(STRENGTHS)
    assert manifest.provenance.inputs["live_queries"].name == "live.npy"
    assert manifest.measured.strength == 1
    assert opened.query(LIVE[0]).strength == manifest.strength


def test_saving_keeps_the_strength(tmp_path):
    index = fit(FOREIGN)
    strength = index.strength
    index.add(ITEMS[:3], ids=[1000, 1001, 1002])
    saved = index.save(tmp_path, "c")
    assert saved.strength == hubless.open(tmp_path, "c").strength == strength < 1
    assert saved.strength_choice.different == index.manifest.strength_choice.different


@pytest.mark.parametrize("correction", ["dis", "sinkhorn"])
def test_gated_and_rescored_corrections_choose_by_their_own_answers(correction):
    index = fit(BANK[:60], LIVE[:40], correction=correction)
    chosen = index.manifest.strength_choice
    assert chosen.queries == 40
    rows = [index.query(LIVE[:40], strength=strength, parameters={"exact": True}).rows for strength in STRENGTHS]
    assert chosen.entropy == pytest.approx([entropy(found[np.array(kept_of(rows[0]))]) for found in rows], abs=1e-6)


def entropy(rows):
    shares = np.unique(rows, return_counts=True)[1] / rows.size
    return -np.sum(shares * np.log(shares))


def kept_of(raw):
    kept = []
    for query, line in enumerate(raw):
        if all(len(set(line) & set(raw[other])) < 8 for other in kept):
            kept.append(query)
    return kept


@pytest.mark.parametrize("count", [1, 19])
def test_too_few_live_queries_change_nothing_and_say_so(count):
    index = fit(FOREIGN, LIVE[:count])
    assert (index.strength, index.manifest.strength_choice.state) == (1, "too_few")
    assert "no strength can be chosen. Give 20 at least" in index.manifest.notes[-1]


def test_live_queries_that_are_in_the_bank_are_warned_about(caplog):
    with caplog.at_level(logging.WARNING, "hubless.banks"):
        fit(BANK, np.concatenate([LIVE[:100], BANK[:100]]))
    assert any("50 % of the live queries are in the query bank" in message for message in caplog.messages)


def test_choice_agrees_with_that_by_offsets():
    offsets = hubless.offsets(TARGETS, FOREIGN, metric="cosine", correction="csls")
    chosen = hubless.choose_strength(LIVE, TARGETS, offsets, metric="cosine")
    assert chosen.strength <= 0.25
    assert hubless.choose_strength(LIVE, TARGETS, 0 * offsets, metric="cosine").strength == 1
    own = hubless.offsets(TARGETS, BANK, metric="cosine", correction="csls")
    assert hubless.choose_strength(LIVE, TARGETS, own, metric="cosine").strength == 1
