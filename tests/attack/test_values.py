"""Anything as the value of a header, as chunks, as an id in a path and as a parameter: answers, and none of 500."""

import re
from urllib.parse import quote_from_bytes

from hypothesis import strategies as st
from support.anything import EXAMPLES, mutations
from support.raw import LAST, exchange, request, statuses

COUNT, POINTS = (f"/v1/collections/words/{name}" for name in ("count", "points"))
JSON = "Content-Type: application/json"

PATIENCE = 0.2  # seconds; some bodies are announced longer than they are
HEADERS = ["Accept", "Authorization", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Expect"]
HEADERS += ["Host", "If-Match", "Origin", "Range", "Traceparent", "Transfer-Encoding", "Upgrade", "X-API-Key"]
HEADERS += ["X-Forwarded-For", "X-Forwarded-Proto", "X-Request-ID"]
NEAR = ["Bearer ", "bearer a-key-that-nobody-has", "application/json", "chunked", "close", "keep-alive", "0", "-1", "2"]
NEAR += ["127.0.0.1", "::1, unknown", "https://x", "http://[", "null", "00-" + "1" * 32 + "-" + "2" * 16 + "-01", "*"]
LINE = st.binary(max_size=80).map(lambda value: re.sub(rb"[\r\n]", b"", value))
VALUE = (
    LINE | st.sampled_from(NEAR).map(str.encode) | st.sampled_from(NEAR).flatmap(lambda one: mutations(one.encode()))
)
FIELDS = st.lists(st.tuples(st.sampled_from(HEADERS), VALUE), max_size=4)


def status_of(url, sent):
    """What the server answers to a request after which it ends the connection."""
    (answer,) = exchange(url, sent)
    return answer.status


GOOD = [
    request("GET", "/v1/collections/words?x=%41", "Accept: */*", "X-Request-ID: a", "Expect: 100-continue"),
    request("POST", COUNT, JSON, "Content-Length: 2", body=b"{}"),
    request("POST", COUNT, JSON, "Transfer-Encoding: chunked", body=b"2\r\n{}\r\n0\r\n\r\n"),
    request("GET", "/livez", "Connection: Upgrade", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAoAAA"),
]


@EXAMPLES
def test_requests_with_mistakes(fuzzed, victim):
    def ask(sent):
        assert all(status < 500 for status in statuses(victim.url, sent + LAST, PATIENCE))

    fuzzed(st.sampled_from(GOOD).flatmap(mutations), ask)


@EXAMPLES
def test_values_of_headers(fuzzed, victim, guarded):
    def ask(fields):
        lines = b"".join(name.encode() + b": " + value.replace(b"\n", b"") + b"\r\n" for name, value in fields)
        sent = f"POST {COUNT} HTTP/1.1\r\n".encode() + lines + b"\r\n{}" + LAST
        for server in (victim, guarded):
            assert all(status < 500 for status in statuses(server.url, sent, PATIENCE))

    fuzzed(FIELDS, ask)


@EXAMPLES
def test_chunked_bodies(fuzzed, victim):
    good = [b"2\r\n{}\r\n", b"0\r\n\r\n", b"1\r\n \r\n", b"A;x=y\r\n          \r\n", b"0\r\nX: y\r\n\r\n"]
    parts = st.sampled_from(good) | st.sampled_from(good).flatmap(mutations) | st.binary(max_size=9)
    head = request("POST", COUNT, JSON, "Transfer-Encoding: chunked")

    def ask(chunks):
        found = statuses(victim.url, head + b"".join(chunks) + LAST, PATIENCE)
        assert all(status < 500 for status in found)

    assert [answer.status for answer in exchange(victim.url, head + good[0] + good[1] + LAST)] == [200, 200]
    fuzzed(st.lists(parts, max_size=6), ask)


@EXAMPLES
def test_ids_in_paths(fuzzed, victim):
    def ask(name):
        sent = request("GET", f"{POINTS}/{quote_from_bytes(name, safe='/%')}", "Connection: close")
        status = status_of(victim.url, sent)
        assert status in (200, 307, 400, 404), status

    fuzzed(st.binary(max_size=30) | st.text(max_size=12).map(str.encode), ask)
