"""The two readings of the dynamic inverted softmax under a filter, with copies of targets."""

import numpy as np
import pytest
from support.labelled import pairs

import hubless
from hubless.corrections import correction

GIVEN, BANK = pairs(60), pairs(120, seed=1)
TARGETS = np.concatenate([GIVEN.targets, GIVEN.targets[:5]])
KIND = ["even" if row % 2 == 0 else "odd" for row in range(65)]
WITHIN = np.flatnonzero(np.array(KIND) == "even")
RAW = GIVEN.queries @ TARGETS.T
TEMPERATURE = 0.05


def found(gate):
    payload = [{"kind": kind} for kind in KIND]
    index = hubless.Index("dis", "cosine", parameters={"temperature": TEMPERATURE, "gate": gate}, index="flat")
    index.fit(BANK.queries, TARGETS, payload=payload)
    return index.query(GIVEN.queries, 10, filter={"kind": "even"})


def ranked(scores):
    """The rows of the ten best among those that meet the filter, and their scores."""
    order = WITHIN[np.argsort(-scores[:, WITHIN], axis=1, kind="stable")[:, :10]]
    return np.take_along_axis(scores, order, axis=1)


def softmax():
    similarities = BANK.queries.astype(np.float64) @ TARGETS.T
    return TEMPERATURE * np.log(np.exp(similarities / TEMPERATURE).sum(axis=0))


def active():
    similarities = BANK.queries @ TARGETS.T
    return (similarities >= similarities.max(axis=1, keepdims=True) - 1e-5).any(axis=0)


def test_gate_on_targets_ranks_all_targets_by_equation_15_and_then_filters():
    """Which targets are active, and their mean offset, are those of all targets: a filter changes no score."""
    offsets = np.where(active(), softmax() - softmax()[active()].mean(), 0)
    answers = found("target")
    expected = ranked(RAW - offsets)
    np.testing.assert_allclose(answers.scores - answers.scores[:, :1], expected - expected[:, :1], atol=1e-4)
    fitted = correction("dis", {"temperature": TEMPERATURE, "gate": "target"}).fit(BANK.queries, TARGETS)
    np.testing.assert_allclose(fitted.offsets(TARGETS)[:5], fitted.offsets(TARGETS)[60:], atol=1e-6)


def test_gate_on_queries_is_opened_by_the_first_target_that_meets_the_filter():
    first = WITHIN[RAW[:, WITHIN].argmax(axis=1)]
    answers = found("query")
    np.testing.assert_array_equal(answers.corrected, active()[first])
    assert 0 < answers.corrected.mean() < 1
    rows = np.flatnonzero(~answers.corrected)
    np.testing.assert_allclose(answers.scores[rows], ranked(RAW)[rows], atol=1e-5)


@pytest.mark.parametrize("gate", ["query", "target"])
def test_filter_leaves_only_what_meets_it(gate):
    assert set(found(gate).rows.ravel().tolist()) <= set(WITHIN.tolist())
