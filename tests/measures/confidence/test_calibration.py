import json

import numpy as np
import pytest

import hubless
from hubless.errors import InputError

RNG = np.random.default_rng(0)
N, D = 300, 24
TARGETS = RNG.normal(size=(N, D)).astype(np.float32)


def asked(rows, seed):
    """Queries for some targets, with so much noise that about half of them find theirs first."""
    noise = np.random.default_rng(seed).normal(size=(len(rows), D))
    return (TARGETS[rows] + 1.26 * noise).astype(np.float32)


ROWS = np.random.default_rng(1).integers(0, N, 400)
BANK = asked(ROWS, 2)
LIVE_ROWS = np.random.default_rng(3).integers(0, N, 2000)
LIVE = asked(LIVE_ROWS, 4)
IDS = [f"t{row}" for row in range(N)]
LABELS = [IDS[row] for row in ROWS]


def error(index):
    """How far confidence is from how often the first hit is right, in ten parts of the queries: the mean of that."""
    found = index.query(LIVE, 1)
    right = np.array([ids[0] == IDS[row] for ids, row in zip(found.ids, LIVE_ROWS, strict=True)])
    parts = np.array_split(np.argsort(found.confidence), 10)
    return np.mean([abs(found.confidence[part].mean() - right[part].mean()) for part in parts])


def fitted(correction="auto", relevant=LABELS, **more):
    return hubless.Index(correction, "cosine").fit(BANK, TARGETS, ids=IDS, relevant=relevant, **more)


def built(catalog, bank=BANK, **more):
    hubless.build(catalog, "c", TARGETS, bank, ids=IDS, metric="cosine", **more)
    return hubless.open(catalog, "c")


@pytest.mark.parametrize("correction", ["none", "auto", "dis", "sinkhorn"])
def test_labels_of_the_bank_make_confidence_a_probability(correction):
    index = fitted(correction)
    found = index.query(LIVE)
    assert found.calibrated
    assert index.manifest.confidence.calibrated
    assert index.manifest.confidence.pairs == (400 if correction == "none" else 80)
    assert error(index) < 0.09


def test_labelled_queries_are_left_out_of_the_bank():
    index = fitted()
    assert index.manifest.bank.queries == 320
    assert fitted(relevant=None).manifest.bank.queries == 400


def test_only_answers_at_the_calibrated_strength_are_called_probabilities():
    index = fitted()
    assert index.query(LIVE[:1]).calibrated
    assert not index.query(LIVE[:1], strength=0.5).calibrated
    assert not fitted(relevant=None).query(LIVE[:1]).calibrated


def test_version_calibrated_later_answers_as_before_and_as_an_index_calibrated_in_memory(tmp_path):
    before = built(tmp_path)
    labels = [[IDS[row]] for row in LIVE_ROWS[:150]]
    made = hubless.calibrate(tmp_path, "c", LIVE[:150], labels)
    after = hubless.open(tmp_path, "c")
    assert made.confidence.pairs == 150
    assert (before.query(LIVE).ids, before.query(LIVE).calibrated) == (after.query(LIVE).ids, False)
    before.calibrate(LIVE[:150], labels)
    np.testing.assert_array_equal(before.query(LIVE).confidence, after.query(LIVE).confidence)
    assert before.query(LIVE, 50, coverage=0.8).ids == after.query(LIVE, 50, coverage=0.8).ids
    assert error(after) < 0.07


@pytest.mark.parametrize("accuracy", [0.8, 0.9])
def test_version_keeps_its_promise_on_other_queries(tmp_path, accuracy):
    built(tmp_path)
    labels = [[IDS[row]] for row in LIVE_ROWS[:300]]
    made = hubless.calibrate(tmp_path, "c", LIVE[:300], labels)
    assert accuracy in made.confidence.accuracies
    index = hubless.open(tmp_path, "c")
    found = index.query(LIVE[300:], 1, min_accuracy=accuracy)
    right = np.array([ids == [IDS[row]] for ids, row in zip(found.ids, LIVE_ROWS[300:], strict=True)])
    assert 0.05 < found.answered.mean() < 0.9
    assert right[found.answered].mean() >= accuracy
    assert not any(found.ids[query] for query in np.flatnonzero(~found.answered))
    both = index.query(LIVE[300:], 1, min_accuracy=accuracy, min_confidence=1.0)
    assert not both.answered.any()
    with pytest.raises(InputError, match="min_accuracy: expected none but at strength 1, which has labels"):
        index.query(LIVE, min_accuracy=accuracy, strength=0.5)
    with pytest.raises(InputError, match=r"min_accuracy: expected a number of at least 0 and at most 0\.99"):
        index.query(LIVE, min_accuracy=1)


