import json
import re

import numpy as np
import pytest
from benchmarks import expected_gain
from support.hubs import foreign, leaning, pairs, planted

import hubless
from hubless.builder.banks.bank_split import split_bank
from hubless.builder.banks.default_strength import ENOUGH_LABELS
from hubless.corrections import CORRECTIONS
from hubless.corrections.banks.bank_checks import is_unusable
from hubless.diagnosing.diagnose import diagnose
from hubless.diagnosing.gallery import gallery_of, open_gallery
from hubless.diagnosing.held_out import HeldOut, held_out_rankings, participation_ratio
from hubless.diagnosing.labelled_gain import SPLITS
from hubless.errors import InputError
from hubless.measures import k_occurrence, skewness
from hubless.measures.by_content import by_content
from hubless.vectors.sources import ArrayVectors, HeldVectors

COUNT, PAIRS = 300, 600


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
    assert diagnosis.verdict[-2] == "Hubs are not the main problem of this search."
    assert "--correction none" not in " ".join(diagnosis.verdict)


@pytest.mark.parametrize(
    ("spread", "lean", "outlook", "said"),
    [
        (0, 0, "nothing", "There is nothing to gain"),
        (1, 3, "some", "There may be some"),
        (4, 8, "unknown", "Most first answers change"),
        (3, 12, "much", "There is much to gain"),
    ],
)
def test_without_labels_the_verdict_ends_with_a_word_that_what_labels_measure_keeps(spread, lean, outlook, said):
    queries, targets = leaning(spread, lean, 2 * PAIRS)
    given = (targets[:PAIRS], queries[PAIRS:])
    found = hubless.diagnose(*given, metric="cosine")
    assert found.outlook == found.as_json()["outlook"] == outlook
    assert found.verdict[-1].startswith(said)
    assert not re.search(r"[+−]\d|R@1", " ".join(found.verdict))
    raw, corrected = 100 * by_hand(*given[::-1], queries[:PAIRS], np.arange(PAIRS)).mean(axis=1)
    least, most = {"nothing": (-np.inf, 1), "much": (2, np.inf)}.get(outlook, (-np.inf, np.inf))
    assert least < corrected - raw < most


@pytest.mark.parametrize(
    ("changed", "given_up", "linear", "uneven", "dimensions", "queries", "outlook"),
    [
        (0.0, 0.0, 0.5, 1.0, 64, 60, "nothing"),
        (0.0, 0.0, 0.5, 1.0, 64, 40, "some"),  # one more would be as many
        (0.4, 3.0, 0.5, 1.0, 64, 60, "some"),
        (0.6, 0.9, 0.5, 1.0, 64, 60, "some"),
        (0.6, 3.0, 0.5, 1.0, 20, 60, "much"),
        (0.6, 3.0, 0.5, 1.0, 19, 60, "unknown"),
        (0.6, 1.9, 0.5, 1.0, 64, 60, "unknown"),
        (0.6, 3.0, 0.2, 1.0, 64, 60, "unknown"),
        (0.6, 3.0, 0.5, 2.5, 64, 60, "unknown"),
    ],
)
def test_word_follows_what_changes_gives_up_and_leans(changed, given_up, linear, uneven, dimensions, queries, outlook):
    rows = np.zeros((queries, 8), np.float32)
    details = {"linearity": linear, "unevenness": uneven}
    assert HeldOut(*[rows] * 6, details, changed, given_up, dimensions).outlook == outlook


def test_much_is_not_said_where_targets_lie_in_few_of_their_dimensions():
    """There 10 principal components explain all offsets, as with factors of what people like, which lose."""
    queries, targets = leaning(3, 12, 2 * PAIRS)
    first = np.linalg.svd(targets - targets.mean(axis=0), full_matrices=False)[2][:10]
    assert participation_ratio(HeldVectors(targets, "targets")) > 20
    assert participation_ratio(HeldVectors(targets @ first.T @ first, "targets")) < 10
    found = hubless.diagnose(targets[:PAIRS] @ first.T @ first, queries[PAIRS:] @ first.T @ first, metric="cosine")
    assert (found.dim, found.outlook) == (targets.shape[1], "unknown")
    assert participation_ratio(HeldVectors(np.tile(np.eye(4, dtype=np.float32), (2, 1)), "rows")) == pytest.approx(3)


def test_words_held_in_nine_of_ten_banks_of_real_sets():
    rows = json.loads(expected_gain.KEPT.read_text("utf-8"))["banks"]
    assert len({row["set"] for row in rows}) >= 25
    assert {row["bank"] for row in rows} == {*expected_gain.KINDS}
    assert all(held >= 0.9 * said > 0 for held, said in expected_gain.kept_words(rows).values())


def test_labels_beside_a_bank_measure_what_no_word_can_promise():
    """The same vectors, where every query's own target is right, and where the popular ones found first are."""
    queries, targets = leaning(4, 8, 2 * PAIRS)
    asked, searched, bank = queries[:PAIRS], targets[:PAIRS], queries[PAIRS:]
    gains = []
    for right in (np.arange(PAIRS), (asked @ searched.T).argmax(axis=1)):
        found = hubless.diagnose(searched, bank, metric="cosine", queries=asked, relevant=right)
        raw, corrected = by_hand(bank, searched, asked, right).mean(axis=1)
        gains.append(found.gain.change.value)
        assert (found.gain.raw, gains[-1]) == pytest.approx((raw, corrected - raw))
        assert found.outlook == "unknown"
    assert gains[0] > 0.02
    assert gains[1] < -0.02
    assert "a loss: use `none`" in found.verdict[0]


