import numpy as np
import pytest
from support import problems
from support.hubs import unit

import hubless
from hubless.search.selection import DEEPEST_GROUPED
from hubless.vectors.free_payload import free_table

N = 150
PROBLEM = problems.with_hubs(targets=N, bank=200, dim=16)
KINDS = ["a", "b", "c", None, "d"]
PAYLOAD = [{"kind": KINDS[row * 7 % 11 % 5], "shelf": row % 40, "even": row % 2 == 0} for row in range(N)]
METHODS = ["none", "csls", "dis", "sinkhorn"]
EVEN = {"field": "even", "eq": True}
WHOLE = {"candidates": N}
"""The formula of a rescored correction looks at the best candidates only."""


@pytest.fixture(scope="module", params=METHODS)
def index(request):
    written = N - 15
    fitted = hubless.Index(correction=request.param, metric="cosine").fit(
        PROBLEM.bank, PROBLEM.targets[:written], ids=range(written), payload=PAYLOAD[:written]
    )
    if request.param in ("none", "csls"):
        fitted.add(PROBLEM.targets[written:], range(written, N), PAYLOAD[written:])
        fitted.remove([3, 70, 140])
    return fitted


def options_of(index):
    return {"parameters": WHOLE} if index.manifest.correction.name == "sinkhorn" else {}


def whole_ranking(index, queries, **options):
    return index.query(queries, index.count, with_payload=True, **options_of(index), **options)


def best_of_groups(hits, column):
    seen, best = set(), []
    for hit in hits:
        value = hit.payload[column]
        if value is None or value not in seen:
            best.append(hit)
            seen.add(value)
    return best


def diverse_naively(hits, vectors, k, diversity):
    chosen = hits[:1]
    while len(chosen) < min(k, len(hits)):
        rest = [hit for hit in hits if hit not in chosen]
        values = [
            (1 - diversity) * hit.score
            - diversity * max(float(vectors[hit.id] @ vectors[before.id]) for before in chosen)
            for hit in rest
        ]
        chosen.append(rest[int(np.argmax(values))])
    return chosen


@pytest.mark.parametrize("column", ["kind", "shelf"])
@pytest.mark.parametrize("filter", [None, EVEN])
def test_groups_are_the_best_hit_of_each_value_of_the_whole_ranking(index, column, filter):
    for skip in (0, 2):
        found = index.query(
            PROBLEM.queries[:6], 5, filter=filter, skip=skip, group_by=column, explain=True, **options_of(index)
        )
        everything = whole_ranking(index, PROBLEM.queries[:6], filter=filter)
        for hits, ranking in zip(found, everything, strict=True):
            best = best_of_groups(ranking, column)[skip : skip + 5]
            assert [hit.id for hit in hits] == [hit.id for hit in best]
            np.testing.assert_allclose([hit.score for hit in hits], [hit.score for hit in best], atol=1e-5)
            assert [hit.explanation.rank for hit in hits] == [skip + 1 + place for place in range(len(hits))]


def test_group_search_goes_deeper_until_there_are_enough_or_no_more(index):
    everything = whole_ranking(index, PROBLEM.queries[:4])
    found = index.query(PROBLEM.queries[:4], 100, group_by="shelf", **options_of(index))
    for hits, ranking in zip(found, everything, strict=True):
        assert [hit.id for hit in hits] == [hit.id for hit in best_of_groups(ranking, "shelf")]
        assert len(hits) == 40


def test_batch_finds_what_each_query_finds(index):
    for options in ({"group_by": "kind"}, {"diversity": 0.4}, {"group_by": "shelf", "diversity": 0.7}):
        together = index.query(PROBLEM.queries[:5], 7, **options, **options_of(index))
        alone = [index.query(query, 7, **options, **options_of(index)) for query in PROBLEM.queries[:5]]
        assert together.ids == [one.ids[0] for one in alone]
        if together.corrected is not None:
            assert together.corrected.tolist() == [bool(one.corrected[0]) for one in alone]


@pytest.mark.parametrize("diversity", [0.2, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("group", [None, "shelf"])
def test_diverse_hits_are_those_of_plain_maximal_marginal_relevance(index, diversity, group):
    vectors = unit(PROBLEM.targets.astype(np.float64))
    options = {"filter": EVEN, "group_by": group, "diversity": diversity} | options_of(index)
    found = index.query(PROBLEM.queries[:4], 8, **options)
    for hits, ranking in zip(found, whole_ranking(index, PROBLEM.queries[:4], filter=EVEN), strict=True):
        candidates = ranking[:100] if group is None else best_of_groups(ranking, group)[:100]
        assert [hit.id for hit in hits] == [hit.id for hit in diverse_naively(candidates, vectors, 8, diversity)]


def test_line_with_fewer_groups_ends_early():
    targets = np.eye(4, dtype=np.float32)
    index = hubless.Index("none", "cosine").fit(None, targets, payload=[{"of": value} for value in "abbb"])
    found = index.query(ids=[0, 1], limit=4, group_by="of")
    assert [len(hits) for hits in found] == [1, 2]
    assert found.rows[0].tolist()[1:] == [-1]
    assert "<table>" in found._repr_html_()
    assert index.query(ids=[0, 1], limit=4, group_by="of", with_payload=True)[0][0].payload == {"of": "b"}


def test_equal_numbers_are_one_group_and_the_text_of_one_is_another():
    values = [3, 3.0, "3", [{"a": -0.0}], [{"a": 0}]]
    index = hubless.Index("none", "dot").fit(
        None, np.arange(1, 6, dtype=np.float32)[:, np.newaxis], payload=free_table([{"of": value} for value in values])
    )
    assert index.query([[1.0]], 5, group_by="of").ids == [[4, 2, 1]]


def test_best_of_many_candidates_are_looked_through_for_groups():
    n = DEEPEST_GROUPED + 50
    targets = np.stack([np.ones(n), np.linspace(0, 1, n)], axis=1)
    payload = {"of": ["one"] * (n - 10) + ["other"] * 10}
    index = hubless.Index("none", "dot").fit(None, targets, payload=payload)
    assert index.query([[0.0, -1.0], [0.0, 1.0]], 3, group_by="of").ids == [[0], [n - 1, n - 11]]
