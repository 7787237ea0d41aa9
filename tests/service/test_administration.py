"""What administrators change while the service runs: which version is served, and what aliases stand for."""

import http.client
import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from support import versions
from support.contract import code_of
from support.serving import serving_catalog
from support.until import until
from support.versions import ASK

import hubless

NEVER = 3600  # seconds between two looks at the catalog: nothing is found by chance
READ, ADMIN = "reader-0123456789", "admin-0123456789"
SONGS = f"/v1/collections/{versions.NAME}"
NOT_NAMES = ["..", "%2e%2e", "%2e%2e%2f%2e%2e", "a%00b", "..%2f..%2fetc", "x" * 300, "%ff%fe", "-a", ".aliases.json"]


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    path = tmp_path_factory.mktemp("administered")
    return path, versions.build(path, 3)


@pytest.fixture
def administered(template, tmp_path, contract):
    """A checked client with an admin key, of a server that does not look at its catalog by itself; and the ids."""
    path = shutil.copytree(template[0], tmp_path / "catalog")
    settings = {"poll_seconds": NEVER, "read_keys": READ, "admin_keys": ADMIN}
    with (
        serving_catalog(path, **settings) as base_url,
        contract.client(base_url, headers={"X-API-Key": ADMIN}) as client,
    ):
        yield client, template[1], path


