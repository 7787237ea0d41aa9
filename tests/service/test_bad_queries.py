"""Every way in which a query can be wrong has its code, and names the field."""

import base64

import numpy as np
import pytest
from support.catalogs import DIM

QUERY = "/v1/collections/words/query"
BATCH = "/v1/collections/words/query/batch"
GOOD = [0.5] * DIM
BINARY = {"content-type": "application/octet-stream"}


def at(position, value):
    """A good vector with something else at one position."""
    return [*GOOD[:position], value, *GOOD[position + 1 :]]


def encoded(values):
    return base64.b64encode(np.asarray(values, "<f4").tobytes()).decode()


def refused(answer, status, code, parameter=None):
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    if parameter:
        assert problem["parameter"] == parameter
        assert problem["detail"] == f"{parameter}: expected {problem['expected']}, got {problem['received']}"
    return problem


# what is sent instead of a good query, the code, the parameter, and what the answer says came
WRONG = [
    # the vector's elements
    ({"vector": at(7, "0.5")}, "invalid_input", "vector[7]", 'the string "0.5"'),
    ({"vector": at(7, True)}, "invalid_input", "vector[7]", "true"),
    ({"vector": at(7, None)}, "invalid_input", "vector[7]", "null"),
    ({"vector": [GOOD, GOOD]}, "invalid_input", "vector[0]", f"a list of {DIM}"),
    ({"vector": at(7, 1e39)}, "not_finite", "vector[7]", "1e+39"),
    ({"vector": at(7, 10**50)}, "not_finite", "vector[7]", "1e+50"),
    # the vector as a whole
    ({"vector": GOOD[:-1]}, "dimension_mismatch", "vector", f"{DIM - 1} dimensions"),
    ({"vector": []}, "dimension_mismatch", "vector", "0 dimensions"),
    ({"vector": [0] * DIM}, "zero_vector", "vector", "zeros only"),
    ({"vector": [1e-60] * DIM}, "zero_vector", "vector", "zeros only"),
    ({"vector": 5}, "invalid_input", "vector", "5"),
    ({"vector": {"values": GOOD}}, "invalid_input", "vector", "an object"),
    # base64
    ({"vector": "not base64!"}, "invalid_input", "vector", None),
    ({"vector": encoded(GOOD)[:-3]}, "invalid_input", "vector", None),
    ({"vector": encoded(GOOD) + "\n"}, "invalid_input", "vector", None),
    ({"vector": "äöü"}, "invalid_input", "vector", None),
    ({"vector": ""}, "dimension_mismatch", "vector", "0 dimensions"),
    ({"vector": base64.b64encode(b"12345").decode()}, "invalid_input", "vector", "5 bytes"),
    ({"vector": encoded(GOOD[:3])}, "dimension_mismatch", "vector", "3 dimensions"),
    ({"vector": encoded(at(3, np.nan))}, "not_finite", "vector[3]", "nan"),
    ({"vector": encoded(at(3, -np.inf))}, "not_finite", "vector[3]", "-inf"),
    ({"vector": encoded([0] * DIM)}, "zero_vector", "vector", "zeros only"),
    # what is asked for
    ({}, "invalid_input", "vector", "none of them"),
    ({"vector": None}, "invalid_input", "vector", "none of them"),
    ({"vector": GOOD, "text": "amber"}, "invalid_input", "vector", "vector and text"),
    ({"text": 5}, "invalid_input", "text", "5"),
    ({"text": ["amber"]}, "invalid_input", "text", "a list of 1"),
    ({"text": "zzz yyy"}, "unknown_words", "text", None),
    ({"text": ""}, "unknown_words", "text", None),
    # the other fields
    ({"vector": GOOD, "limit": 0}, "invalid_input", "limit", "0"),
    ({"vector": GOOD, "limit": 1001}, "invalid_input", "limit", "1001"),
    ({"vector": GOOD, "limit": 1.5}, "invalid_input", "limit", "1.5"),
    ({"vector": GOOD, "limit": True}, "invalid_input", "limit", "true"),
    ({"vector": GOOD, "limit": "10"}, "invalid_input", "limit", 'the string "10"'),
    ({"vector": GOOD, "strength": -0.1}, "invalid_input", "strength", "-0.1"),
    ({"vector": GOOD, "strength": 2.1}, "invalid_input", "strength", "2.1"),
    ({"vector": GOOD, "strength": "full"}, "invalid_input", "strength", 'the string "full"'),
    ({"vector": GOOD, "strength": True}, "invalid_input", "strength", "true"),
    ({"vector": GOOD, "score_threshold": "0.5"}, "invalid_input", "score_threshold", 'the string "0.5"'),
    ({"vector": GOOD, "with": "payload"}, "invalid_input", "with", 'the string "payload"'),
    ({"vector": GOOD, "with": ["payload", "colour"]}, "invalid_input", "with", '["payload","colour"]'),
    ({"vector": GOOD, "with": [["payload"]]}, "invalid_input", "with", '[["payload"]]'),
    ({"vector": GOOD, "with": ["vector\n"]}, "invalid_input", "with", '["vector\\n"]'),
    ({"vector": GOOD, "params": [1]}, "invalid_input", "params", "a list of 1"),
    ({"vector": GOOD, "params": {"nprobe": 4}}, "invalid_input", "params", "nprobe"),
    ({"vector": GOOD, "params": {"exact": 1}}, "invalid_input", "params.exact", "1"),
    ({"vector": GOOD, "with": ["payload.rnak"]}, "unknown_field", "with", "rnak"),
    ({"vector": GOOD, "filter": []}, "invalid_input", "filter", "a list of 0"),
    ({"vector": GOOD, "filter": {"rnak": 5}}, "unknown_field", "filter.rnak", "an unknown member"),
    ({"vector": GOOD, "filter": {"and": [{"field": "title", "eq": 5}]}}, "invalid_input", "filter.and[0].eq", "5"),
    ({"vector": GOOD, "limt": 5}, "unknown_field", "limt", "an unknown field"),
    ({"vector": GOOD, "top_k": 5}, "unknown_field", "top_k", "an unknown field; did you mean limit?"),
    ({"vector": GOOD, "offset": 5}, "unknown_field", "offset", "an unknown field; did you mean skip?"),
    ({"vector": GOOD, "with_payload": True}, "unknown_field", "with_payload", "an unknown field; did you mean with?"),
    ({"id": "a/b", "text": "amber"}, "invalid_input", "vector", "text and id"),
    ({"id": 5}, "invalid_input", "id", "5"),
    ({"id": True}, "invalid_input", "id", "true"),
    ({"vector": GOOD, "skip": -1}, "invalid_input", "skip", "-1"),
    ({"vector": GOOD, "skip": 1.5}, "invalid_input", "skip", "1.5"),
    ({"vector": GOOD, "skip": 4_991}, "invalid_input", "skip", "4991"),
    ({"vector": GOOD, "explain": 1}, "invalid_input", "explain", "1"),
    ({"vector": GOOD, "diversity": 1.01}, "invalid_input", "diversity", "1.01"),
    ({"vector": GOOD, "diversity": True}, "invalid_input", "diversity", "true"),
    ({"vector": GOOD, "diversity": 0.5, "limit": 1000, "skip": 1}, "invalid_input", "limit", None),
    ({"vector": GOOD, "diversity": 0.5, "score_threshold": 0}, "invalid_input", "score_threshold", None),
    ({"vector": GOOD, "group_by": 7}, "invalid_input", "group_by", "7"),
    ({"vector": GOOD, "group_by": "shelf"}, "unknown_field", "group_by", None),
    ({"vector": GOOD, "min_confidence": -0.1}, "invalid_input", "min_confidence", "-0.1"),
    ({"vector": GOOD, "min_confidence": "0.5"}, "invalid_input", "min_confidence", 'the string "0.5"'),
    ({"vector": GOOD, "min_presence": 1.1}, "invalid_input", "min_presence", "1.1"),
    ({"vector": GOOD, "min_presence": True}, "invalid_input", "min_presence", "true"),
    ({"vector": GOOD, "min_accuracy": 2}, "invalid_input", "min_accuracy", "2"),
    ({"vector": GOOD, "min_accuracy": 0.9}, "invalid_input", "min_accuracy", "0.9"),
]


