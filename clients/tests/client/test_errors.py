"""Which error an answer, or the lack of one, becomes."""

import pickle

import httpx
import pytest
from support.wire import ANSWER, Server, problem

import hubless_client
from hubless_client import ApiError, problems
from hubless_service.http.problems import PROBLEM_TYPES

CONTRACT = {
    code: (kind.status, getattr(hubless_client, "Api" + "".join(word.capitalize() for word in code.split("_"))))
    for code, kind in PROBLEM_TYPES.items()
}
"""Status and class of each code that a server sends."""


def raised_by(ask, *answers, **kwargs):
    with pytest.raises(hubless_client.ClientError) as caught:
        ask(Server(*answers), "query", "songs", [1.0, 2.0], **kwargs)
    return caught.value


@pytest.mark.parametrize("code", CONTRACT)
def test_problem_with_a_code_of_the_contract_raises_the_class_of_that_code(ask, code):
    status, kind = CONTRACT[code]
    error = raised_by(ask, problem(status, code))
    assert type(error) is kind
    assert (error.status, error.code, error.title, error.detail, error.request_id) == (
        status,
        code,
        "In words",
        "What is wrong",
        "r-1",
    )


def test_every_code_that_has_a_class_is_tested_here():
    branches = {ApiError, hubless_client.ApiAccessDenied, hubless_client.ApiChangeRefused}
    branches |= {hubless_client.ApiUnavailable, hubless_client.ApiServerError}
    assert set(problems.BY_CODE) == set(CONTRACT) | {kind.code for kind in branches}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, hubless_client.ApiAccessDenied),
        (404, hubless_client.ApiNotFound),
        (409, hubless_client.ApiChangeRefused),
        (418, hubless_client.ApiError),
        (422, hubless_client.ApiInvalidInput),
        (429, hubless_client.ApiTooManyRequests),
        (502, hubless_client.ApiUnavailable),
        (504, hubless_client.ApiDeadlineExceeded),
        (507, hubless_client.ApiServerError),
    ],
)
def test_problem_with_unknown_code_falls_back_to_its_status_and_keeps_the_code(ask, status, kind):
    error = raised_by(ask, problem(status, "from_the_future"))
    assert type(error) is kind
    assert error.code == "from_the_future"


def test_further_members_of_a_problem_are_kept_and_named_where_the_contract_names_them(ask):
    members = {"parameter": "vector", "expected": "256 dimensions", "received": "3 dimensions", "hint": "see /docs"}
    error = raised_by(ask, problem(422, "dimension_mismatch", **members))
    assert error.extra == members
    assert (error.parameter, error.expected, error.received) == ("vector", "256 dimensions", "3 dimensions")


def test_page_of_a_proxy_becomes_an_error_by_status_that_quotes_the_page(ask):
    page = httpx.Response(502, html="<h1>Bad Gateway</h1>\n" + "x" * 10_000, headers={"X-Request-ID": "proxy-1"})
    error = raised_by(ask, page)
    assert type(error) is hubless_client.ApiUnavailable
    assert error.detail.startswith("<h1>Bad Gateway</h1> xxx")
    assert len(error.detail) < 300
    assert (error.code, error.title, error.request_id) == ("unavailable", "Bad Gateway", "proxy-1")


@pytest.mark.parametrize("body", [b"", b"[1, 2]", b'"text"', b'{"detail": [{"loc": []}], "code": 7}', b"\xff\xfe{"])
def test_error_body_that_is_no_problem_document_still_becomes_an_error_with_a_detail(ask, body):
    error = raised_by(ask, httpx.Response(404, content=body, headers={"Content-Type": "application/json"}))
    assert type(error) is hubless_client.ApiNotFound
    assert error.code == "not_found"
    assert error.detail


def test_status_without_a_name_becomes_an_error_with_a_detail(ask):
    assert raised_by(ask, httpx.Response(599)).detail == "status 599"