def test_bank_of_targets_promises_no_gain():
    _, targets, _ = pairs(COUNT)
    diagnosis = diagnose(open_gallery(targets), targets, bank_of_targets=True)
    assert diagnosis.outlook == "unknown"
    assert "nothing here tells what live queries gain" in diagnosis.verdict[-1]


def by_hand(bank, targets, queries, right, target_bank=None):
    """Hits (2, m) of queries whose right targets are rows, raw and with offsets of `auto` for all these targets."""
    sources = [None if rows is None else ArrayVectors(rows, "rows") for rows in (bank, targets, target_bank)]
    offsets = CORRECTIONS["auto"]().fit(*sources).offsets(sources[1])
    similarities = queries @ targets.T
    return np.array([(scores.argmax(axis=1) == right) for scores in (similarities, similarities - offsets)])


@pytest.mark.parametrize("given", [True, False], ids=["the same bank", "no bank"])
def test_labels_that_are_the_bank_are_split_so_that_none_has_its_own_target_among_those_searched(given):
    queries, targets = leaning(3, 12, COUNT)  # where a bank that leaks makes another number
    bank = {"query_bank": queries} if given else {}
    found = hubless.diagnose(targets, **bank, metric="cosine", queries=queries, relevant=np.arange(COUNT))
    hits = []
    for seed in range(SPLITS):
        halves = np.split(np.random.default_rng(seed).permutation(COUNT), 2)
        inside, other = map(np.sort, halves)
        hits.append(by_hand(queries[other], targets[inside], queries[inside], np.arange(len(inside)), targets[other]))
    raw, corrected = np.mean(hits, axis=(0, 2))
    assert (found.gain.raw, found.gain.change.value) == pytest.approx((raw, corrected - raw))
    said = f"labels, on {SPLITS} strict splits: `auto` takes R@1 from {100 * raw:.1f} to {100 * corrected:.1f} %, "
    assert f"Measured with your {found.gain.queries} {said}{100 * (corrected - raw):+.1f} points [" in found.verdict[0]


def test_labels_that_are_the_bank_and_name_one_target_are_refused_and_splits_that_part_none_count_not():
    queries, targets, _ = pairs(ENOUGH_LABELS)
    with pytest.raises(InputError, match=r"^relevant: expected right targets in either half of the targets.*one targ"):
        hubless.diagnose(targets, metric="cosine", queries=queries, relevant=[0] * len(queries))
    halves = [np.random.default_rng(seed).permutation(ENOUGH_LABELS)[: ENOUGH_LABELS // 2] for seed in range(SPLITS)]
    apart = sum(int(np.isin([0, 2], half).sum() == 1) for half in halves)
    found = hubless.diagnose(targets, metric="cosine", queries=queries, relevant=np.arange(ENOUGH_LABELS) % 2 * 2)
    assert 0 < found.gain.splits == apart < SPLITS


@pytest.mark.parametrize("known", [ENOUGH_LABELS - 1, ENOUGH_LABELS])
def test_number_is_said_from_fifty_labels_on(known):
    queries, targets, _ = pairs(2 * COUNT, apart=1.5)
    right = [[row] if row < known else None for row in range(COUNT)]
    given = {"metric": "cosine", "queries": queries[:COUNT], "relevant": right}
    diagnosis = hubless.diagnose(targets[:COUNT], queries[COUNT:], **given)
    assert (diagnosis.gain is not None) == (known == ENOUGH_LABELS)
    few = [sentence.startswith("Labels are too few") for sentence in diagnosis.verdict]
    assert any(few) == (known < ENOUGH_LABELS)
    with pytest.raises(InputError, match="both queries and relevant"):
        hubless.diagnose(targets, queries, metric="cosine", queries=queries)


def test_few_queries_without_clear_hubs_are_too_few_to_tell():
    """All queries lean towards one direction, so targets there are found more often; 30 queries hardly show it."""
    rng = np.random.default_rng(0)
    bank, targets = (rng.normal(size=(rows, 8)).astype(np.float32) for rows in (60, 1000))
    bank[:, 0] += 0.4 * np.sqrt(8)
    diagnosis = diagnose(open_gallery(targets), bank)
    main = diagnosis.main
    assert main.raw.skewness > main.chance.skewness
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
    assert other.outlook == "unknown"
    assert is_unusable(other.bank)
    assert not any("large enough" in sentence or "to gain" in sentence for sentence in other.verdict)
    assert not any("same model" in note for note in other.notes)
    assert not is_unusable(own.bank)
    assert any("large enough" in sentence for sentence in own.verdict)


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


def test_live_queries_have_all_dimensions_where_an_index_keeps_fewer():
    index = hubless.Index("csls", "cosine", dims=16).fit(BANK[:100], TARGETS[:200])
    assert hubless.diagnose(index, live_queries=LIVE[:60]).strength is not None


def test_log_is_diagnosed_by_its_different_queries_and_promises_nothing():
    queries, targets, _ = pairs(2 * COUNT, apart=1.5)
    gallery, bank = open_gallery(targets[:COUNT]), queries[COUNT:]
    log = np.repeat(bank, np.random.default_rng(1).integers(1, 9, size=COUNT), axis=0)
    once, often = diagnose(gallery, bank), diagnose(gallery, log)
    assert once.outlook != "unknown"
    assert often.outlook == "unknown"
    assert often.held_out == COUNT / 2
    assert often.main.raw == once.main.raw
    assert any(f"query bank of {COUNT} different queries" in sentence for sentence in often.verdict)
    assert any(sentence.startswith("In a log the few things") for sentence in often.verdict)
    assert any("is a log" in note for note in often.notes)