@pytest.mark.parametrize(("body", "code", "parameter", "received"), WRONG)
def test_wrong_query_gets_422_naming_field_expected_and_received_and_its_place_in_a_batch(
    http, body, code, parameter, received
):
    problem = refused(http.post(QUERY, json=body), 422, code, parameter)
    assert problem["expected"]
    assert received is None or problem["received"] == received
    batch = {"queries": [{"vector": GOOD}, body]}
    refused(http.post(BATCH, json=batch), 422, code, f"queries[1].{parameter}")


def test_zero_vector_is_fine_without_a_cosine(http):
    assert http.post("/v1/collections/numbers/query", json={"vector": [0.0] * DIM}).status_code == 200


@pytest.mark.parametrize("sign", [1, -1])
def test_products_that_leave_float32_get_422(http, sign):
    vector = [3e38, sign * 3e38] * (DIM // 2)
    refused(http.post("/v1/collections/numbers/query", json={"vector": vector}), 422, "not_finite", "vector")
    batch = {"queries": [{"vector": GOOD}, {"vector": vector}]}
    answer = http.post("/v1/collections/numbers/query/batch", json=batch)
    refused(answer, 422, "not_finite", "queries[1].vector")


@pytest.mark.parametrize(
    ("body", "code", "parameter"),
    [
        ({"text": "amber"}, "no_encoder", "text"),
        ({"id": "5"}, "invalid_input", "id"),
        ({"id": 5.0}, "invalid_input", "id"),
        ({"vector": GOOD, "filter": {"field": "rank", "eq": 1}}, "invalid_input", "filter"),
    ],
)
def test_what_a_collection_of_numbers_without_payload_and_encoder_cannot_answer(http, body, code, parameter):
    refused(http.post("/v1/collections/numbers/query", json=body), 422, code, parameter)


@pytest.mark.parametrize(
    ("path", "body", "code", "parameter"),
    [
        ("words/count", {"filter": {"field": "rnak", "lt": 1}}, "unknown_field", "filter.field"),
        ("words/count", {"fitler": None}, "unknown_field", "fitler"),
        ("words/count", [], "invalid_input", "body"),
        ("numbers/count", {"filter": {"field": "rank", "eq": 1}}, "invalid_input", "filter"),
        ("words/points", {}, "invalid_input", "ids"),
        ("words/points", {"ids": []}, "invalid_input", "ids"),
        ("words/points", {"ids": ["x"] * 1001}, "invalid_input", "ids"),
        ("words/points", {"ids": ["x", 5]}, "invalid_input", "ids[1]"),
        ("numbers/points", {"ids": [1, "5"]}, "invalid_input", "ids[1]"),
        ("numbers/points", {"ids": [True]}, "invalid_input", "ids[0]"),
        ("words/points", {"ids": ["x"], "with": ["colour"]}, "invalid_input", "with"),
        ("words/points", {"ids": ["x"], "with": ["payload.colour"]}, "unknown_field", "with"),
        ("words/points", {"id": ["x"]}, "unknown_field", "id"),
        ("words/scroll", {"limit": 0}, "invalid_input", "limit"),
        ("words/scroll", {"limit": 1001}, "invalid_input", "limit"),
        ("words/scroll", {"with": "payload"}, "invalid_input", "with"),
        ("words/scroll", {"filter": []}, "invalid_input", "filter"),
        ("words/scroll", [], "invalid_input", "body"),
        ("numbers/scroll", {"filter": {"field": "rank", "eq": 1}}, "invalid_input", "filter"),
    ],
)
def test_wrong_count_points_or_scroll_gets_422_naming_the_field(http, path, body, code, parameter):
    refused(http.post(f"/v1/collections/{path}", json=body), 422, code, parameter)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"vector": [1, 2',
        b'{"vector": [NaN]}',
        b'{"vector": [1,]}',
        b"{'vector': []}",
        b'{"text": "\xff\xfe"}',
        b'{"text": "\\ud800"}',
        b"\xef\xbb\xbf{}",
        b"[" * 5000,
        b"{} {}",
    ],
)
@pytest.mark.parametrize("path", [QUERY, BATCH])
def test_body_that_is_not_json_gets_400(http, path, body):
    answer = http.post(path, content=body, headers={"content-type": "application/json"})
    refused(answer, 400, "malformed_body")