def test_redirect_is_not_followed_and_says_where_it_points(ask):
    server = Server(httpx.Response(308, headers={"Location": "https://elsewhere.test/"}))
    with pytest.raises(hubless_client.ApiError, match=r"https://elsewhere\.test/"):
        ask(server, "query", "songs", [1.0, 2.0])
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, html="<h1>Welcome to nginx</h1>"),
        httpx.Response(200, json=[]),
        httpx.Response(200, json={"hits": [], "collection": "songs"}),
        httpx.Response(200, json={**ANSWER, "hits": [{"id": 1}]}),
        httpx.Response(200, json={**ANSWER, "hits": 3}),
        httpx.Response(200, json={**ANSWER, "hits": [{**ANSWER["hits"][0], "vector": "AAAA"}]}),
    ],
)
def test_success_that_is_not_what_the_contract_promises_is_a_bad_answer(ask, answer):
    error = raised_by(ask, answer)
    assert type(error) is hubless_client.BadAnswer
    assert error.status == 200
    assert "/v1/collections/songs/query" in error.detail


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (b"[" * 100_000 + b"]" * 100_000, "application/json"),
        (b'{"hits": [], "collection": "songs"}', "application/json; charset=idna"),
        (b"<h1>\xff</h1>", "text/html; charset=rot13"),
    ],
    ids=["nested too deep", "strange charset", "stranger charset"],
)
def test_answer_that_cannot_be_decoded_is_an_error_of_the_tree(ask, status, content, media_type):
    error = raised_by(ask, httpx.Response(status, content=content, headers={"Content-Type": media_type}))
    assert type(error) is (hubless_client.BadAnswer if status == 200 else hubless_client.ApiInternalError)
    assert len(str(error)) < 500


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (httpx.ConnectError("[Errno 111] Connection refused"), hubless_client.ConnectionFailed),
        (httpx.ReadError(""), hubless_client.ConnectionFailed),
        (httpx.RemoteProtocolError("Server disconnected"), hubless_client.ConnectionFailed),
        (httpx.ProxyError("407"), hubless_client.ConnectionFailed),
        (httpx.ConnectTimeout(""), hubless_client.TimedOut),
        (httpx.ReadTimeout("The read operation timed out"), hubless_client.TimedOut),
        (httpx.PoolTimeout(""), hubless_client.TimedOut),
        (httpx.UnsupportedProtocol("ftp"), hubless_client.CannotSend),
        (httpx.LocalProtocolError("Illegal header value"), hubless_client.CannotSend),
        (httpx.DecodingError("not gzip"), hubless_client.BadAnswer),
    ],
)
def test_failures_of_httpx_become_errors_of_the_tree_that_keep_their_cause(ask, failure, kind):
    error = raised_by(ask, failure)
    assert type(error) is kind
    assert error.status is None
    assert isinstance(error.__cause__, type(failure))


def test_connection_failure_names_the_server_and_not_the_password_in_its_url():
    transport = httpx.MockTransport(Server(httpx.ConnectError("refused")))
    client = hubless_client.Client(
        "http://user:hunter2@hubless.test:81", transport=transport, retries=hubless_client.Retries(0)
    )
    with client, pytest.raises(hubless_client.ConnectionFailed) as caught:
        client.count("songs")
    assert str(caught.value) == "connection_failed: POST http://hubless.test:81/v1/collections/songs/count: refused"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0), ("Wed, 21 Oct 2015 07:28:00 -0000", 0.0), ("soon", None)],
)
def test_retry_after_of_an_error_is_read_as_seconds(ask, header, seconds):
    error = raised_by(
        ask, problem(503, "not_ready", headers={"Retry-After": header}), retries=hubless_client.Retries(0)
    )
    assert error.retry_after == seconds


def test_an_error_says_code_detail_status_and_request_in_one_line(ask):
    error = raised_by(ask, problem(404, "collection_not_found"))
    assert str(error) == "collection_not_found: What is wrong (404, request r-1)"


def test_errors_survive_pickling_as_they_cross_process_borders(ask):
    error = raised_by(ask, problem(422, "not_finite", parameter="vector"))
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert type(copy) is hubless_client.ApiNotFinite
    assert vars(copy) == vars(error)
    assert str(copy) == str(error)


def test_input_errors_are_value_errors_and_missing_things_lookup_errors():
    assert issubclass(hubless_client.ApiDimensionMismatch, ValueError)
    assert issubclass(hubless_client.CannotSend, ValueError)
    assert issubclass(hubless_client.ApiPointNotFound, LookupError)
