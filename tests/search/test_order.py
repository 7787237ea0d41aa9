"""The order of hits: score, then row. Pages are slices of one list, whatever limit, skip, batch and segments."""

import numpy as np
import pytest
from support.problems import normal

import hubless
from hubless.search.segments.scope import MOST_SPARE

DIM, BANK, TARGETS = 16, 80, 150
KINDS = {
    "cosine": {},
    "dot": {"metric": "dot"},
    "euclidean": {"metric": "euclidean"},
    "float16": {"index": "flat_fp16"},
    "whole beside reduced": {"dims": 8, "keep_full": True, "metric": "dot"},
    "hnsw": {"index": "hnsw"},
    "gate": {"correction": "dis"},
    "rescorer": {"correction": "sinkhorn"},
    "gated rescorer": {"correction": "dual_dis"},
}
ASKED = {
    "all": {},
    "raw": {"strength": 0.0},
    "filter": {"filter": {"even": True}},
    "groups": {"group_by": "group"},
    "like targets": {"ids": [3, TARGETS + 3, 0, TARGETS - 1]},
}
QUERIES = normal(4, DIM, 3)


def payload(count):
    return [{"even": row % 2 == 0, "group": row % 60} for row in range(count)]


def fitted(rows, **options):
    index = hubless.Index(**{"metric": "cosine", "correction": "csls", "index": "flat", **options})
    bank = normal(BANK, DIM, 1)
    return index.fit(bank, rows, target_bank=bank[::2], payload=payload(len(rows)))


@pytest.fixture(scope="module", params=KINDS)
def copies(request, tmp_path_factory):
    """Half of the targets are copies: of their own segment, of another one, and of the one in memory."""
    rows = normal(TARGETS, DIM, 2)
    options = KINDS[request.param]
    if options.get("correction"):  # takes no targets later
        return fitted(np.vstack([rows, rows]), **options)
    index = fitted(np.vstack([rows, rows[:50]]), **options)
    index.add(rows[50:100], payload=payload(50))
    index.save(tmp_path_factory.mktemp("copies"), "copies")
    index.add(rows[100:], payload=payload(50))
    index.remove([7])
    return index


@pytest.mark.parametrize("asked", ASKED)
def test_pages_are_slices_of_one_list_which_is_ordered_by_score_and_row(copies, asked):
    options = {"parameters": {"exact": True}, **ASKED[asked]}
    queries = {} if "ids" in options else {"vectors": QUERIES}
    whole = copies.query(**queries, limit=copies.count, **options)
    for scores, rows, ids in zip(whole.scores, whole.rows, whole.ids, strict=True):
        assert len(set(ids)) == len(ids)
        if copies.parts.is_folded:
            order = np.lexsort((rows[: len(ids)], -scores[: len(ids)]))
            np.testing.assert_array_equal(order, np.arange(len(ids)))
    rng = np.random.default_rng(0)
    for limit, skip in [(1, 0), (10, 0), (copies.count, 1), (5, copies.count + 5), *rng.integers(1, 250, (16, 2))]:
        page = {"limit": int(limit), "skip": int(skip)}
        expected = [line[skip : skip + limit] for line in whole.ids]
        assert copies.query(**queries, **page, **options).ids == expected
        one = {"ids": options["ids"][:1]} if "ids" in options else {"vectors": QUERIES[:1]}
        assert copies.query(**page, **{**options, **one}).ids == expected[:1]


@pytest.mark.parametrize("metric", ["dot", "euclidean"])
@pytest.mark.parametrize("together", [1, 40])
def test_targets_that_tie_by_the_hundred_come_in_the_order_of_their_rows(metric, together):
    """Vectors of small whole numbers, whose products are exact, and a query of zeros, to which all are alike."""
    rows = np.random.default_rng(0).integers(0, 2, (3000, 4)).astype(np.float32)
    index = fitted(np.pad(rows, ((0, 0), (0, DIM - 4))), metric=metric, correction="none")
    assert np.unique(rows, axis=0, return_counts=True)[1].min() > MOST_SPARE
    queries = np.zeros((together, DIM), np.float32)
    queries[::2, 0] = 1
    for filter, kept in (None, np.arange(3000)), ({"even": True}, np.arange(0, 3000, 2)):
        found = index.query(queries, 7, filter=filter, skip=3)
        products = rows[kept] @ queries[:, :4].T
        scores = products if metric == "dot" else products - (rows[kept] ** 2).sum(axis=1, keepdims=True) / 2
        for line, expected in zip(found.rows, scores.T, strict=True):
            np.testing.assert_array_equal(line, kept[np.argsort(-expected, kind="stable")][3:10])
