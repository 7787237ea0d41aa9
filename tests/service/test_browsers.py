"""What browsers are told: who may ask from a page, and what an answer may not become."""

import base64
import hashlib
import re

import httpx
import pytest

SHOP = "https://shop.example"
PREFLIGHT = {"Origin": SHOP, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-api-key"}
QUERY = "/v1/collections/words/query"


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


@pytest.mark.parametrize("path", ["/livez", "/v1/collections", "/v1/collections/none", "/openapi.json", "/none"])
def test_answer_runs_nothing_is_framed_nowhere_and_is_not_kept(http, path):
    headers = http.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"


def test_documentation_page_may_run_its_own_script_and_no_other(server):
    page = httpx.get(f"{server}/docs")
    policy = page.headers["content-security-policy"]
    (script,) = re.findall(r"(?s)<script>(.*?)</script>", page.text)
    assert f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in policy
    assert "script-src 'self' 'sha256-" in policy
    assert "http:" not in policy
    assert page.headers.get_list("content-security-policy") == [policy]
    assert page.headers["x-frame-options"] == "DENY"
