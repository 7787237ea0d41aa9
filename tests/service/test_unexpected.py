"""Exceptions that nobody foresaw are logged with the request's id, and say nothing to the client."""

import threading

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


def survived(client):
    page = client.get("/metrics").text
    return next(float(line.split()[1]) for line in page.splitlines() if line.startswith("hubless_survived_failures_t"))


def test_error_in_a_search_thread_is_answered_and_counted_and_the_next_request_is_searched(serve, words, monkeypatch):
    query, failed = words.query, []

    def fail_once(*arguments, **options):
        if threading.current_thread().name.startswith("search") and not failed:
            failed.append(1)
            raise SystemExit(PRIVATE)  # as no search may fail
        return query(*arguments, **options)

    with serve({"words": words}, search_threads=1) as (client, _):
        monkeypatch.setattr(words, "query", fail_once)
        answer = client.post("/v1/collections/words/query", json={"text": "amber"})
        assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
        assert client.post("/v1/collections/words/query", json={"text": "amber"}).status_code == 200
        assert survived(client) == 1


def test_more_filters_than_costs_are_kept_of_leave_all_threads_at_work(serve, words, monkeypatch):
    """Each request with another filter has costs of its own; many threads note them at once."""
    monkeypatch.setattr("hubless_service.searching.work_queue.MOST_KEYS", 100)
    wanted = [{"text": "amber", "filter": {"field": "rank", "lt": limit}} for limit in range(400)]
    with serve({"words": words}, search_threads=8) as (client, _):
        for start in range(0, len(wanted), 200):
            body = {"queries": wanted[start : start + 200]}
            assert client.post("/v1/collections/words/query/batch", json=body).status_code == 200
        assert survived(client) == 0


def test_encoder_whose_threads_could_not_start_gets_them_with_the_next_text(serve, words, monkeypatch):
    monkeypatch.setattr(type(words.parts), "encodes_quickly", False)
    start, refused = threading.Thread.start, []

    def start_later(thread):
        if thread.name.startswith("search") and not refused:
            refused.append(thread)
            raise RuntimeError("can't start new thread")
        start(thread)

    with serve({"words": words}) as (client, _):
        monkeypatch.setattr(threading.Thread, "start", start_later)
        statuses = [client.post("/v1/collections/words/query", json={"text": "amber"}).status_code for _ in range(3)]
    assert statuses == [500, 200, 200]
