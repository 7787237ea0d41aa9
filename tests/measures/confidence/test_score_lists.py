import json
import math

import numpy as np
import pytest
from support.processes import python

import hubless
from hubless.errors import InputError
from hubless.measures.confidence.cut import CONFIDENCE
from hubless.measures.labelled_answers import DEPTH

ACCURACIES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99)


def lists_of(m=200, k=DEPTH, seed=0):
    """Answers of a search: the first hit is right where it is far ahead. Each list is as long as k or a little less."""
    rng = np.random.default_rng(seed)
    others = -np.sort(-rng.gumbel(10, 2, (m, k)), axis=1)
    lead = rng.exponential(6, m) * (rng.random(m) < 0.6)
    others[:, 0] += lead
    right = rng.random(m) < 1 / (1 + np.exp(2 - 1.5 * lead))
    return [scores[: k - row % 2].tolist() for row, scores in enumerate(others)], right


LISTS, RIGHT = lists_of(400)
FITTED = hubless.Cut.fit(lists_of(seed=1)[0])
CALIBRATED = FITTED.calibrate(LISTS, RIGHT)


def naive(scores, lists, curve=CONFIDENCE):
    spreads = [np.std(each[1:11]) for each in lists if len(each) > 2]
    tau, second, depth = np.median(spreads), np.mean([each[1] for each in lists]), min(11, max(map(len, lists)))
    scores = scores[:depth]
    others = sum(math.exp((each - scores[0]) / tau) for each in scores if abs(each - scores[0]) > 1e-4 * tau)
    others += (depth - len(scores)) / (depth - 1) * math.exp((second - scores[0]) / tau)
    return 1 / (1 + math.exp(math.log(max(others, 1e-6)) * curve.slope - curve.intercept))


@pytest.mark.parametrize("k", [3, 4, DEPTH, 30])
def test_confidence_is_that_of_the_naive_reference(k):
    bank, _ = lists_of(k=k, seed=1)
    cut = hubless.Cut.fit(bank)
    for scores in lists_of(40, k)[0]:
        assert cut.confidence(scores) == pytest.approx(naive(scores, bank), rel=1e-9)


@pytest.mark.parametrize(("scale", "shift"), [(1e-3, 0), (1, 100), (40, -7)])
def test_unit_of_scores_does_not_count(scale, shift):
    moved = [[scale * score + shift for score in scores] for scores in LISTS]
    cut = hubless.Cut.fit(moved)
    apart = hubless.Cut.fit([[-score for score in scores] for scores in moved], distance=True)
    same = hubless.Cut.fit(LISTS)
    for there, here in zip(moved, LISTS, strict=True):
        assert cut.confidence(there) == pytest.approx(same.confidence(here), rel=1e-6)
        assert apart.confidence([-score for score in there]) == pytest.approx(cut.confidence(there), rel=1e-9)


def test_copies_of_the_first_hit_count_once():
    scores = [12.0, 9.0, 8.0, 7.0]
    assert FITTED.confidence([12.0, *scores]) >= FITTED.confidence(scores)
    assert FITTED.confidence([]) == 0


def test_calibration_makes_probabilities_and_cuts_of_other_answers():
    lists, right = lists_of(4000, seed=3)
    confidence = np.array([CALIBRATED.confidence(scores) for scores in lists])
    for part in np.array_split(np.argsort(confidence), 5):
        assert confidence[part].mean() == pytest.approx(right[part].mean(), abs=0.09)
    for accuracy in (0.8, 0.9):
        accepted = np.array([CALIBRATED.accept(scores, accuracy) for scores in lists])
        assert 0.1 < accepted.mean() < 0.8
        assert right[accepted].mean() >= accuracy


def test_thresholds_are_the_guaranteed_cuts_of_the_labelled_answers():
    confidence = [CALIBRATED.confidence(scores) for scores in LISTS]
    found = [hubless.guaranteed_cut(confidence, RIGHT, accuracy).threshold for accuracy in ACCURACIES]
    assert CALIBRATED.cuts[:6] == pytest.approx(found[:6], abs=1.1e-6)
    assert [*found[6:], *CALIBRATED.cuts[6:]] == [None] * 4  # nothing is so right; labels are too few to say
    assert all(cut <= exact for cut, exact in zip(CALIBRATED.cuts[:6], found, strict=False))
    assert CALIBRATED.threshold(0.81) == CALIBRATED.threshold(0.85) == CALIBRATED.cuts[4]
    assert CALIBRATED.threshold(0.3) == CALIBRATED.threshold(0.5) == CALIBRATED.cuts[0]
    assert list(CALIBRATED.cuts[:6]) == sorted(CALIBRATED.cuts[:6])
    assert FITTED.calibrate(LISTS, RIGHT, sure=0.5).threshold(0.9) < CALIBRATED.threshold(0.9)


