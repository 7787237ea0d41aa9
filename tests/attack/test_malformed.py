"""Requests that two servers might read differently, and such that are none: answered once, or not, and never twice."""

import pytest
from support.raw import LAST, LIVE, exchange, request

COUNT = "/v1/collections/words/count"
SMUGGLED = request("GET", "/v1/collections")
CHUNKED = "Transfer-Encoding: chunked"

REFUSED = {
    "both framings, length first": request("POST", COUNT, "Content-Length: 5", CHUNKED, body=b"0\r\n\r\n" + SMUGGLED),
    "both framings, chunks first": request("POST", COUNT, CHUNKED, "Content-Length: 5", body=b"0\r\n\r\n" + SMUGGLED),
    "two lengths": request("POST", COUNT, "Content-Length: 0", "Content-Length: 9", body=SMUGGLED),
    "the same length twice": request("POST", COUNT, "Content-Length: 0", "Content-Length: 0", body=SMUGGLED),
    "a list of lengths": request("POST", COUNT, "Content-Length: 0, 0", body=SMUGGLED),
    "a length with a sign": request("POST", COUNT, "Content-Length: +0", body=SMUGGLED),
    "a negative length": request("POST", COUNT, "Content-Length: -1", body=SMUGGLED),
    "a length in hexadecimal": request("POST", COUNT, "Content-Length: 0x0", body=SMUGGLED),
    "a length beyond 64 bits": request("POST", COUNT, "Content-Length: 99999999999999999999", body=SMUGGLED),
    "chunks in HTTP/1.0": request("POST", COUNT, CHUNKED, body=b"0\r\n\r\n").replace(b"HTTP/1.1", b"HTTP/1.0", 1),
    "another coding": request("POST", COUNT, "Transfer-Encoding: gzip", body=SMUGGLED),
    "chunks and another coding": request("POST", COUNT, "Transfer-Encoding: chunked, gzip", body=b"0\r\n\r\n"),
    "another coding and chunks": request("POST", COUNT, "Transfer-Encoding: gzip, chunked", body=b"0\r\n\r\n"),
    "chunked twice": request("POST", COUNT, CHUNKED, CHUNKED, body=b"0\r\n\r\n"),
    "a coding like chunked": request("POST", COUNT, "Transfer-Encoding: xchunked", body=b"0\r\n\r\n"),
    "a name with a space": request("POST", COUNT, "Content-Length : 5", body=b"12345" + SMUGGLED),
    "a name with a tab": request("POST", COUNT, "Transfer-Encoding\t: chunked", body=b"0\r\n\r\n" + SMUGGLED),
    "a folded line": request("GET", "/livez", "X: a", " b"),
    "a folded length": request("POST", COUNT, "X: a", " Content-Length: 5", body=b"12345"),
    "a line without a name": request("GET", "/livez", ": a"),
    "a line without a colon": request("GET", "/livez", "nothing"),
    "a zero byte": request("GET", "/livez", "X: a\0b"),
    "a lone carriage return": request("GET", "/livez", "X: a\rHost: y"),
    "lone line feeds": LIVE.replace(b"\r\n", b"\n"),
    "no host": request("GET", "/livez", host=False),
    "two hosts": request("GET", "/livez", "Host: y"),
    "the same host twice": request("GET", "/livez", "Host: x"),
    "a host with a path": request("GET", "/livez", "Host: x/y", host=False),
    "a host with a user": request("GET", "/livez", "Host: a@b", host=False),
    "a host with a space": request("GET", "/livez", "Host: a b", host=False),
    "HTTP/0.9": b"GET /livez\r\n\r\n",
    "HTTP/1.2": LIVE.replace(b"1.1", b"1.2"),
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no version": b"GET /livez HTTP/\r\nHost: x\r\n\r\n",
    "an unknown method": request("FETCH", "/livez"),
    "a proxy's method": request("CONNECT", "x:80"),
    "a path without a slash": request("GET", "livez"),
    "a path that is not ASCII": request("GET", "/liv\xe9z"),
    "a path that is not UTF-8": request("GET", "/%ff"),
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(32),
    "zeros": bytes(100),
}

