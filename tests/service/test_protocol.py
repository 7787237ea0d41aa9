"""What HTTP itself asks of every endpoint, and what browsers are told."""

import gc
import gzip
import json
import re

import httpx
import orjson
import pytest
from support.catalogs import DIM
from support.contract import Contract, code_of

from hubless_service.http import connection

QUERY = "/v1/collections/words/query"
BATCH = "/v1/collections/words/query/batch"
COUNT = "/v1/collections/words/count"
GOOD = json.dumps({"vector": [0.5] * DIM}).encode()


@pytest.mark.parametrize(
    "path", ["/nothing", "/v1", "/v2/collections", "/v1/collections/", "/v1/collections/words/query/", "/favicon.ico"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unknown_path_gets_404(http, method, path):
    assert code_of(http.request(method, path)) == (404, "not_found")


@pytest.mark.parametrize("path", [*Contract().document["paths"], "/", "/docs", "/openapi.json", "/console/app.js"])
def test_options_and_a_wrong_method_get_all_methods_of_a_path(http, contract, path):
    path = re.sub(r"\{\w+\}", "words", path)
    methods = {m.upper() for pattern, operations in contract.paths if pattern.fullmatch(path) for m in operations}
    methods = methods or {"GET"}  # of a page
    allowed = ", ".join(sorted({*methods, "OPTIONS", *({"HEAD"} if "GET" in methods else ())}))
    for method, status in (("OPTIONS", 204), ("TRACE", 405)):
        answer = http.request(method, path)
        assert (answer.status_code, answer.headers["allow"]) == (status, allowed)
    assert answer.json()["detail"] == f"{path} takes {allowed}, not TRACE."


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


@pytest.mark.parametrize("sent", ["abc-123", "x" * 128, "~!$%"])
def test_request_id_is_echoed(http, sent):
    answer = http.get("/nowhere", headers={"x-request-id": sent})
    assert answer.headers["x-request-id"] == answer.json()["request_id"] == sent


@pytest.mark.parametrize("sent", ["", "x" * 129, "with space", "tab\there", b"\xe4"])
def test_unfit_request_id_is_replaced(http, sent):
    answer = http.get("/nowhere", headers={"x-request-id": sent})
    assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])


def test_each_request_gets_an_id_of_its_own_and_is_freed_when_it_was_told_of(http):
    gc.disable()
    try:
        assert len({http.get("/livez").headers["x-request-id"] for _ in range(400)}) == 400
        assert sum(type(each) is connection.Exchange for each in gc.get_objects()) < 300
    finally:
        gc.enable()


def stages(answer):
    return dict(
        re.fullmatch(r"(\w+);dur=([\d.]+)", part).groups() for part in answer.headers["server-timing"].split(", ")
    )


def test_server_timing_tells_the_stages(http):
    headers = {"content-type": "application/json"}
    vector = stages(http.post(QUERY, content=GOOD, headers=headers))
    assert list(vector) == ["parse", "queue", "search", "serialise", "total"]
    assert sum(float(vector[name]) for name in vector if name != "total") <= float(vector["total"])
    text = stages(http.post(QUERY, json={"text": "amber", "with": ["payload"]}))
    assert list(text) == ["parse", "encode", "queue", "search", "payload", "serialise", "total"]
    assert list(stages(http.get("/nowhere"))) == ["total"]


def test_answers_are_compact_json_of_a_known_length_and_do_not_tell_the_software(http):
    answer = http.post(QUERY, content=GOOD, headers={"content-type": "application/json"})
    assert answer.headers["content-type"] == "application/json"
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert answer.content == orjson.dumps(answer.json())
    assert "server" not in answer.headers


def test_connection_goes_on_after_a_large_body_that_was_discarded(serve, words, monkeypatch):
    monkeypatch.setattr(connection, "_FLOOD", 1)
    with serve({"words": words}) as (client, _):
        for _ in range(2):
            answer = client.post(QUERY, content=b" " * (2**24 + 1), headers={"content-type": "application/json"})
            assert code_of(answer) == (413, "body_too_large")
        assert client.get("/livez").status_code == 200


