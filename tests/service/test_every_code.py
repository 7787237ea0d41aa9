"""Each code of the contract, produced by a request, with its status and its title."""

import time
from base64 import urlsafe_b64encode
from hashlib import sha256

import pytest
from support.catalogs import DIM

from hubless.errors import BundleDamaged, EngineError, EngineUnavailable, StorageError, UnsupportedBundle
from hubless_service.http.problems import PROBLEM_TYPES

QUERY = "/v1/collections/words/query"
JSON = {"content-type": "application/json"}
GOOD = [0.5] * DIM
# the digest of no filter
NO_FILTER = urlsafe_b64encode(sha256(b"").digest()[:9])
OF_OTHER_VERSION = urlsafe_b64encode(b'["20000101T000000Z-0000", 0, 0, 7, "%s"]' % NO_FILTER).decode()


def query(**body):
    return lambda client: client.post(QUERY, json=body)


def of(collection):
    return lambda client: client.post(f"/v1/collections/{collection}/query", json={"text": "amber"})


REQUESTS = {
    "malformed_body": lambda client: client.post(QUERY, content=b"{", headers=JSON),
    "not_found": lambda client: client.get("/v1/nothing"),
    "collection_not_found": of("songs"),
    "point_not_found": lambda client: client.get("/v1/collections/words/points/none"),
    "method_not_allowed": lambda client: client.get(QUERY),
    "request_timeout": lambda client: client.post(QUERY, content=in_halves(), headers=JSON),
    "cursor_expired": lambda client: client.post("/v1/collections/words/scroll", json={"cursor": OF_OTHER_VERSION}),
    "body_too_large": lambda client: client.post(QUERY, content=b" " * 100_001, headers=JSON),
    "unsupported_media_type": lambda client: client.post(QUERY, content=b"x", headers={"content-type": "text/xml"}),
    "invalid_input": query(vector=GOOD, limit=0),
    "unknown_field": query(vector=GOOD, colour="red"),
    "dimension_mismatch": query(vector=[1.0]),
    "not_finite": query(vector=[1e39] * DIM),
    "zero_vector": query(vector=[0] * DIM),
    "no_encoder": of("numbers"),
    "unknown_words": query(text="zzz"),
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
    assert set(REQUESTS) | IN_OVERLOAD | OF_ENCODERS | GUARDED | CHANGES | WRITES | NO_REQUESTS == set(PROBLEM_TYPES)


@pytest.mark.parametrize("code", sorted(REQUESTS.keys() - {"not_ready"}))
def test_request_gets_its_code(client, code):
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