BROKEN_BODIES = {
    "a size beyond 64 bits": b"FFFFFFFFFFFFFFFFF\r\nabc",
    "a negative size": b"-1\r\nabc",
    "a size in words": b"three\r\nabc",
    "no size": b"\r\nabc",
    "a size with a prefix": b"0x3\r\nabc\r\n0\r\n\r\n",
    "more than the size": b"3\r\nabcd\r\n0\r\n\r\n",
    "less than the size": b"5\r\nabc\r\n0\r\n\r\n" + SMUGGLED,
    "lone line feeds": b"3\nabc\n0\n\n",
    "a space before the size": b" 3\r\nabc\r\n0\r\n\r\n",
    "a trailer without a colon": b"0\r\nnothing\r\n\r\n",
}


@pytest.mark.parametrize("name", REFUSED)
def test_request_that_is_none_gets_one_problem_and_the_end_also_after_a_good_one(victim, name):
    (answer,) = exchange(victim.url, REFUSED[name])
    assert (answer.status, answer.code) == (400, "malformed_request")
    assert answer.headers["connection"] == "close"
    found = exchange(victim.url, LIVE + REFUSED[name] + LIVE)
    assert [answer.status for answer in found] == [200, 400]


@pytest.mark.parametrize("path", [COUNT, "/nowhere"])
@pytest.mark.parametrize("name", BROKEN_BODIES)
def test_body_that_is_none_gets_one_problem_or_the_end_and_nothing_after_it_is_read(victim, name, path):
    found = exchange(victim.url, request("POST", path, CHUNKED, body=BROKEN_BODIES[name] + SMUGGLED))
    assert [(answer.status, answer.code) for answer in found] in ([(400, "malformed_request")], [(404, "not_found")])


def test_chunks_may_have_extensions(victim):
    body = b'2;a=b;c="d"\r\n{}\r\n0;e\r\n\r\n'
    sent = request("POST", COUNT, "Content-Type: application/json", CHUNKED, body=body) + LAST
    assert [answer.status for answer in exchange(victim.url, sent)] == [200, 200]


@pytest.mark.parametrize("part", [b"1;" + b"x" * 60_000 + b"\r\n \r\n", b"1\r\n \r\n"])
def test_body_that_is_nearly_all_framing_is_refused(victim, part):
    head = request("POST", COUNT, "Content-Type: application/json", CHUNKED)
    (answer,) = exchange(victim.url, head, *[part * (600_000 // len(part))])
    assert (answer.status, answer.code) == (400, "malformed_request")


def test_trailers_are_no_headers(guarded):
    trailers = b"0\r\nX-API-Key: a-key-that-nobody-has\r\nX-Request-ID: mine\r\n\r\n"
    sent = request("POST", COUNT, CHUNKED, body=trailers) + LAST
    refused, _ = exchange(guarded.url, sent)
    assert (refused.status, refused.headers["x-request-id"] == "mine") == (401, False)


def test_what_follows_the_last_request_is_not_read(victim):
    assert len(exchange(victim.url, LAST + SMUGGLED)) == 1
    assert len(exchange(victim.url, LAST + b"\0\0\0")) == 1


def test_request_of_single_bytes_is_answered(victim):
    sent = request("POST", COUNT, "Content-Type: application/json", CHUNKED, body=b"2\r\n{}\r\n0\r\n\r\n") + LAST
    found = exchange(victim.url, *(sent[at : at + 1] for at in range(len(sent))))
    assert [answer.status for answer in found] == [200, 200]


@pytest.mark.parametrize("upgrade", ["h2c", "websocket", "TLS/1.0, HTTP/1.1", "x"])
@pytest.mark.parametrize("framing", ["length", "chunks"])
def test_upgrade_is_ignored_also_with_a_body(victim, upgrade, framing):
    body = b"{}" if framing == "length" else b"2\r\n{}\r\n0\r\n\r\n"
    announced = "Content-Length: 2" if framing == "length" else CHUNKED
    headers = ("Connection: Upgrade, HTTP2-Settings", f"Upgrade: {upgrade}", "HTTP2-Settings: AAMAAABk")
    asked = request("POST", COUNT, *headers, "Content-Type: application/json", announced, body=body)
    found = exchange(victim.url, asked + request("GET", "/livez", *headers) + LAST)
    assert [answer.status for answer in found] == [200, 200, 200]
    assert b"count" in found[0].body
    assert not [line for line in victim.log if "pgrade" in line or "WebSocket" in line]
