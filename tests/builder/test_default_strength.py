"""Who decides the default strength of a version: labels, lengths, live queries or the caller."""

import logging
from math import comb

import numpy as np
import pytest
from support import jobs
from support.hubs import pairs

import hubless
from hubless.builder.banks.default_strength import question, said_by_labels, upheaval

QUERIES, ITEMS, _ = pairs(900, apart=1.5)
BANK, TARGETS, ASKED = QUERIES[:500], ITEMS[500:], QUERIES[500:]
LABELLED = ASKED[:100]
OWN = np.arange(100)
"""Their own targets, which hubs hide: the correction finds them."""
POPULAR = np.argmax(LABELLED @ TARGETS.T, axis=1)
"""What they find raw: where hubs are what people want, the correction does harm."""
BOTH = np.concatenate([BANK, LABELLED])
LENGTHS = np.random.default_rng(0).lognormal(0, 0.4, (len(TARGETS), 1)).astype(np.float32)


def labels(right):
    return {500 + query: int(target) for query, target in enumerate(right)}


def fit(bank=BOTH, right=None, targets=TARGETS, metric="cosine", **more):
    relevant = None if right is None else labels(right)
    return hubless.Index(metric=metric).fit(bank, targets, relevant=relevant, **more)


def first_right(index, strength):
    return np.mean(index.query(LABELLED, limit=1, strength=strength).rows[:, 0] == POPULAR)


@pytest.mark.parametrize(("lost", "won"), [(3, 0), (4, 0), (0, 4), (4, 1), (6, 1), (7, 2), (19, 12), (21, 12)])
def test_labels_say_harm_where_so_many_losses_are_rarer_than_a_tenth(lost, won):
    same = 20
    before = np.repeat([True, False, True], [lost, won, same])
    after = np.repeat([False, True, True], [lost, won, same])
    n = lost + won
    as_many = sum(comb(n, count) for count in range(lost, n + 1)) / 2**n
    assert said_by_labels(before, after) == ("harm" if as_many < 0.1 else "no harm")
    assert said_by_labels(before[:19], np.zeros(19, bool)) == "too few"


def test_version_whose_labels_say_harm_is_raw_and_says_what_it_measured(caplog):
    index = fit(right=POPULAR)
    decided = index.manifest.decided
    assert (index.strength, decided.by, decided.labels.said) == (0, "labels", "harm")
    assert (decided.labels.queries, index.manifest.bank.queries) == (100, 500)  # none is in the bank
    assert decided.labels.raw == first_right(index, 0) == 1
    assert decided.labels.corrected == pytest.approx(first_right(index, 1))
    assert decided.labels.low < decided.labels.corrected - decided.labels.raw < decided.labels.high < 0
    assert "served raw, with strength 0" in decided.notes[0]
    assert decided.notes[0] in caplog.messages


@pytest.mark.parametrize(("bank", "queries"), [(BOTH, 100), (QUERIES[300:600], 60), (QUERIES[520:600], None)])
def test_good_correction_stays_and_small_banks_ask_none_of_their_own(bank, queries):
    start = len(bank) - (count := min(100, len(bank)))
    right = {start + query: int(target) for query, target in enumerate(OWN[100 - count :])}
    decided = hubless.Index(metric="cosine").fit(bank, TARGETS, relevant=right).manifest.decided
    assert (decided.value, decided.by) == (1, "default")
    assert (decided.labels and decided.labels.queries) == queries
    assert decided.labels is None or (decided.labels.said == "no harm" and decided.labels.corrected > 0.95)


def test_strength_that_is_given_stays_and_is_warned_about(tmp_path):
    made = hubless.build(tmp_path, "c", TARGETS, BOTH, relevant=labels(POPULAR), strength=0.75)
    assert (made.strength, made.decided.by, made.decided.labels.strength) == (0.75, "given", 0.75)
    assert "stays, as you set it" in made.decided.notes[0]
    again = hubless.refit(tmp_path, "c", BANK)
    assert (again.strength, again.decided.by, again.decided.labels) == (0.75, "given", None)


