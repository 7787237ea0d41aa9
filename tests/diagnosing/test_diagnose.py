import numpy as np
import pytest
from support.hubs import foreign, pairs, planted
from support.labelled import compare

import hubless
from hubless.builder.banks.bank_checks import is_unusable
from hubless.builder.banks.bank_split import split_bank
from hubless.corrections import CORRECTIONS
from hubless.diagnosing.diagnose import SPLITS, diagnose
from hubless.diagnosing.gallery import gallery_of, open_gallery
from hubless.diagnosing.held_out import held_out_rankings
from hubless.errors import InputError
from hubless.measures import k_occurrence, skewness
from hubless.measures.by_content import by_content
from hubless.vectors.sources import ArrayVectors
from hubless_lab.experiments.methods import Method

COUNT = 300


def test_query_is_ranked_for_by_a_fit_without_it():
    bank, targets, _ = pairs(60)
    banks = []

    class Watched:
        def fit(self, query_bank, targets, target_bank=None):
            banks.append(query_bank.take(np.arange(query_bank.shape[0])))
            return CORRECTIONS["auto"]().fit(query_bank, targets)

    held = held_out_rankings(Watched(), ArrayVectors(bank, "bank"), ArrayVectors(targets, "targets"), 10)
    (fitted_on,) = banks
    assert len(held.rows) == 30
    together = np.concatenate([held.queries, fitted_on])
    assert len(np.unique(together, axis=0)) == len(together) == 60
    np.testing.assert_array_equal(held.queries, bank[held.rows])


def test_hubs_are_found_named_and_evened_out():
    bank, targets, _ = pairs(COUNT, apart=1.5)
    everything = planted(targets, bank.mean(axis=0), 1)
    diagnosis = diagnose(open_gallery(everything), bank)
    worst = diagnosis.hubs[0]
    assert worst.target.row == COUNT
    assert worst.raw > 0.8 * COUNT / 2
    assert worst.corrected < worst.raw / 3
    assert worst.offset == diagnosis.offsets.max()
    assert diagnosis.level == "severe"
    assert diagnosis.verdict[0].startswith("Hubness is severe")
    assert "`auto` evens it out" in diagnosis.verdict[1]


@pytest.mark.parametrize("size", [COUNT, 2600])
def test_build_and_diagnosis_give_the_same_figures(tmp_path, size):
    bank, targets, _ = pairs(size)
    targets = targets[:COUNT]
    measured = hubless.build(tmp_path, "things", targets, bank).measured
    diagnosis = hubless.diagnose(targets, bank, metric="cosine")
    assert measured.queries == diagnosis.held_out == min(size // 2, 1000)
    main = diagnosis.main
    for stored, told in (
        (measured.hubness_raw, main.raw),
        (measured.hubness_corrected, main.corrected),
        (measured.hubness_chance, main.chance),
    ):
        assert (stored.skewness, stored.most, stored.antihubs) == (told.skewness, told.most, told.antihubs)


def test_measures_are_those_of_the_raw_ranking_over_held_out_queries():
    bank, targets, _ = pairs(COUNT)
    diagnosis = diagnose(open_gallery(targets), bank)
    asked = split_bank(by_content(ArrayVectors(bank, "query bank")), 0).queries
    by_hand = k_occurrence(np.argsort(-asked @ targets.T, axis=1)[:, :10], COUNT)
    depth = diagnosis.depth(10)
    assert depth.raw.skewness == pytest.approx(skewness(by_hand), abs=1e-6)
    assert depth.raw.most == by_hand.max()
    assert {named.row for named in diagnosis.never} <= set(np.flatnonzero(by_hand == 0).tolist())


def test_random_finds_are_called_chance_and_auto_is_not_advised_against():
    rng = np.random.default_rng(0)
    bank, targets = (rng.normal(size=(400, 4)).astype(np.float32) for _ in range(2))
    diagnosis = diagnose(open_gallery(targets), bank)
    assert diagnosis.level == "none"
    assert diagnosis.depth(10).raw.skewness < 1
    assert diagnosis.verdict[0].startswith("There are no hubs to speak of")
    assert "`auto` has little to even out" in diagnosis.verdict[1]
    assert "Keep `auto` all the same" in diagnosis.verdict[-2]
    assert diagnosis.expected.low < 0 < diagnosis.expected.high
    assert "--correction none" not in " ".join(diagnosis.verdict)


def test_without_labels_the_verdict_ends_with_an_interval_that_holds_what_labels_measure():
    queries, targets, _ = pairs(2 * COUNT, apart=1.5)
    asked, bank = queries[:COUNT], queries[COUNT:]
    lean = asked.mean(axis=0) * np.random.default_rng(0).exponential(0.6, size=(COUNT, 1))
    points = []
    for searched in (targets[:COUNT], targets[:COUNT] + lean):
        gallery = open_gallery(searched.astype(np.float32))
        diagnosis = diagnose(gallery, bank)
        expected = diagnosis.expected
        said = f"between {expected.low:+.1f} and {expected.high:+.1f}"
        assert said in diagnosis.verdict[-1]
        entries = [Method("none"), Method("auto")]
        compared = compare(asked, gallery.targets, np.arange(COUNT), entries, query_bank=bank)
        assert expected.low < 100 * compared.row("auto").change.value < expected.high
        points.append(expected.points)
    assert said not in " ".join(diagnose(gallery, bank, measured=compared).verdict)
    assert points[0] < points[1]


def test_bank_of_targets_promises_no_gain():
    _, targets, _ = pairs(COUNT)
    diagnosis = diagnose(open_gallery(targets), targets, bank_of_targets=True)
    assert diagnosis.expected is None
    assert "nothing here tells what live queries gain" in diagnosis.verdict[-1]


def test_with_labels_the_verdict_begins_with_the_measured_gain_and_its_interval():
    bank, targets, _ = pairs(COUNT, apart=1.5)
    right = np.arange(COUNT)
    diagnosis = diagnose(open_gallery(targets), queries=bank, relevant=right)
    entries = [Method("none"), Method("auto")]
    change = compare(bank, targets, right, entries, seeds=SPLITS).row("auto").change
    gain = f"{100 * change.value:+.1f} points [{100 * change.interval.low:+.1f}, {100 * change.interval.high:+.1f}]"
    assert gain in diagnosis.verdict[0]
    assert "Measured with your labels" in diagnosis.verdict[0]
    with pytest.raises(InputError, match="both queries and relevant"):
        diagnose(open_gallery(targets), queries=bank)


def test_few_queries_without_clear_hubs_are_too_few_to_tell():
    """All queries lean towards one direction, so targets there are found more often; 30 queries hardly show it."""
    rng = np.random.default_rng(0)
    bank, targets = (rng.normal(size=(rows, 8)).astype(np.float32) for rows in (60, 1000))
    bank[:, 0] += 0.4 * np.sqrt(8)
    diagnosis = diagnose(open_gallery(targets), bank)
    main = diagnosis.main
    assert main.raw.skewness > main.chance.skewness
    assert main.raw.most <= 2 * main.chance.most
    assert diagnosis.level == "unclear"
    assert diagnosis.verdict[0].startswith("There are too few queries to tell")
    assert "Diagnose again with 100 queries or more." in diagnosis.verdict
    assert not any("no hubs to speak of" in sentence for sentence in diagnosis.verdict)


def test_bank_of_another_model_is_called_unusable_first_and_nothing_is_promised():
    """Another model's vectors are as a rotation of these: they fit each other, and not the targets."""
    queries, targets, _ = pairs(1200)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(queries.shape[1],) * 2))[0].astype(np.float32)
    own, other = (diagnose(open_gallery(targets), bank) for bank in (queries, queries @ turn))
    assert other.verdict[0].startswith("The query bank is unusable")
    assert is_unusable(other.bank)
    assert not any("large enough" in sentence or "Expect `auto`" in sentence for sentence in other.verdict)
    assert not any("same model" in note for note in other.notes)
    assert not is_unusable(own.bank)
    assert any("large enough" in sentence for sentence in own.verdict)