@pytest.mark.parametrize("body", [b"[]", b"5", b"null", b'"amber"'])
@pytest.mark.parametrize("path", [QUERY, BATCH])
def test_body_that_is_no_object_gets_422(http, path, body):
    answer = http.post(path, content=body, headers={"content-type": "application/json"})
    refused(answer, 422, "invalid_input", "body")


@pytest.mark.parametrize(
    ("body", "code", "parameter", "received"),
    [
        ({}, "invalid_input", "queries", "null"),
        ({"queries": {}}, "invalid_input", "queries", "an object"),
        ({"queries": []}, "invalid_input", "queries", "0"),
        ({"queries": [{"vector": GOOD}] * 1001}, "invalid_input", "queries", "1001"),
        ({"queries": [5]}, "invalid_input", "queries[0]", "5"),
        ({"queries": [{"vector": GOOD}], "limit": 5}, "unknown_field", "limit", "an unknown field"),
    ],
)
def test_wrong_batch_gets_422(http, body, code, parameter, received):
    assert refused(http.post(BATCH, json=body), 422, code, parameter)["received"] == received


def test_other_name_of_a_field_gets_the_one_that_the_request_has(http):
    scroll, batch = {"offset": 5}, {"queries": [{"vector": GOOD, "top_k": 5}]}
    words = BATCH.removesuffix("/query/batch")
    assert "did you mean cursor?" in http.post(f"{words}/scroll", json=scroll).json()["detail"]
    assert "did you mean limit?" in http.post(BATCH, json=batch).json()["detail"]
    assert "did you mean" not in http.post(f"{words}/count", json={"offset": 5}).json()["detail"]