def send_as_is(base_url, method, path, body):
    """A request whose path no library tidies up; status and text of the answer."""
    connection = http.client.HTTPConnection(base_url.host, base_url.port, timeout=20)
    try:
        headers = {"X-API-Key": ADMIN, "Content-Type": "application/json"}
        connection.request(method, path, json.dumps(body) if body else None, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def states(answer):
    return {each["version"]: (each["state"], each["current"]) for each in answer.json()["versions"]}


def test_activated_version_is_served_at_once_listed_as_such_and_logged(administered, caplog):
    client, (first, second, third), _ = administered
    caplog.set_level("INFO")
    listed = client.get(f"{SONGS}/versions")
    assert states(listed) == {first: ("stored", False), second: ("stored", False), third: ("served", True)}
    assert {each["count"] for each in listed.json()["versions"]} == {60}
    answer = client.post(f"{SONGS}/versions/{first}/activate", headers={"X-Request-ID": "mine-7"})
    assert answer.status_code == 200
    assert f'collection "{versions.NAME}": version {first} was activated, id=mine-7' in caplog.text
    assert [each["version"] for each in answer.json()["versions"] if each["current"]] == [first]
    until(lambda: client.post(f"{SONGS}/query", json=ASK).json()["version"] == first)
    assert states(client.get(f"{SONGS}/versions"))[first] == ("served", True)
    assert client.get(SONGS).json()["versions"] == [first, second, third]


def test_missing_or_damaged_version_is_not_activated_and_the_old_one_serves_on(administered):
    client, (first, second, third), path = administered
    assert code_of(client.post(f"{SONGS}/versions/none/activate")) == (404, "version_not_found")
    versions.corrupt(path, second)
    assert code_of(client.post(f"{SONGS}/versions/{second}/activate")) == (503, "bundle_damaged")
    (hubless.Catalog(path).folder(versions.NAME, first) / "manifest.json").write_text("{}")
    answer = client.get(f"{SONGS}/versions")
    assert states(answer) == {first: ("damaged", False), second: ("stored", False), third: ("served", True)}
    assert answer.json()["versions"][0]["detail"].startswith("manifest.json: ")
    assert str(path) not in answer.text
    assert client.post(f"{SONGS}/query", json=ASK).json()["version"] == third


def test_alias_is_set_moved_with_its_etag_and_removed(administered):
    client, ids, _ = administered
    made = client.put("/v1/aliases/a", json={"collection": versions.NAME})
    assert made.status_code == 200
    assert made.json() == {"alias": "a", "collection": versions.NAME, "etag": made.headers["etag"]}
    assert client.get("/v1/aliases").json() == {"aliases": [made.json()]}
    assert client.get("/v1/aliases/a").headers["etag"] == made.headers["etag"]
    answer = client.post("/v1/collections/a/query", json=ASK)
    assert (answer.json()["collection"], answer.json()["version"]) == (versions.NAME, ids[2])
    assert client.get("/v1/collections/a").json()["aliases"] == ["a"]
    assert client.get("/v1/collections/a/versions").json()["collection"] == versions.NAME

    moved = client.put("/v1/aliases/a", json={"collection": versions.NAME}, headers={"If-Match": made.headers["etag"]})
    assert moved.headers["etag"] != made.headers["etag"]
    stale = {"If-Match": made.headers["etag"]}
    assert code_of(client.put("/v1/aliases/a", json={"collection": versions.NAME}, headers=stale)) == (
        412,
        "precondition_failed",
    )
    assert code_of(client.delete("/v1/aliases/a", headers=stale)) == (412, "precondition_failed")
    removed = client.delete("/v1/aliases/a", headers={"If-Match": moved.headers["etag"]})
    assert removed.json() == moved.json()
    assert code_of(client.post("/v1/collections/a/query", json=ASK)) == (404, "collection_not_found")
    assert code_of(client.get("/v1/aliases/a")) == (404, "alias_not_found")


def test_any_alias_is_moved_by_all_who_move_it_at_once(administered):
    client, _, _ = administered
    body, clients, times = {"collection": versions.NAME}, 4, 10
    client.put("/v1/aliases/a", json=body)

    def move(_):
        headers = {"If-Match": "*"}
        return [client.put("/v1/aliases/a", json=body, headers=headers).status_code for _ in range(times)]

    with ThreadPoolExecutor(clients) as pool:
        assert list(pool.map(move, range(clients))) == [[200] * times] * clients


def test_headers_say_what_an_alias_must_be(administered):
    client, _, _ = administered
    body, done, failed = {"collection": versions.NAME}, (200, None), (412, "precondition_failed")
    for number, (headers, there, absent) in enumerate(
        [
            ({}, (428, "precondition_required"), done),
            ({"If-Match": "*"}, done, failed),
            ({"If-Match": '"999"'}, failed, failed),
            ({"If-Match": 'W/"{}"'}, failed, failed),
            ({"If-Match": '"999", "{}"'}, done, failed),
            ({"If-Match": "nonsense"}, failed, failed),
            ({"If-None-Match": "*"}, failed, done),
        ]
    ):
        tag = client.put(f"/v1/aliases/there-{number}", json=body).headers["etag"].strip('"')
        sent = {name: value.replace("{}", tag) for name, value in headers.items()}
        assert code_of(client.put(f"/v1/aliases/there-{number}", json=body, headers=sent)) == there, headers
        assert code_of(client.put(f"/v1/aliases/absent-{number}", json=body, headers=sent)) == absent, headers


def test_what_is_no_name_touches_no_file(administered):
    client, _, path = administered
    client.get(SONGS)  # which makes the files of numbers
    before = {*path.rglob("*")}
    for name in NOT_NAMES:
        for method, where, body in (
            ("GET", f"/v1/collections/{name}", None),
            ("GET", f"/v1/collections/{name}/versions", None),
            ("POST", f"/v1/collections/{name}/query", ASK),
            ("POST", f"{SONGS}/versions/{name}/activate", None),
            ("GET", f"/v1/aliases/{name}", None),
            ("PUT", f"/v1/aliases/{name}", {"collection": versions.NAME}),
            ("DELETE", f"/v1/aliases/{name}", None),
            ("PUT", f"/v1/scores/{name}", {"lists": [{"ids": ["a"], "scores": [1]}]}),
            ("POST", f"/v1/collections/{name}/count", {}),
            ("GET", f"/v1/collections/{name}/points/1", None),
            ("GET", f"{SONGS}/points/{name}", None),
            ("GET", f"/docs/assets/{name}", None),
        ):
            status, text = send_as_is(client.base_url, method, where, body)
            assert status in (400, 404, 405, 422), (method, where)
            assert str(path) not in text
    for body in ("..", "a\0b", "x" * 300):
        assert code_of(client.put("/v1/aliases/new", json={"collection": body})) == (404, "collection_not_found")
    assert {*path.rglob("*")} == before


MALFORMED = ("http://[", "http://[::1", "http://]", "//", ":", "http://[localhost]")


def test_without_keys_a_page_of_another_origin_changes_nothing(template):
    path, ids = template
    with serving_catalog(path, poll_seconds=NEVER, cors_origins="https://good.example") as base_url:
        activate = f"{base_url}{SONGS}/versions/{ids[2]}/activate"
        for origin in ("https://evil.example", "null", "http://127.0.0.1.evil.example", *MALFORMED):
            assert code_of(httpx.post(activate, headers={"Origin": origin})) == (403, "forbidden")
        for origin in ("http://localhost:3000", "http://127.0.0.1:8000", "http://[::1]", "https://good.example"):
            assert httpx.post(activate, headers={"Origin": origin}).status_code == 200
        assert httpx.post(activate).status_code == 200
