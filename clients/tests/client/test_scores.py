"""Corrections of scores by the client, against a real server."""

import asyncio

import numpy as np
import pytest
from support import catalogs
from support.score_logs import as_lists, hubby_log

import hubless
from hubless_client import ApiScoresNotFound, AsyncClient, CannotSend, Client, RerankedHit


def test_correction_is_put_read_used_and_deleted(client, tmp_path):
    lists = as_lists(*hubby_log()[:2])
    ours = hubless.ScoreCorrection.fit(lists)
    made = client.put_scores("log", lists)
    assert (made.name, made.items, made.distance, made.pairs) == ("log", len(ours.offsets), False, 0)
    assert client.scores("log") == made
    assert client.all_scores() == [made]
    ids, scores = lists[3]["ids"], lists[3]["scores"]
    found = client.rerank([{"ids": ids, "scores": scores, "correction": "log"}], limit=50)
    expected = ours.rerank(ids, scores)
    assert [hit.id for hit in found.hits] == expected.ids
    np.testing.assert_allclose([hit.score for hit in found.hits], expected.scores, rtol=1e-6)
    assert 0 <= found.confidence <= 1
    assert (found.answered, found.calibrated) == (True, False)
    ours.save(tmp_path / "log.arrow")
    assert client.put_scores("log", file=tmp_path / "log.arrow").details == pytest.approx(made.details)
    client.delete_scores("log")
    with pytest.raises(ApiScoresNotFound):
        client.scores("log")


def test_collection_is_one_of_the_lists(client):
    vector = np.ones(catalogs.DIM, np.float32)
    best = client.query("numbers", vector, limit=3)
    found = client.rerank(
        [
            {"collection": "numbers", "vector": vector, "limit": 3, "with": ["payload"]},
            {"ids": [-1], "scores": [1.0], "weight": 5},
        ]
    )
    assert found.hits[0] == RerankedHit(-1, 5.0, (0.0, 5.0))
    assert [hit.id for hit in found.hits[1:]] == [hit.id for hit in best]


def test_pairs_and_labels_are_lists_too(server):
    ids, scores, right = (each[:60].tolist() for each in hubby_log())

    async def put():
        async with AsyncClient(server) as client:
            pairs = list(zip(ids[:40], scores[:40], strict=True))
            labelled = list(zip(ids[40:], scores[40:], right[40:], strict=True))
            made = await client.put_scores("pairs", pairs, labelled=labelled, learn=True, trusted=["shop"])
            await client.delete_scores("pairs")
            return made

    made = asyncio.run(put())
    assert (made.pairs, made.learning) == (20, 0)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "put_scores: expected either lists or file, got neither"),
        ({"lists": [], "file": "x"}, "put_scores: expected either lists or file, got both"),
        ({"file": "x", "distance": True}, "put_scores: expected no other option beside file"),
        ({"file": "x", "learn": True}, "put_scores: expected no other option beside file"),
        ({"file": "no/such.arrow"}, "file: expected a file that can be read, got no/such.arrow: No such file"),
        ({"lists": [(["a"], [1.0], "a")]}, r"lists\[0\]: expected ids, scores, got 3 values"),
        ({"lists": [(["a"], [1.0])], "labelled": [(["a"], [1.0])]}, r"labelled\[0\]: expected ids, scores, relevant"),
    ],
)
def test_wrong_put_is_refused_before_it_is_sent(given, told):
    with pytest.raises(CannotSend, match=told):
        Client().put_scores("log", **given)