@pytest.mark.parametrize("size", [0, 1, 4 * DIM - 1, 8 * DIM])
def test_binary_query_of_another_length_gets_422_naming_both(http, size):
    answer = http.post(QUERY, content=b"\0" * size, headers=BINARY)
    problem = refused(answer, 422, "dimension_mismatch", "body")
    assert f"{DIM} dimensions" in problem["expected"]
    assert f"{4 * DIM} bytes" in problem["expected"]
    assert problem["received"] == f"{size} bytes"


def test_bad_binary_batch_is_refused_and_a_bad_row_is_named(http):
    zero = np.ones((4, DIM), "<f4")
    zero[2] = 0
    nan = zero.copy()
    nan[2, 5] = np.nan
    for content, code, parameter in (
        (b"\0" * (4 * DIM + 4), "dimension_mismatch", "body"),
        (b"", "invalid_input", "body"),
        (zero.tobytes(), "zero_vector", "body, row 2"),
        (nan.tobytes(), "not_finite", "body, row 2, column 5"),
    ):
        refused(http.post(BATCH, content=content, headers=BINARY), 422, code, parameter)


@pytest.mark.parametrize(
    ("parameters", "code", "parameter"),
    [
        ({"limit": "0"}, "invalid_input", "limit"),
        ({"limit": ""}, "invalid_input", "limit"),
        ({"limit": ["5", "6"]}, "invalid_input", "limit"),
        ({"strength": "nan"}, "invalid_input", "strength"),
        ({"strength": "3"}, "invalid_input", "strength"),
        ({"score_threshold": "Infinity"}, "invalid_input", "score_threshold"),
        ({"with": "payload,colour"}, "invalid_input", "with"),
        ({"dim": "0"}, "invalid_input", "dim"),
        ({"dim": str(DIM + 1)}, "dimension_mismatch", "dim"),
        ({"params": "{}"}, "unknown_field", "params"),
        ({"text": "amber"}, "unknown_field", "text"),
    ],
)
def test_wrong_url_parameter_of_a_binary_query_gets_422(http, parameters, code, parameter):
    body = np.ones(DIM, "<f4").tobytes()
    refused(http.post(QUERY, content=body, params=parameters, headers=BINARY), 422, code, parameter)


def test_binary_batch_of_another_dimension_that_adds_up_is_refused_where_its_dimension_is_told(http):
    body = np.ones((3, 2 * DIM), "<f4").tobytes()
    assert len(http.post(BATCH, content=body, headers=BINARY).json()["results"]) == 6
    problem = refused(
        http.post(BATCH, content=body, params={"dim": 2 * DIM}, headers=BINARY), 422, "dimension_mismatch", "dim"
    )
    assert (problem["expected"][:2], problem["received"]) == (str(DIM), f"{2 * DIM} dimensions")
    assert len(http.post(BATCH, content=body, params={"dim": DIM}, headers=BINARY).json()["results"]) == 6


@pytest.mark.parametrize("path", [QUERY, BATCH])
def test_url_parameters_beside_a_json_body_are_refused_rather_than_ignored(http, path):
    body = {"queries": [{"vector": GOOD}]} if path == BATCH else {"vector": GOOD}
    refused(http.post(path, params={"limit": 5}, json=body), 422, "unknown_field", "limit")


def test_long_input_is_not_sent_back_whole(http):
    answer = http.post(QUERY, json={"vector": GOOD, "limit": "9" * 100_000})
    refused(answer, 422, "invalid_input", "limit")
    assert len(answer.content) < 2000
