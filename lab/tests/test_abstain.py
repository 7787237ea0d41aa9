import numpy as np
import pytest
from support.labelled import pairs

import hubless
from hubless.errors import InputError
from hubless_lab.experiments.abstain import abstain, abstain_collection
from hubless_lab.experiments.quality import auroc

HUBBY = pairs(400, noise=0.9)
RIGHT = [rows.tolist() for rows in HUBBY.relevant]


def measured(**options):
    given = {"metric": "cosine", "seeds": 2} | options
    return abstain(HUBBY.queries, HUBBY.targets, RIGHT, **given)


@pytest.fixture(scope="module")
def made():
    return measured()


def test_confidence_orders_answers_better_than_the_cosine_where_queries_differ_in_level(made):
    assert made.confidence.auroc > made.cosine.auroc + 0.02
    assert made.confidence.answered > made.cosine.answered
    assert made.absents[1] > made.absents[0]
    assert made.strangers is None


def test_every_test_query_is_measured_once_by_a_calibration_without_it(made):
    assert made.queries == 400  # two splits, in each of which half of the targets are searched
    assert made.pairs == 100
    assert made.interval.low <= made.error + 0.02
    assert made.error < 0.09
    assert {(each["cut"], each["answered"]) for each in made.records()} >= {("best cosine", 1), ("confidence", 1)}


def test_collection_is_measured_as_it_is_served():
    bank = pairs(400, noise=0.9, seed=9).queries
    index = hubless.Index("auto", "cosine").fit(bank, HUBBY.targets)
    found = abstain_collection(index, HUBBY.queries, RIGHT)
    answers = index.query(HUBBY.queries, 1)
    right = np.array([row == want for [row], [want] in zip(answers.rows.tolist(), RIGHT, strict=True)])
    assert found.confidence.auroc == pytest.approx(auroc(answers.confidence, right), abs=1e-3)
    assert found.error is None
    assert "Confidence is not calibrated" in found.table().caption
    strangers = np.random.default_rng(5).normal(size=(300, HUBBY.queries.shape[1])).astype(np.float32)
    asked = np.concatenate([HUBBY.queries, strangers])
    both = abstain_collection(index, asked, [*RIGHT, *[[]] * len(strangers)])
    assert both.absents == pytest.approx(found.absents)
    presence = index.query(asked, 1).presence
    assert both.strangers[1] == pytest.approx(auroc(presence, np.arange(len(asked)) < len(RIGHT)))
    assert both.strangers[1] > 0.8
    assert ["–", f"{both.strangers[1]:.3f}"] == [each.table().lines[1][-1] for each in (found, both)]
    without = hubless.Index("none", "cosine").fit(None, HUBBY.targets)
    with pytest.raises(InputError, match="collection: expected one with a model of confidence"):
        abstain_collection(without, HUBBY.queries, RIGHT)
    index.calibrate(HUBBY.queries[:100], RIGHT[:100])
    assert abstain_collection(index, HUBBY.queries[100:], RIGHT[100:]).error < 0.12
    assert abstain_collection(index, HUBBY.queries, [*RIGHT[:390], *[[]] * 10]).queries == 400


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"accuracy": 1.5}, "accuracy: expected a number of at least 0 and at most 1, got 1.5"),
        ({"sure": 1}, "sure: expected a number above 0 and below 1"),
        ({"pairs": 1}, "pairs: expected at least 20"),
        ({"pairs": 19}, "pairs: expected at least 20, better 100 and more, got 19"),
        ({"correction": "best"}, "correction: expected one of"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(InputError, match=message):
        measured(**options)


def test_too_few_labels_are_told():
    few = pairs(60)
    with pytest.raises(InputError, match="at least 20 labelled pairs to calibrate by in each trial"):
        abstain(few.queries, few.targets, [rows.tolist() for rows in few.relevant], metric="cosine")


def test_promise_counts_each_query_once_and_says_how_many_are_lacking():
    few = pairs(130, noise=0.9)
    found = abstain(few.queries, few.targets, [rows.tolist() for rows in few.relevant], metric="cosine", accuracy=0.95)
    assert found.queries > 600  # ten splits, of which each query makes one promise
    assert found.confidence.guaranteed.share in np.arange(131) / 130
    lacking = measured(seeds=1, accuracy=0.99)
    assert "labelled queries are needed" in lacking.threshold_sentence()
    assert lacking.confidence.guaranteed.more == 582 - 200


def test_without_labels_confidence_orders_answers_and_is_no_probability():
    found = measured(pairs=0)
    assert (found.pairs, found.error, found.queries) == (0, None, 400)
    assert found.confidence.auroc > found.cosine.auroc
