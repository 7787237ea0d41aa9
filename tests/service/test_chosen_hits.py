"""The best hit of each group, and diverse hits, over HTTP: as the library answers them."""

import numpy as np
import pytest

from hubless_client import Client, Query

WORDS = "/v1/collections/words/query"
GROUPED = {"group_by": "rank", "limit": 20}


def ids_of(answer):
    return [hit["id"] for hit in answer["hits"]]


@pytest.mark.parametrize(
    "options",
    [
        GROUPED,
        {"diversity": 0.6},
        {"diversity": 1, "group_by": "rank", "skip": 2, "filter": {"field": "rank", "lt": 9}},
    ],
)
def test_hits_are_those_of_the_library_alone_and_in_a_batch(http, words, vector, options):
    expected = words.query(vector, **{"limit": 10, "explain": True} | options)
    body = {"vector": vector.tolist(), "explain": True, "with": ["payload.rank", "vector"]} | options
    alone = http.post(WORDS, json=body).json()
    batch = http.post(f"{WORDS}/batch", json={"queries": [body, {"vector": vector.tolist()}]}).json()["results"]
    assert alone["hits"] == batch[0]["hits"]
    assert ids_of(alone) == expected.ids[0]
    assert ids_of(batch[1]) == words.query(vector).ids[0]
    assert [hit["explanation"]["rank"] for hit in alone["hits"]] == [why.rank for why in expected.explanations[0]]
    if "group_by" in options:
        values = [hit["payload"]["rank"] for hit in alone["hits"]]
        assert len(set(values)) == len(values)


def test_clients_send_both_as_json_and_beside_a_binary_body(server, words, vector):
    with Client(server) as client:
        options = {"group_by": "rank", "diversity": 0.3, "limit": 6}
        expected = words.query(vector, **options).ids[0]
        found = [
            client.query("words", vector, **options),
            client.query("words", vector, params={}, **options),
            client.query_batch("words", np.stack([vector, vector]), **options)[1],
            client.query_batch("words", queries=[Query(vector, **options)])[0],
        ]
    assert [[hit.id for hit in hits] for hits in found] == [expected] * 4


def test_threshold_cuts_groups(http, vector):
    hits = http.post(WORDS, json={"vector": vector.tolist()} | GROUPED).json()["hits"]
    body = {"vector": vector.tolist(), "score_threshold": hits[3]["score"]} | GROUPED
    assert http.post(WORDS, json=body).json()["hits"] == hits[:4]


@pytest.mark.parametrize(
    ("body", "parameter", "expected"),
    [
        ({"diversity": 1.01}, "diversity", "a number from 0 to 1"),
        ({"diversity": "1"}, "diversity", "a number from 0 to 1"),
        ({"diversity": True}, "diversity", "a number from 0 to 1"),
        ({"diversity": 0.5, "limit": 1000, "skip": 1}, "limit", "at most 1000 with diversity, skipped hits included"),
        ({"diversity": 0.5, "score_threshold": 0}, "score_threshold", "none beside diversity, which orders hits anew"),
        ({"group_by": 7}, "group_by", "a string"),
        ({"group_by": "shelf"}, "group_by", None),
    ],
)
def test_wrong_choice_is_refused_by_its_name(http, vector, body, parameter, expected):
    for path, sent, where in ((WORDS, body, ""), (f"{WORDS}/batch", {"queries": [body]}, "queries[0].")):
        for query in sent.get("queries", [sent]):
            query["vector"] = vector.tolist()
        answer = http.post(path, json=sent)
        assert answer.status_code == 422
        assert answer.json()["parameter"] == f"{where}{parameter}"
        assert expected is None or answer.json()["expected"] == expected
