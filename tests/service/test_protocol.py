"""What HTTP itself asks of every endpoint: methods, media types, sizes, ids, timings."""

import gzip
import json
import re
import socket

import numpy as np
import pytest
from support import raw
from support.catalogs import DIM
from uvicorn.protocols.http.flow_control import FlowControl

from hubless_service.http import edge

QUERY = "/v1/collections/words/query"
BATCH = "/v1/collections/words/query/batch"
COUNT = "/v1/collections/words/count"
GOOD = json.dumps({"vector": [0.5] * DIM}).encode()


def code_of(answer):
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["code"]


@pytest.mark.parametrize(
    "path", ["/nothing", "/v1", "/v2/collections", "/v1/collections/", "/v1/collections/words/query/", "/favicon.ico"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unknown_path_gets_404(http, method, path):
    assert code_of(http.request(method, path)) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", QUERY, "POST, OPTIONS"),
        ("HEAD", QUERY, "POST, OPTIONS"),
        ("PUT", BATCH, "POST, OPTIONS"),
        ("DELETE", "/v1/collections/words/hubness", "GET, HEAD, OPTIONS"),
        ("POST", "/livez", "GET, HEAD, OPTIONS"),
    ],
)
def test_wrong_method_gets_405_with_the_right_ones(http, method, path, allowed):
    answer = http.request(method, path)
    assert answer.status_code == 405
    assert answer.headers["allow"] == allowed
    if method != "HEAD":
        assert code_of(answer) == (405, "method_not_allowed")


def test_options_says_what_a_path_allows(http):
    answer = http.options(QUERY)
    assert (answer.status_code, answer.headers["allow"], answer.content) == (204, "POST, OPTIONS", b"")


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics", "/docs", "/v1/collections", "/v1/collections/words"])
def test_head_is_get_without_the_body(http, path):
    head, get = http.head(path), http.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == get.headers["content-type"]


@pytest.mark.parametrize("path", [QUERY, BATCH, COUNT])
@pytest.mark.parametrize("sent", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", "", None])
def test_other_media_type_gets_415_naming_the_right_ones(http, path, sent):
    answer = http.post(path, content=GOOD, headers={} if sent is None else {"content-type": sent})
    assert code_of(answer) == (415, "unsupported_media_type")
    assert "application/json" in answer.json()["detail"]


def test_compressed_body_gets_415(http):
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    answer = http.post(QUERY, content=gzip.compress(GOOD), headers=headers)
    assert code_of(answer) == (415, "unsupported_media_type")


@pytest.mark.parametrize("sent", ["application/json; charset=utf-8", "Application/JSON", "application/json;x=y"])
def test_media_type_may_have_parameters_and_capitals(http, sent):
    assert http.post(QUERY, content=GOOD, headers={"content-type": sent}).status_code == 200


def test_body_above_the_limit_gets_413_and_one_at_the_limit_an_answer(serve, words):
    with serve({"words": words}, max_body_bytes=len(GOOD)) as (client, _):
        headers = {"content-type": "application/json"}
        assert client.post(QUERY, content=GOOD, headers=headers).status_code == 200
        for path in (QUERY, BATCH, COUNT):
            answer = client.post(path, content=GOOD + b" ", headers=headers)
            assert code_of(answer) == (413, "body_too_large")
            assert answer.json()["expected"] == f"at most {len(GOOD)} bytes"


def test_body_that_does_not_tell_its_length_gets_413_too(serve, words):
    with serve({"words": words}, max_body_bytes=1000) as (client, _):
        chunks = (b" " * 100 for _ in range(11))
        answer = client.post(QUERY, content=chunks, headers={"content-type": "application/json"})
        assert "content-length" not in answer.request.headers
        assert code_of(answer) == (413, "body_too_large")
        assert client.get("/livez").status_code == 200


def test_chunked_body_below_the_limit_is_answered(http):
    halves = iter([GOOD[:40], GOOD[40:]])
    assert http.post(QUERY, content=halves, headers={"content-type": "application/json"}).status_code == 200


def test_connection_serves_on_after_a_body_that_was_too_large(serve, words):
    with serve({"words": words}, max_body_bytes=1000) as (client, _):
        for _ in range(3):
            assert (
                client.post(QUERY, content=b" " * 300_000, headers={"content-type": "application/json"}).status_code
                == 413
            )
            assert client.get("/livez").status_code == 200


@pytest.mark.parametrize("sent", ["abc-123", "x" * 128, "~!$%"])
def test_request_id_is_echoed(http, sent):
    answer = http.get("/nowhere", headers={"x-request-id": sent})
    assert answer.headers["x-request-id"] == answer.json()["request_id"] == sent


@pytest.mark.parametrize("sent", ["", "x" * 129, "with space", "tab\there", b"\xe4"])
def test_unfit_request_id_is_replaced(http, sent):
    answer = http.get("/nowhere", headers={"x-request-id": sent})
    assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])


