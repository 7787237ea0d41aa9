"""The files of the page: what is vendored is what was published, and how they are served."""

import gzip
import hashlib
import json
import re
from pathlib import Path

import httpx
import numpy as np
import pytest
from support import catalogs
from support.serving import serving_catalog

ROOT = Path(__file__).parents[3]
CONSOLE = ROOT / "console"
VENDOR = CONSOLE / "vendor"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob: https:; connect-src 'self'"
)
LARGEST = 30_000  # bytes of the vendored files, compressed


def listed():
    return json.loads((VENDOR / "versions.json").read_text())


def test_vendored_files_are_those_that_were_published_and_have_licences():
    files = {path.name for path in VENDOR.iterdir() if path.suffix in (".js", ".css")}
    assert files == set(listed())
    for name, known in listed().items():
        content = (VENDOR / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == known["sha256"], name
        assert known["version"]
        assert known["licence"]
    assert {path.name for path in VENDOR.glob("LICENSE-*")} == {"LICENSE-htm", "LICENSE-preact", "LICENSE-uPlot"}


def test_vendored_files_are_small():
    assert sum(len(gzip.compress((VENDOR / name).read_bytes())) for name in listed()) < LARGEST


def test_sources_name_no_other_origin_and_need_no_eval():
    for path in CONSOLE.rglob("*"):
        if path.suffix in (".js", ".html", ".css") and path.parent != VENDOR:
            text = path.read_text()
            assert re.findall(r"""(?:src|href|from|import|url)\W{1,3}https?://""", text) == [], path
            forbidden = r"\beval\(|new Function|innerHTML|outerHTML|insertAdjacentHTML|localStorage\."
            assert not re.search(forbidden, text), path


def test_page_has_a_strict_policy_and_its_files_are_there(server):
    page = httpx.get(f"{server}/console/")
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers.get_list("content-security-policy") == [
        f"{POLICY}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ]
    assert page.headers["x-frame-options"] == "DENY"
    assert not re.search(r"<style|<script(?![^>]*src=)|\son\w+=|style=", page.text)
    links = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(links) >= 6
    for link in links:
        answer = httpx.get(httpx.URL(f"{server}/console/").join(link))
        assert answer.status_code == 200, link
        assert answer.headers["content-security-policy"].startswith(POLICY)
        assert answer.headers["cache-control"] == "no-cache"
        again = httpx.get(answer.url, headers={"If-None-Match": answer.headers["etag"]})
        assert again.status_code == 304


def test_address_without_a_slash_leads_to_the_page_whatever_the_prefix(server):
    answer = httpx.get(f"{server}/console")
    assert answer.status_code == 307
    assert answer.headers["location"] == "console/"


@pytest.mark.parametrize("path", ["/console/none.js", "/console/../pyproject.toml", "/console/%2e%2e/pyproject.toml"])
def test_what_is_no_file_of_the_page_is_not_found(server, path):
    answer = httpx.get(f"{server}{path}")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_root_leads_to_the_console_and_documentation_stands_beside(server):
    assert httpx.get(server, follow_redirects=True).url.path == "/console/"
    assert httpx.get(f"{server}/docs").status_code == 200


def test_files_need_no_key_and_data_does(console):
    with console(read_keys="reader-0123456789") as base:
        for path in ("/console", "/console/", "/console/main.js"):
            assert httpx.get(f"{base}{path}").status_code in (200, 307), path
        assert httpx.get(f"{base}/v1/collections").status_code == 401
        assert httpx.get(f"{base}/consoles").status_code == 401


def test_access_says_what_a_key_may_do(console, tmp_path):
    keys = {"keys": [{"key": "writer-0123456789", "role": "write", "collections": ["words"]}]}
    (tmp_path / "keys.json").write_text(json.dumps(keys))
    settings = {"read_keys": "reader-0123456789", "admin_keys": "admin-0123456789"}
    with console(**settings, keys_file=tmp_path / "keys.json") as base:
        found = [
            httpx.get(f"{base}/v1/access", headers={"X-API-Key": f"{key}-0123456789"}).json()
            for key in ("reader", "writer", "admin")
        ]
        assert httpx.get(f"{base}/v1/access").status_code == 401
    assert found == [
        {"keys": True, "role": "read", "collections": None, "bank_queries": False},
        {"keys": True, "role": "write", "collections": ["words"], "bank_queries": False},
        {"keys": True, "role": "admin", "collections": None, "bank_queries": True},
    ]


def test_access_without_keys_is_that_of_an_admin(server):
    expected = {"keys": False, "role": "admin", "collections": None, "bank_queries": True}
    assert httpx.get(f"{server}/v1/access").json() == expected


def test_bank_query_is_the_stored_one_and_others_are_refused(server):
    path = f"{server}/v1/collections/words/bank"
    answer, different = httpx.get(f"{path}/7").json(), len(np.unique(catalogs.words().query_bank, axis=0))
    assert (answer["number"], answer["stored"]) == (7, different)
    assert len(answer["vector"]) == catalogs.DIM
    for number in ("200", "-1", "x", "1e2", "²", "9" * 5000):
        refused = httpx.get(f"{path}/{number}").json()
        assert (refused["code"], refused["expected"]) == ("invalid_input", f"a whole number from 0 to {different - 1}")


@pytest.mark.parametrize(("readers", "lowest"), [("admin", 2), ("write", 1), ("read", 0)])
def test_bank_queries_are_read_by_the_roles_that_the_setting_names_and_above(catalog, readers, lowest):
    names = ("reader", "writer", "admins")
    keys = dict(zip(("read_keys", "write_keys", "admin_keys"), (f"{name}-0123456789" for name in names), strict=True))
    with serving_catalog(catalog, bank_readers=readers, **keys) as base:
        for place, key in enumerate(keys.values()):
            headers = {"X-API-Key": key}
            answer = httpx.get(f"{base}/v1/collections/words/bank/0", headers=headers)
            may = place >= lowest
            assert answer.status_code == (200 if may else 403)
            assert may or answer.json()["code"] == "forbidden"
            assert httpx.get(f"{base}/v1/access", headers=headers).json()["bank_queries"] is may
