import pytest
from support.hubs import pairs

from hubless.measures.coverage import coverage

QUERIES, TARGETS, TOPIC = pairs(600, common=0)


def test_bank_of_all_topics_covers_all():
    assert coverage(QUERIES, TARGETS) > 0.9
    assert coverage(QUERIES[::6], TARGETS) > 0.9


@pytest.mark.parametrize("topics", [3, 6, 9])
def test_bank_of_some_topics_covers_their_share(topics):
    inside = topics > TOPIC
    assert coverage(QUERIES[inside], TARGETS) == pytest.approx(inside.mean(), abs=0.12)


@pytest.mark.parametrize(("queries", "targets"), [(19, 600), (600, 199)])
def test_too_few_say_nothing(queries, targets):
    assert coverage(QUERIES[:queries], TARGETS[:targets]) is None
