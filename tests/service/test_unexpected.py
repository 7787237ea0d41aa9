"""Exceptions that nobody foresaw are logged with the request's id, and say nothing to the client."""

import pytest

PRIVATE = "/home/someone/.key: token=hunter2"


@pytest.fixture
def broken(words, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError(PRIVATE)

    # the canaries are asked through it, too
    monkeypatch.setattr(words, "check_canaries", lambda: None)
    monkeypatch.setattr(words, "query", fail)
    return words


@pytest.mark.parametrize("path", ["query", "query/batch"])
def test_unexpected_exception_gets_500_with_nothing_but_the_request_id(serve, broken, caplog, path):
    body = {"text": "amber"}
    with serve({"words": broken}) as (client, _):
        answer = client.post(
            f"/v1/collections/words/{path}",
            json=body if path == "query" else {"queries": [body]},
            headers={"x-request-id": "find-me"},
        )
        assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
        assert answer.headers["x-request-id"] == answer.json()["request_id"] == "find-me"
        assert "hunter2" not in answer.text
        assert "Traceback" not in answer.text
        assert client.get("/livez").status_code == 200
    (record,) = [record for record in caplog.records if record.exc_info]
    assert "find-me" in record.getMessage()
    assert PRIVATE in caplog.text


def test_error_of_the_library_that_no_client_can_cause_is_internal(serve, words, monkeypatch):
    from hubless.errors import HublessError

    def fail(*args, **kwargs):
        raise HublessError(PRIVATE)

    monkeypatch.setattr(words, "payload", fail)
    with serve({"words": words}) as (client, _):
        answer = client.post("/v1/collections/words/query", json={"text": "amber", "with": ["payload"]})
        assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
        assert "hunter2" not in answer.text
