"""Each code of the contract, produced by a request; and errors that nobody foresaw, which tell the client nothing."""

import threading
import time
from base64 import urlsafe_b64encode
from hashlib import sha256

import pytest
from support.contract import code_of, gauges
from support.refusals.shape import HTTP
from support.refusals.table import TABLE

from hubless.errors import BundleDamaged, EngineError, EngineUnavailable, StorageError, UnsupportedBundle
from hubless_service.http.problems import PROBLEM_TYPES

QUERY = "/v1/collections/words/query"
JSON = {"content-type": "application/json"}
# the digest of no filter
NO_FILTER = urlsafe_b64encode(sha256(b"").digest()[:9])
OF_OTHER_VERSION = urlsafe_b64encode(b'["20000101T000000Z-0000", 0, 0, 7, "%s"]' % NO_FILTER).decode()


def of(collection):
    return lambda client: client.post(f"/v1/collections/{collection}/query", json={"text": "amber"})


REQUESTS = {
    "malformed_body": lambda client: client.post(QUERY, content=b"{", headers=JSON),
    "not_found": lambda client: client.get("/v1/nothing"),
    "picture_not_found": lambda client: client.get("/v1/collections/words/pictures/amber"),
    "method_not_allowed": lambda client: client.get(QUERY),
    "request_timeout": lambda client: client.post(QUERY, content=in_halves(), headers=JSON),
    "cursor_expired": lambda client: client.post("/v1/collections/words/scroll", json={"cursor": OF_OTHER_VERSION}),
    "body_too_large": lambda client: client.post(QUERY, content=b" " * 100_001, headers=JSON),
    "unsupported_media_type": lambda client: client.post(QUERY, content=b"x", headers={"content-type": "text/xml"}),
    "internal_error": of("odd"),
    "not_ready": of("late"),
    "bundle_damaged": of("damaged"),
    "unsupported_bundle": of("new"),
    "storage": of("unreadable"),
    "engine_unavailable": of("lost"),
    "engine_failed": of("refusing"),
}

# these need a server that is busy: test_overload.py
IN_OVERLOAD = {"too_many_requests", "deadline_exceeded"}
# these a collection whose encoder is an endpoint: test_encoders.py
OF_ENCODERS = {"text_refused", "encoder_failed", "encoder_timeout"}
# these a server with keys, or a catalog that can be changed: test_keys.py and test_administration.py
GUARDED = {"unauthenticated", "forbidden", "too_many_wrong_keys"}
# these a collection that can be written to: test_writes.py, test_creating.py
# these are of wrong members: tests/refusals
REFUSED = {row.error.code for row in TABLE if HTTP in row.doors}
WRITES = {"point_exists", "collection_exists", "collection_aliased", "merge_needed", "log_damaged"}
# these bytes that no client library sends: tests/attack
NO_REQUESTS = {"malformed_request", "head_too_large"}
CHANGES = {"version_not_found", "alias_not_found", "precondition_failed", "precondition_required"}


def in_halves():
    """A good body, of which the second half comes too late."""
    yield b'{"text": '
    time.sleep(1.5)
    yield b'"amber"}'


@pytest.fixture
def client(serve, words, numbers, tmp_path):
    failures = {
        "odd": RuntimeError("odd"),
        "damaged": BundleDamaged(tmp_path, "damaged"),
        "new": UnsupportedBundle(tmp_path, "too new"),
        "unreadable": StorageError(tmp_path, "unreadable"),
        "lost": EngineUnavailable("nobody answers at tcp://secret"),
        "refusing": EngineError("tcp://secret refuses"),
    }
    with serve({"words": words, "numbers": numbers, **failures}, max_body_bytes=100_000, receive_seconds=1) as (
        client,
        _,
    ):
        yield client


def test_every_code_has_its_request():
    elsewhere = IN_OVERLOAD | OF_ENCODERS | GUARDED | CHANGES | WRITES | NO_REQUESTS | REFUSED
    assert set(REQUESTS) | elsewhere == set(PROBLEM_TYPES)


def test_request_gets_its_code(client):
    for code in REQUESTS.keys() - {"not_ready"}:
        check(REQUESTS[code](client), code)


def test_request_that_comes_too_early_gets_not_ready(serve, words):
    with serve({"late": words}, held=True) as (client, _):
        check(REQUESTS["not_ready"](client), "not_ready")


def check(answer, code):
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["code"] == code
    assert problem["type"] == f"urn:hubless:problem:{code}"
    assert problem["status"] == answer.status_code == PROBLEM_TYPES[code].status
    assert problem["title"] == PROBLEM_TYPES[code].title
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert problem["detail"]
    assert "secret" not in answer.text


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
        assert code_of(answer) == (500, "internal_error")
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
        assert code_of(answer) == (500, "internal_error")
        assert "hunter2" not in answer.text


def survived(client):
    return gauges(client, "hubless_(survived_failures_total)")["survived_failures_total"]


def test_error_in_a_search_thread_is_answered_and_counted_and_the_next_request_is_searched(serve, words, monkeypatch):
    query, failed = words.query, []

    def fail_once(*arguments, **options):
        if threading.current_thread().name.startswith("search") and not failed:
            failed.append(1)
            raise SystemExit(PRIVATE)  # as no search may fail
        return query(*arguments, **options)

    with serve({"words": words}, search_threads=1) as (client, _):
        monkeypatch.setattr(words, "query", fail_once)
        answer = of("words")(client)
        assert code_of(answer) == (500, "internal_error")
        assert of("words")(client).status_code == 200
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
        statuses = [of("words")(client).status_code for _ in range(3)]
    assert statuses == [500, 200, 200]
