"""Every way in which a query can be wrong has its code, and names the field."""

import numpy as np
import pytest
from support.catalogs import DIM

QUERY = "/v1/collections/words/query"
BATCH = "/v1/collections/words/query/batch"
GOOD = [0.5] * DIM
BINARY = {"content-type": "application/octet-stream"}


def refused(answer, status, code, parameter=None):
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    if parameter:
        assert problem["parameter"] == parameter
        assert problem["detail"] == f"{parameter}: expected {problem['expected']}, got {problem['received']}"
    return problem


# what is sent instead of a good query, the code, the parameter, and what the answer says came


def test_zero_vector_is_fine_without_a_cosine(http):
    assert http.post("/v1/collections/numbers/query", json={"vector": [0.0] * DIM}).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"{",
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
@pytest.mark.parametrize("path", [QUERY, BATCH, "/v1/collections/words/count"])
def test_body_that_is_not_json_gets_400(http, path, body):
    refused(sent(http, path, body), 400, "malformed_body")


def sent(http, path, body):
    return http.post(path, content=body, headers={"content-type": "application/json"})


@pytest.mark.parametrize("body", [b"[]", b"5", b"null", b'"amber"'])
@pytest.mark.parametrize("path", [QUERY, BATCH])
def test_body_that_is_no_object_gets_422(http, path, body):
    refused(sent(http, path, body), 422, "invalid_input", "body")


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