def test_each_request_gets_an_id_of_its_own(http):
    assert len({http.get("/livez").headers["x-request-id"] for _ in range(5)}) == 5


def stages(answer):
    return dict(
        re.fullmatch(r"(\w+);dur=([\d.]+)", part).groups() for part in answer.headers["server-timing"].split(", ")
    )


def test_server_timing_tells_the_stages(http):
    headers = {"content-type": "application/json"}
    vector = stages(http.post(QUERY, content=GOOD, headers=headers))
    assert list(vector) == ["parse", "queue", "search", "payload", "serialise", "total"]
    assert sum(float(vector[name]) for name in vector if name != "total") <= float(vector["total"])
    text = stages(http.post(QUERY, json={"text": "amber"}))
    assert list(text) == ["parse", "encode", "queue", "search", "payload", "serialise", "total"]
    assert list(stages(http.get("/nowhere"))) == ["total"]


def test_answers_are_compact_json_of_a_known_length(http):
    answer = http.post(QUERY, content=GOOD, headers={"content-type": "application/json"})
    assert answer.headers["content-type"] == "application/json"
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert answer.content == json.dumps(answer.json(), separators=(",", ":")).encode()


def test_server_does_not_tell_its_software(http):
    assert "server" not in http.get("/livez").headers


def test_client_that_hangs_up_in_mid_body_leaves_the_server_well(http, server):
    host, port = server.removeprefix("http://").split(":")
    for _ in range(20):
        with socket.create_connection((host, int(port))) as connection:
            head = f"POST {QUERY} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
            connection.sendall(head.encode() + b'{"vector": [')
    answer = http.post(QUERY, content=GOOD, headers={"content-type": "application/json"})
    assert answer.status_code == 200


def test_octet_stream_with_little_endian_floats_is_little_endian(http):
    vector = np.linspace(-1, 1, DIM)
    headers = {"content-type": "application/octet-stream"}
    from_bytes = http.post(QUERY, content=vector.astype("<f4").tobytes(), headers=headers).json()
    from_list = http.post(QUERY, json={"vector": vector.astype("<f4").tolist()}).json()
    assert from_bytes == from_list


@pytest.mark.parametrize("flood", [1, 65_536], ids=["any", "large"])
def test_what_is_discarded_is_read_with_pauses_in_which_others_are_answered(serve, words, monkeypatch, flood):
    monkeypatch.setattr(edge, "_FLOOD", flood)
    paused, pause = [], FlowControl.pause_reading
    monkeypatch.setattr(FlowControl, "pause_reading", lambda self: paused.append(1) or pause(self))
    with serve({"words": words}) as (client, _), raw.connect(str(client.base_url)) as connection:
        raw.send(connection, b"GET /livez HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 2**22)
        assert raw.read_to_end(connection).startswith(b"HTTP/1.1 431 ")
    assert paused or flood > 1


def test_connection_goes_on_after_a_large_body_that_was_discarded(serve, words, monkeypatch):
    monkeypatch.setattr(edge, "_FLOOD", 1)
    with serve({"words": words}) as (client, _):
        for _ in range(2):
            answer = client.post(QUERY, content=b" " * 2**22, headers={"content-type": "application/json"})
            assert code_of(answer) == (413, "body_too_large")
        assert client.get("/livez").status_code == 200