def test_raw_stays_until_other_labels_speak(tmp_path):
    assert hubless.build(tmp_path, "c", TARGETS, BOTH, relevant=labels(POPULAR)).strength == 0
    without = hubless.refit(tmp_path, "c", BANK)
    assert (without.strength, without.decided.labels.said) == (0, "harm")
    assert hubless.refit(tmp_path, "c", BOTH, relevant=labels(OWN)).strength == 1
    calibrated = hubless.calibrate(tmp_path, "c", LABELLED, POPULAR)
    assert (calibrated.strength, calibrated.decided.labels.queries) == (0, 100)
    calibrated = hubless.calibrate(tmp_path, "c", LABELLED, OWN)
    assert (calibrated.strength, calibrated.decided.notes) == (1, ())
    assert hubless.open(tmp_path, "c").query(LABELLED).strength == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (0.25, "lengths")),
        ({"right": OWN}, (1, "labels")),  # better than at a quarter
        ({"right": POPULAR}, (0, "labels")),
        ({"right": OWN[::-1]}, (0, "labels")),  # they tell neither way
        ({"live_queries": ASKED[100:]}, (0.25, "lengths")),  # they choose 1, and do not see what is popular
        ({"live_queries": ASKED[100:], "targets": TARGETS}, (1, "live queries")),
        ({"targets": TARGETS}, (1, "default")),
        ({"metric": "cosine"}, (1, "default")),
    ],
)
def test_lengths_under_dot_begin_at_a_quarter_until_labels_know_more(options, expected):
    right = options.get("right")
    if right is POPULAR:
        options = {"right": np.argmax(LABELLED @ (TARGETS * LENGTHS).T, axis=1)}
    index = fit(**{"targets": TARGETS * LENGTHS, "metric": "dot", **options})
    decided = index.manifest.decided
    assert (decided.value, decided.by) == expected
    if right is not None:
        index.calibrate(LABELLED, OWN[::-1])
        assert index.strength == (1 if right is OWN else 0)  # labels that tell nothing change nothing
    assert any("differ in length" in note for note in decided.notes) == (expected[1] == "lengths")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"apart": 3}, "50 labelled queries (`relevant`) would tell which."),
        ({"apart": 0}, "50 labelled queries (`relevant`) would tell."),
        ({"apart": 3, "correction": "none"}, None),
    ],
)
def test_build_without_labels_says_that_nobody_judged_and_warns_where_most_answers_change(options, said, caplog):
    correction = options.get("correction", "auto")
    bank, items, _ = pairs(900, apart=options["apart"], common=2)
    with caplog.at_level(logging.INFO, "hubless.banks"):
        decided = hubless.Index(correction, metric="cosine").fit(bank[:600], items[600:]).manifest.decided
    assert [note.endswith(said) for note in decided.notes] == ([] if said is None else [True])
    levels = [each.levelno for each in caplog.records if each.message in decided.notes]
    assert levels == ([] if said is None else [logging.WARNING if said.endswith("which.") else logging.INFO])
    assert said is None or ("Nobody has judged" in decided.notes[0]) == (levels == [logging.INFO])


def test_labels_of_a_gate_decide_the_strength_of_a_job(tmp_path):
    jobs.write(tmp_path)
    raw = jobs.run(tmp_path).manifest
    asked = np.random.default_rng(2).normal(size=(60, jobs.DIM)).astype(np.float32)
    found = hubless.open(tmp_path / "catalog", jobs.NAME).query(asked, limit=1, strength=0)
    np.save(tmp_path / "asked.npy", asked)
    (tmp_path / "right.txt").write_text("\n".join(line[0] for line in found.ids))
    gate = {"queries": "asked.npy", "relevant": "right.txt", "min": 1}
    jobs.rewrite(tmp_path, gates={"r_at_1": gate})
    done = jobs.run(tmp_path, full=True)
    assert (raw.strength, raw.decided.labels) == (1, None)
    assert (done.manifest.strength, done.manifest.decided.labels.queries, done.published) == (0, 60, True)


def test_upheaval_is_the_share_that_moves_and_the_spreads_that_it_gives_up():
    raw = np.array([[1, 0.8, 0.6], [1, 0.5, 0.5], [0.9, 0.7, 0.5]], np.float32)  # spreads 0.1, 0 and 0.1
    changed, given_up = upheaval(raw, np.array([True, True, False]), np.array([0.6, 0.5, 0.9], np.float32))
    assert changed == pytest.approx(2 / 3)
    assert given_up == pytest.approx(4 / 3)
    assert question(changed, given_up).startswith("67 % of the first answers change, to much less similar")
    assert question(0.49, 3) is question(0.9, 0.99) is None
