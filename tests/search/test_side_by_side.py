import pytest
from support.hubs import pairs

import hubless
from hubless.errors import InputError


@pytest.fixture(scope="module")
def index():
    queries, targets, _ = pairs(300, apart=1.5)
    return hubless.Index(metric="cosine").fit(queries[150:], targets[:150])


@pytest.fixture(scope="module")
def queries():
    return pairs(300, apart=1.5)[0][:20]


def test_sides_are_the_raw_and_the_corrected_answer(index, queries):
    both = index.side_by_side(queries, limit=5)
    assert len(both) == 20
    assert both.raw.ids == index.query(queries, limit=5, strength=0).ids
    assert both.corrected.ids == index.query(queries, limit=5).ids
    assert both.raw.ids != both.corrected.ids
    assert both._repr_html_() == f"<div>{both.raw._repr_html_()}{both.corrected._repr_html_()}</div>"


def test_corrected_hits_say_where_the_raw_ranking_has_them(index, queries):
    both = index.side_by_side(queries, limit=150, strength=0.5, skip=2)
    everything = index.query(queries, limit=150, strength=0)
    assert both.corrected.strength == 0.5
    assert both.raw.rows.shape == (20, 148)
    for hits, raw in zip(both.corrected, everything.ids, strict=True):
        assert [raw.index(hit.id) + 1 for hit in hits] == [hit.explanation.raw_rank for hit in hits]


def test_targets_like_a_target_are_corrected_too(index):
    both = index.side_by_side(ids=[3], limit=4)
    assert both.corrected.ids == index.query(ids=[3], limit=4, strength=1).ids
    assert both.raw.ids == index.query(ids=[3], limit=4).ids


def test_raw_beside_raw_is_refused(index, queries):
    with pytest.raises(InputError, match="strength: expected above 0"):
        index.side_by_side(queries, strength=0)