def test_bank_too_small_to_hold_out_is_refused():
    bank, targets, _ = pairs(30)
    with pytest.raises(InputError, match="at least 10 queries"):
        diagnose(open_gallery(targets), bank[:9])


def test_collection_is_diagnosed_with_the_bank_it_was_fitted_on(tmp_path):
    bank, targets, _ = pairs(100)
    payload = [{"title": f"title {row}"} for row in range(100)]
    hubless.build(tmp_path, "things", targets, bank, payload=payload)
    hubless.build(tmp_path, "plain", targets, bank, correction="none")
    diagnosis = diagnose(gallery_of(hubless.open(tmp_path, "things")))
    assert diagnosis.bank.queries == 100
    assert diagnosis.hubs[0].target.payload == {"title": f"title {diagnosis.hubs[0].target.row}"}
    alone = diagnose(gallery_of(hubless.open(tmp_path, "plain")))
    assert "nothing here tells what a correction gains" in alone.verdict[-1]


QUERIES, ITEMS, _ = pairs(900, apart=1.0, common=1.0)
LIVE, BANK, TARGETS = QUERIES[:220], QUERIES[220:600], ITEMS[400:]
FOREIGN = foreign()


@pytest.mark.parametrize(("bank", "told"), [(BANK, "do not speak against the bank"), (FOREIGN, "does not fit them")])
def test_diagnosis_says_whether_the_bank_is_like_the_live_queries(bank, told):
    found = hubless.diagnose(TARGETS, bank, metric="cosine", live_queries=LIVE)
    assert told in found.verdict[-1]
    assert (found.strength.strength == 1) == (bank is BANK)
    assert found.as_json()["strength"]["strength"] == found.strength.strength


def test_targets_are_no_live_queries():
    with pytest.raises(InputError, match="live queries: expected queries that people asked, got 100 % targets"):
        hubless.diagnose(TARGETS, BANK, metric="cosine", live_queries=TARGETS)


def test_live_queries_have_all_dimensions_where_an_index_keeps_fewer():
    index = hubless.Index("csls", "cosine", dims=16).fit(BANK[:100], TARGETS[:200])
    assert hubless.diagnose(index, live_queries=LIVE[:60]).strength is not None


def test_log_is_diagnosed_by_its_different_queries_and_promises_nothing():
    queries, targets, _ = pairs(2 * COUNT, apart=1.5)
    gallery, bank = open_gallery(targets[:COUNT]), queries[COUNT:]
    log = np.repeat(bank, np.random.default_rng(1).integers(1, 9, size=COUNT), axis=0)
    once, often = diagnose(gallery, bank), diagnose(gallery, log)
    assert once.expected is not None
    assert often.expected is None
    assert often.held_out == COUNT / 2
    assert often.main.raw == once.main.raw
    assert any(f"query bank of {COUNT} different queries" in sentence for sentence in often.verdict)
    assert any(sentence.startswith("In such a log the few things") for sentence in often.verdict)
    assert any("is a log" in note for note in often.notes)
