import logging

import numpy as np
import pytest
from support.hubs import pairs, unit

import hubless
from hubless.corrections.banks.bank_checks import check_bank, hold_out, refuse_targets_for_queries
from hubless.errors import InputError
from hubless.vectors.sources import ArrayVectors, in_memory

BANK, TARGETS, _ = pairs(400, apart=1.5)
"""Queries lie apart from targets, as texts and images do."""


def checked(bank, targets=TARGETS, metric="cosine", **options):
    return check_bank(ArrayVectors(bank, "query bank"), ArrayVectors(targets, "targets"), metric, **options)


def test_bank_of_queries_passes_without_a_note():
    found = checked(BANK)
    assert found.notes == []
    assert (found.record.queries, found.record.repeated, found.record.among_targets) == (400, 0, 0)
    assert found.record.apart_from_targets > 0.9
    assert found.record.related_to_targets > 0.9
    assert found.record.relative_length is None


@pytest.mark.parametrize("bank", [TARGETS, TARGETS[:30], np.concatenate([BANK[:100], TARGETS[:90]])])
def test_bank_that_holds_targets_is_refused_with_advice(bank):
    with pytest.raises(InputError, match=r"example queries, got \d+ % targets.*No queries yet\?.*bank_of_targets"):
        checked(bank)
    assert "are targets" in checked(bank, bank_of_targets=True).notes[0]


@pytest.mark.parametrize("queries", [160, 80])
def test_titles_that_people_type_are_noted_and_copies_of_one_are_one(queries):
    found = checked(np.concatenate([BANK[:queries], TARGETS[: queries // 4]]))
    assert found.notes[0].startswith(f"{100 * found.record.among_targets:.3g} % of the different queries are targets")
    assert checked(np.concatenate([BANK, np.repeat(TARGETS[:1], 400, axis=0)])).record.among_targets < 0.01


def test_other_items_in_place_of_queries_are_noted():
    _, others, _ = pairs(800, apart=1.5)
    assert "lies where the targets lie" in checked(others[:400], others[400:]).notes[0]
    with pytest.raises(InputError, match="% targets"):
        checked(others[:480], others[400:])


def test_other_items_are_refused_where_test_queries_lie_elsewhere():
    queries, others, _ = pairs(900, apart=1.5)
    with pytest.raises(InputError, match="lies with the targets, and apart from the test queries"):
        refuse_targets_for_queries(others[:300], others[300:600], queries[300:600])
    refuse_targets_for_queries(others[:100], others[300:600], queries[300:600])  # too few to tell
    refuse_targets_for_queries(queries[:300], others[300:600], queries[300:600])
    refuse_targets_for_queries(others[:300], others[300:600], others[600:])


def test_queries_of_another_model_are_noted():
    turned = unit(BANK @ np.linalg.qr(np.random.default_rng(0).normal(size=(64, 64)))[0])
    assert any("nothing to do with the targets" in note for note in checked(turned).notes)


def test_lengths_of_another_model_are_noted_under_metric_dot():
    assert checked(BANK, metric="dot").notes == []
    assert "5 times as long" in checked(5 * BANK, metric="dot").notes[0]


def test_bank_of_some_topics_is_noted_with_what_to_do():
    queries, targets, topic = pairs(600, common=0)
    narrow = checked(queries[topic < 4], targets)
    assert narrow.record.coverage < 0.5
    (note,) = (note for note in narrow.notes if "covers only" in note)
    assert "Add queries about the others" in note
    full = checked(queries, targets)
    assert full.record.coverage > 0.9
    assert not any("covers only" in note for note in full.notes)


def test_repeated_queries_are_noted_from_a_quarter_on():
    assert checked(np.concatenate([BANK[:90], BANK[:30]])).notes == []
    assert checked(np.concatenate([BANK[:90], BANK[:60]])).notes == [
        "The query bank is a log: 40 % repeat other queries. Each counts once; how often it was asked "
        "says whose first answer is kept."
    ]


def test_bank_of_fewer_than_twenty_is_said_to_be_noise():
    assert checked(BANK[:20]).notes == []
    assert checked(BANK[:5]).notes[0].startswith("The query bank has only 5 queries.")


def test_build_and_fit_refuse_targets_and_log_and_keep_what_they_notice(tmp_path, caplog):
    index = hubless.Index(metric="cosine")
    for make in (lambda **given: hubless.build(tmp_path, "things", **given), index.fit):
        with pytest.raises(InputError, match="bank_of_targets"):
            make(targets=TARGETS, query_bank=TARGETS)
        make(targets=TARGETS, query_bank=TARGETS, bank_of_targets=True)
    caplog.clear()
    with caplog.at_level(logging.WARNING, "hubless.banks"):
        made = hubless.build(tmp_path, "things", TARGETS, BANK[:5])
    assert made.notes == [record.getMessage() for record in caplog.records]
    assert "only 5 queries" in made.notes[0]
    assert hubless.open(tmp_path, "things").manifest.notes == made.notes
    index.fit(BANK[:5], TARGETS)
    assert index.save(tmp_path, "saved").notes == made.notes


@pytest.mark.parametrize(("count", "held_out"), [(9, 0), (57, 5)])
def test_queries_that_tune_an_index_are_no_part_of_what_makes_it(count, held_out):
    rows = np.arange(2 * count, dtype=np.float32).reshape(count, 2)
    made_by, tuned_by = hold_out(ArrayVectors(rows, "query bank"), seed=0)
    assert (made_by.shape[0], len(tuned_by)) == (count - held_out, held_out or count)
    both = np.vstack([in_memory(made_by), tuned_by])
    np.testing.assert_array_equal(np.unique(both, axis=0), rows)
