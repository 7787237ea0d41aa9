from dataclasses import replace

import numpy as np
import pytest
from support import small

import hubless
from hubless.errors import InputError

CORRECTIONS = ["none", "auto", "csls", "dis", "dual_dis", "sinkhorn"]
QUERIES = small.vectors(20, 5)
PAYLOAD = [{"even": row % 2 == 0} for row in range(small.COUNT)]


def without_model(index):
    """The same index, as if it came from a version without a model of confidence."""
    return hubless.Collection(replace(index.parts, cut=None))


@pytest.fixture(scope="module", params=CORRECTIONS)
def index(request):
    made = hubless.Index(request.param, "cosine")
    return made.fit(small.query_bank(), small.targets(), payload=PAYLOAD, target_bank=small.vectors(30, 6))


@pytest.mark.parametrize(
    "asked", [{}, {"strength": 0.5}, {"skip": 3}, {"filter": {"field": "even", "eq": True}}, {"diversity": 0.5}]
)
@pytest.mark.parametrize("limit", [1, 11, 100])
def test_no_ranking_changes_with_the_model(index, limit, asked):
    found, bare = (each.query(QUERIES, limit, **asked) for each in (index, without_model(index)))
    assert found.ids == bare.ids
    np.testing.assert_array_equal(found.scores, bare.scores)
    assert (bare.confidence, bare.presence, bare.shares) == (None, None, None)


@pytest.mark.parametrize("asked", [{}, {"group_by": "even"}, {"diversity": 0.3}])
@pytest.mark.parametrize("candidates", [1, 50])
def test_few_candidates_of_a_rescorer_are_no_trouble(index, candidates, asked):
    takes_candidates = index.manifest.correction.name in ("dual_dis", "sinkhorn")
    found = index.query(QUERIES, 1, parameters={"candidates": candidates} if takes_candidates else None, **asked)
    assert ((found.confidence > 0) & (found.confidence < 1)).all()


@pytest.mark.parametrize("limit", [1, 3, 30])
def test_shares_begin_with_the_confidence_and_fall(index, limit):
    found = index.query(QUERIES, limit)
    assert found.shares.shape == found.rows.shape
    np.testing.assert_array_equal(found.shares[:, 0], found.confidence)
    assert (np.diff(found.shares) <= 0).all()
    for values in (found.confidence, found.presence):
        assert ((values >= 0) & (values <= 1)).all()
    assert [hit.share for hit in found[0]] == found.shares[0].tolist()


def test_query_is_as_sure_alone_as_in_a_batch(index):
    whole = index.query(QUERIES)
    for line, query in enumerate(QUERIES):
        alone = index.query(query)  # the index may round its scores otherwise
        np.testing.assert_allclose(alone.shares[0], whole.shares[line], rtol=1e-4)
        assert alone.presence[0] == pytest.approx(whole.presence[line], rel=1e-4)


def test_confidence_does_not_depend_on_limit_and_skip(index):
    whole = index.query(QUERIES, 20)
    for asked in ({"limit": 1}, {"limit": 5, "skip": 2}):
        found = index.query(QUERIES, **asked)
        np.testing.assert_allclose(found.confidence, whole.confidence, rtol=1e-4)
        np.testing.assert_allclose(found.presence, whole.presence, rtol=1e-4)


def test_queries_below_a_threshold_have_no_hits_and_the_others_all(index):
    whole = index.query(QUERIES)
    for name, values in (("min_confidence", whole.confidence), ("min_presence", whole.presence)):
        least = float(np.median(values))
        found = index.query(QUERIES, **{name: least})
        np.testing.assert_array_equal(found.answered, values >= np.float32(least))
        for line, answered in enumerate(found.answered):
            assert found[line] == (whole[line] if answered else [])
            assert found.ids[line] == (whole.ids[line] if answered else [])


def test_accuracy_without_labels_is_refused_and_none_cuts_nothing(index):
    assert index.query(QUERIES, min_accuracy=0).answered.all()
    with pytest.raises(InputError, match=r"^min_accuracy: expected none, as confidence is not calibrated"):
        index.query(QUERIES, min_accuracy=0.9)


@pytest.mark.parametrize("name", ["min_confidence", "min_accuracy", "coverage"])
def test_threshold_on_a_version_without_a_model_says_what_to_do(index, name):
    with pytest.raises(InputError, match=f"^{name}: expected 0, .*no model of confidence; build it with a query bank"):
        without_model(index).query(QUERIES, **{name: 0.5})