def test_queries_have_as_many_hits_as_hold_the_right_one_as_often_as_asked_for():
    index = fitted(relevant=None, payload=[{"number": row} for row in range(N)])
    index.calibrate(LIVE[:400], [[IDS[row]] for row in LIVE_ROWS[:400]])
    live, right = LIVE[400:], [IDS[row] for row in LIVE_ROWS[400:]]
    whole = index.query(live, N)
    found = index.query(live, 50, coverage=0.9, with_payload=True, explain=True)
    counts = [*map(len, found.ids)]
    assert np.mean([own in ids for own, ids in zip(right, found.ids, strict=True)]) == pytest.approx(0.9, abs=0.03)
    ranks = [1 + ids.index(own) for own, ids in zip(right, whole.ids, strict=True)]
    assert np.mean(counts) < 0.75 * np.quantile(ranks, 0.9)
    assert (found.answered.all(), min(counts)) == (True, 1)
    for line, ids in enumerate(whole.ids[:50]):
        assert [hit.id for hit in found[line]] == ids[: counts[line]]
    for options, message in (({"strength": 0.5}, "but at strength 1"), ({"diversity": 0.5}, "beside diversity")):
        with pytest.raises(InputError, match=f"^coverage: expected none {message}"):
            index.query(live, 50, **options, coverage=0.9)


def test_queries_without_a_right_target_count_as_answered_wrong(tmp_path):
    """Half of the queries are about targets that are not there: where their labels say so, the promise is kept."""
    here = LIVE_ROWS < N // 2
    index = hubless.Index("auto", "cosine").fit(BANK, TARGETS[: N // 2], ids=IDS[: N // 2])
    own = [[IDS[row]] if inside else [] for row, inside in zip(LIVE_ROWS, here, strict=True)]
    path = tmp_path / "labels.json"
    path.write_text(json.dumps(own[:400]))
    kept = {}
    for name, labels in {"said": path, "silent": [each or None for each in own[:400]]}.items():
        index.calibrate(LIVE[:400], labels)
        found = index.query(LIVE[400:], 1, min_accuracy=0.8)
        right = [ids == label for ids, label in zip(found.ids, own[400:], strict=True)]
        kept[name] = np.mean(right, where=found.answered)
        assert found.answered.mean() > 0.02
    assert index.manifest.confidence.pairs == here[:400].sum()
    assert kept["silent"] < 0.75 < 0.8 <= kept["said"]


def test_scores_alone_say_what_the_version_says():
    index = fitted()
    found = index.query(LIVE[:50], 11)
    again = hubless.Cut.from_json(index.cut.as_json())
    for line in range(50):
        scores = found.scores[line].tolist()
        assert index.cut.confidence(scores) == pytest.approx(found.confidence[line], abs=1e-6)
        assert again.confidence(scores) == pytest.approx(found.confidence[line], abs=1e-6)
        assert again.accept(scores, 0.8) == (found.confidence[line] >= again.threshold(0.8))


def test_merge_carries_the_model_and_refit_its_calibration(tmp_path):
    first = built(tmp_path, relevant=LABELS)
    first.add(TARGETS[:2] + 1, ["new1", "new2"])
    assert first.query(LIVE).calibrated  # beside the index, too
    first.save(tmp_path, "c")
    merged = hubless.open(tmp_path, "c")
    np.testing.assert_allclose(merged.query(LIVE).confidence, first.query(LIVE).confidence, rtol=1e-4)
    refitted = hubless.refit(tmp_path, "c", BANK[:300])
    assert (refitted.confidence.calibrated, refitted.confidence.pairs) == (True, 80)
    assert error(hubless.open(tmp_path, "c")) < 0.12
    other = hubless.refit(tmp_path, "c", correction="csls")
    assert not other.confidence.calibrated  # its scores are others


def test_refit_takes_labels_of_the_queries_that_it_is_given(tmp_path):
    built(tmp_path, BANK[:100])
    made = hubless.refit(tmp_path, "c", BANK[100:], append=True, relevant=LABELS[100:])
    assert made.confidence.pairs == made.decided.labels.queries == 80  # a fifth of the bank
    assert made.bank.queries == 320


def test_labels_come_from_a_file(tmp_path):
    path = tmp_path / "relevant.json"
    path.write_text(json.dumps([None, [], *LABELS[2:]]))
    made = fitted(relevant=path).manifest
    assert made.confidence.pairs == 80
    assert "relevant" in made.provenance.inputs


def test_version_without_a_bank_has_no_model(tmp_path):
    made = hubless.build(tmp_path, "c", TARGETS, correction="none")
    assert made.confidence is None
    index = hubless.open(tmp_path, "c")
    assert index.query(LIVE[:1]).confidence is None
    with pytest.raises(InputError, match="build it with a query bank"):
        index.calibrate(LIVE, LIVE_ROWS)


@pytest.mark.parametrize(("relevant", "labelled"), [([*LABELS[:19], *[None] * 381], 19), ([[]] * 400, 0)])
def test_too_few_labels_are_told_with_how_many_there_are(relevant, labelled):
    for call in (lambda: fitted(relevant=relevant), lambda: fitted(relevant=None).calibrate(BANK, relevant)):
        message = f"right targets for at least 20 queries, better 100 and more, got for {labelled}"
        with pytest.raises(InputError, match=message):
            call()