SHOP = "https://shop.example"
PREFLIGHT = {"Origin": SHOP, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-api-key"}


def allowed(answer):
    return {name: value for name, value in answer.headers.items() if name.startswith("access-control")}


def test_no_origin_is_allowed_unless_named(http):
    assert allowed(http.get("/v1/collections", headers={"Origin": SHOP})) == {}
    assert allowed(http.options(QUERY, headers=PREFLIGHT)) == {}


def test_named_origin_may_ask_also_with_a_key_and_no_other_may(serve, words):
    key = "reader-0123456789"
    with serve({"words": words}, cors_origins=f"{SHOP},https://b.example", read_keys=key) as (client, _):
        asked = client.options(QUERY, headers=PREFLIGHT)
        assert asked.status_code == 200
        assert asked.headers["access-control-allow-origin"] == SHOP
        assert {"PUT", "PATCH", "DELETE"} <= {*asked.headers["access-control-allow-methods"].split(", ")}
        assert "x-api-key" in asked.headers["access-control-allow-headers"].lower()
        answer = client.post(QUERY, json={"text": "amber"}, headers={"Origin": SHOP, "X-API-Key": key})
        assert answer.headers["access-control-allow-origin"] == SHOP
        assert "X-Request-ID" in answer.headers["access-control-expose-headers"]
        assert "access-control-allow-credentials" not in answer.headers
        refused = client.post(QUERY, json={"text": "amber"}, headers={"Origin": SHOP})
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, SHOP)
        other = httpx.options(client.base_url.join(QUERY), headers=PREFLIGHT | {"Origin": "https://evil.example"})
        assert other.status_code == 400
        assert "access-control-allow-origin" not in other.headers


def test_query_gets_the_same_answer_past_the_layers_and_through_them(serve, words):
    """A page of an allowed origin is answered through the layers, all others past them."""
    key = {"X-API-Key": "reader-0123456789", "X-Request-ID": "mine"}
    asked = [
        (QUERY, GOOD, {}, 200),
        (QUERY, b'{"text": "amber", "with": ["payload"]}', {}, 200),
        (QUERY, b'{"vector": [0.5]}', {}, 422),
        (QUERY, b"{", {}, 400),
        (QUERY, GOOD, {"content-type": "text/plain"}, 415),
        (QUERY, b" " * (2**24 + 1), {}, 413),
        (QUERY, GOOD, {"X-API-Key": "wrong-0123456789"}, 401),
        ("/v1/collections/none/query", GOOD, {}, 404),
    ]
    with serve({"words": words}, cors_origins=SHOP, read_keys=key["X-API-Key"]) as (client, _):
        for path, body, more, status in asked:
            headers = {"content-type": "application/json", **key, **more}
            quick, usual = (
                client.post(path, content=body, headers=headers | origin) for origin in ({}, {"Origin": SHOP})
            )
            assert quick.status_code == status
            assert (quick.status_code, quick.json()) == (usual.status_code, usual.json())
            same = quick.headers.keys() - {"date", "server-timing"}
            assert {name: quick.headers[name] for name in same} == {name: usual.headers[name] for name in same}
            assert usual.headers.keys() - quick.headers.keys() == allowed(usual).keys() | {"vary"}


@pytest.mark.parametrize("path", ["/livez", "/v1/collections", "/v1/collections/none", "/openapi.json", "/none"])
def test_answer_runs_nothing_is_framed_nowhere_and_is_not_kept(http, path):
    assert http.get(path).headers.items() >= {
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-store"),
        ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    }


def test_documentation_page_may_run_files_of_the_server_and_no_other_script(server):
    page = httpx.get(f"{server}/docs")
    policy = page.headers["content-security-policy"]
    assert not re.search(r"<style|<script(?![^>]*src=)|\son\w+=|style=", page.text)
    assert "script-src 'self';" in policy
    assert "http" not in policy
    assert page.headers.get_list("content-security-policy") == [policy]
    assert page.headers["x-frame-options"] == "DENY"