KEPT = {
    "nothing": (np.zeros(len(LISTS), bool), "none, as no cut keeps even 0.5 on the 400 labelled queries"),
    "most": (np.arange(len(LISTS)) % 3 > 0, "at most 0.6, as no cut keeps more on the 400 labelled queries"),
    "few labels": (np.ones(20, bool), "at most 0.85, or about 37 more labelled queries than the 20"),
}


@pytest.mark.parametrize("kind", KEPT)
def test_promise_that_nothing_keeps_is_refused_with_what_can_be_kept_and_was_warned_of(kind, caplog):
    right, message = KEPT[kind]
    cut = FITTED.calibrate(LISTS[: len(right)], right)
    assert f"accuracy 0.9 cannot be promised: {message} that calibrated confidence" in caplog.text
    for asked in (0.9, 0.88):  # which gets the next that is kept, 0.9
        with pytest.raises(InputError, match=f"^accuracy: expected {message} that calibrated confidence, got {asked}"):
            cut.accept(LISTS[0], asked)
    for accuracy in cut.accuracies:
        assert any(cut.accept(scores, accuracy) for scores in LISTS)


def test_promise_without_labels_or_of_all_is_refused(caplog):
    with pytest.raises(InputError, match=r"accuracy: expected none, as confidence is not calibrated"):
        FITTED.accept(LISTS[0])
    with pytest.raises(InputError, match=r"accuracy: expected a number of at least 0 and at most 0.99"):
        CALIBRATED.accept(LISTS[0], 1)
    FITTED.calibrate(LISTS, RIGHT)
    assert not caplog.text


def test_cut_comes_back_from_the_text_of_fifteen_numbers():
    document = CALIBRATED.as_json()
    numbers = [*document.values(), *document.pop("cuts").values()]
    assert sum(isinstance(each, int | float) and not isinstance(each, bool) for each in numbers) <= 15
    again = hubless.Cut.from_json(json.dumps(CALIBRATED.as_json()))
    assert again.as_json() == CALIBRATED.as_json()
    for scores in LISTS[:50]:
        assert again.confidence(scores) == CALIBRATED.confidence(scores)
        assert again.accept(scores, 0.8) == CALIBRATED.accept(scores, 0.8)


@pytest.mark.parametrize(
    "document",
    ["", "[]", "3", {}, CALIBRATED.as_json() | {"temperature": 0}, CALIBRATED.as_json() | {"slope": "x"}]
    + [CALIBRATED.as_json() | change for change in ({"cuts": {}}, {"depth": 0}, {"more": 1}, {"second": math.nan})],
)
def test_other_json_is_refused(document):
    with pytest.raises(InputError, match=r"cut: expected the JSON of a hubless\.Cut"):
        hubless.Cut.from_json(document)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hubless.Cut.fit(3), "lists: expected lists of scores, the best hit first, got 3"),
        (lambda: hubless.Cut.fit([1.0]), r"lists\[0\]: expected a list of scores"),
        (
            lambda: hubless.Cut.fit(LISTS[:19]),
            "lists: expected at least 20 with two scores or more, .* got 19",
        ),
        (lambda: hubless.Cut.fit([[1.0]] * 50), "two scores or more, better 200, got 0"),
        (lambda: hubless.Cut.fit([*LISTS, [1.0, "a"]]), r"lists\[400\]\[1\]: expected a finite number, got 'a'"),
        (lambda: hubless.Cut.fit([*LISTS, [math.nan]]), r"lists\[400\]\[0\]: expected a finite number, got nan"),
        (lambda: hubless.Cut.fit([each[::-1] for each in LISTS]), "distances, which rise, need distance=True"),
        (lambda: hubless.Cut.fit(LISTS, distance=True), "lists: expected distances, which rise"),
        (lambda: FITTED.confidence(["a"]), r"scores\[0\]: expected a finite number"),
        (lambda: FITTED.calibrate(LISTS, RIGHT[:3]), "right: expected true or false for each of the 400 lists"),
        (lambda: FITTED.calibrate(LISTS, RIGHT.astype(int)), "right: expected true or false"),
        (lambda: FITTED.calibrate(LISTS[:9], RIGHT[:9]), "lists: expected at least 20 with hits, better 200, got 9"),
        (lambda: FITTED.calibrate(LISTS, RIGHT, sure=1), "sure: expected a number above 0 and below 1"),
    ],
)
def test_wrong_lists_are_named_with_their_place(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_cut_needs_neither_faiss_nor_what_searches():
    code = (
        "import sys; sys.modules['faiss'] = None; import hubless\n"
        "hubless.Cut.fit([[3.0, 2.0, 1.0]] * 20).confidence([3.0, 2.0])\n"
        "print([name for name in ('pydantic', 'hubless.search', 'scipy.stats') if name in sys.modules])"
    )
    assert python("-c", code) == "[]\n"
