"""Queries by a stored target, from further down, and with reasons, over HTTP: as the library answers them."""

import pytest
from support.catalogs import LARGEST_ID

WORDS, NUMBERS = "/v1/collections/words/query", "/v1/collections/numbers/query"
EVEN = {"field": "rank", "lt": 5}


def ids_of(answer):
    return [hit["id"] for hit in answer["hits"]]


@pytest.mark.parametrize(("path", "wanted"), [(WORDS, "target-50"), (NUMBERS, LARGEST_ID)])
def test_query_by_id_is_that_of_the_library_without_the_target(http, request, path, wanted):
    collection = request.getfixturevalue(path.split("/")[3])
    answer = http.post(path, json={"id": wanted, "limit": 5, "strength": 0.5}).json()
    assert ids_of(answer) == collection.query(ids=[wanted], limit=5, strength=0.5).ids[0]
    usual = http.post(path, json={"id": wanted}).json()["hits"]
    assert all(hit["score"] == pytest.approx(hit["similarity"], abs=1e-6) for hit in usual)
    assert wanted not in ids_of(http.post(path, json={"id": wanted, "limit": 300}).json())


def test_batch_of_all_kinds_of_questions_answers_each_as_if_it_were_alone(http, vector):
    queries = [
        {"id": "target-9"},
        {"vector": vector.tolist()},
        {"id": "target-10", "filter": EVEN},
        {"id": "..", "filter": EVEN, "limit": 50},
        {"text": "amber", "skip": 2},
        {"id": "target-11", "explain": True},
        {"id": "target-12", "skip": 1},
    ]
    answer = http.post(f"{WORDS}/batch", json={"queries": queries})
    assert answer.status_code == 200, answer.text
    batch = answer.json()["results"]
    alone = [http.post(WORDS, json=query).json() for query in queries]
    assert [ids_of(result) for result in batch] == [ids_of(answer) for answer in alone]
    assert [len(result["hits"]) for result in batch] == [10, 10, 5, 4, 10, 10, 10]
    assert [["explanation" in hit for hit in result["hits"]] == [True] * 10 for result in batch] == [
        query.get("explain", False) for query in queries
    ]


def test_pages_are_parts_of_one_ranking(http, vector):
    whole = http.post(WORDS, json={"vector": vector.tolist(), "limit": 30}).json()["hits"]
    for skip in (0, 7, 29):
        body = {"vector": vector.tolist(), "limit": 10, "skip": skip}
        assert (
            http.post(WORDS, json=body).json()["hits"]
            == (whole + http.post(WORDS, json={"vector": vector.tolist(), "limit": 10, "skip": 30}).json()["hits"])[
                skip : skip + 10
            ]
        )
    assert http.post(WORDS, json={"vector": vector.tolist(), "skip": 300}).json()["hits"] == []


def test_explanation_is_the_librarys_and_comes_only_if_asked_for(http, words, vector):
    binary = http.post(f"{WORDS}?explain=true&skip=2", content=vector.tobytes(), headers=OCTETS).json()
    (expected,) = words.query(vector, skip=2, explain=True)
    for hit, known in zip(binary["hits"], expected, strict=True):
        assert hit["explanation"] == {
            "rank": known.explanation.rank,
            "raw_rank": known.explanation.raw_rank,
            "occurrence": known.explanation.occurrence,
            "raw_occurrence": known.explanation.raw_occurrence,
            "strength": 1.0,
        }
    assert binary["hits"][0]["explanation"]["rank"] == 3
    assert any(hit["explanation"]["raw_rank"] != hit["explanation"]["rank"] for hit in binary["hits"])
    plain = http.post(WORDS, json={"vector": vector.tolist(), "explain": False}).json()
    assert "explanation" not in plain["hits"][0]


OCTETS = {"content-type": "application/octet-stream"}


def test_hits_below_the_threshold_are_left_out_with_their_explanations(http, vector):
    hits = http.post(WORDS, json={"vector": vector.tolist(), "explain": True}).json()["hits"]
    body = {"vector": vector.tolist(), "explain": True, "score_threshold": hits[3]["score"]}
    assert http.post(WORDS, json=body).json()["hits"] == hits[:4]


@pytest.mark.parametrize(
    ("path", "body", "code", "parameter", "received"),
    [
        (WORDS, {}, "invalid_input", "vector", "none of them"),
        (WORDS, {"id": "a/b", "text": "amber"}, "invalid_input", "vector", "text and id"),
        (WORDS, {"id": 5}, "invalid_input", "id", "5"),
        (WORDS, {"id": True}, "invalid_input", "id", "true"),
        (NUMBERS, {"id": "5"}, "invalid_input", "id", 'the string "5"'),
        (NUMBERS, {"id": 5.0}, "invalid_input", "id", "5.0"),
        (WORDS, {"text": "amber", "skip": -1}, "invalid_input", "skip", "-1"),
        (WORDS, {"text": "amber", "skip": 1.5}, "invalid_input", "skip", "1.5"),
        (WORDS, {"text": "amber", "skip": 4_991}, "invalid_input", "skip", "4991"),
        (WORDS, {"text": "amber", "explain": 1}, "invalid_input", "explain", "1"),
    ],
)
def test_what_cannot_be_is_refused_naming_the_field(http, path, body, code, parameter, received):
    problem = http.post(path, json=body).json()
    assert (problem["code"], problem["parameter"], problem["received"]) == (code, parameter, received)


def test_id_that_no_target_bears_is_named_also_in_a_batch(http):
    alone = http.post(WORDS, json={"id": "nobody"})
    assert (alone.status_code, alone.json()["code"]) == (404, "point_not_found")
    queries = [{"id": "a/b"}, {"id": "nobody"}]
    batch = http.post(f"{WORDS}/batch", json={"queries": queries})
    assert (batch.status_code, batch.json()["code"]) == (404, "point_not_found")
    assert batch.json()["detail"] == "queries[1].id: no target has the id 'nobody'"
